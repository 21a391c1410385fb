package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A cell of the pairs, and the draws in it.
const (
	pairsPoints = 300
	pairsSize   = 3 * vg.Centimeter
	pairsDot    = 1.3
	pairsText   = pairsSize - 6 // width of a line of a name, which has about two
)

// pairs draws the draws of each parameter against those of each other one: below
// the diagonal the draws, above it their correlation, on it what a cell spans. Of many
// parameters it draws those that correlate most. It is nil where there is but one.
func (s *shown) pairs() (*Figure, error) {
	if len(s.parameters) < 2 {
		return nil, nil
	}
	shown, note := s.parameters, s.leftOut
	if more := len(shown) - mostPairs; more > 0 {
		shown = s.correlated()
		note = fmt.Sprintf("Shown are %s and those %d of the %d other parameters that correlate most; --save writes the draws of all.", shown[mostPairs-1].Label, mostPairs-1, len(s.parameters)-1)
	}
	f := &Figure{
		Name: "pairs", title: "Draws of pairs of parameters", columns: len(shown), whole: true, note: note,
		caption: "Draws of each parameter against each other one and, above the diagonal, their correlations; below a name stands what its cells span.",
	}
	labels := make([]string, len(shown))
	for i, p := range shown {
		labels[i] = p.Label
	}
	short := shortNames(newPlot().X.Tick.Label, 2*pairsText, labels...)
	all, some := make([][]float64, len(shown)), make([][]float64, len(shown))
	step := max(1, s.draws.NumChains()*s.draws.NumDraws()/pairsPoints)
	for i, p := range shown {
		chains := s.draws.Column(p.column)
		all[i], some[i] = together(chains, 1), together(chains, step)
	}
	for i, row := range shown {
		for j := range shown {
			p := newPlot()
			p.HideAxes()
			p.X.Padding, p.Y.Padding = 0, 0
			p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
			switch low, high := extent(some[i]); {
			case i == j:
				name := strings.Join(folded(p.X.Tick.Label, short[row.Label], pairsText), "\n")
				p.Add(words{{name, 9, 0.6}, {span(low, high), 8, 0.3}})
			case i < j:
				p.Add(words{{number(stat.Correlation(all[i], all[j], nil), 2), 11, 0.5}})
			default:
				p.Add(dots{some[j], some[i]})
				p.X.Min, p.X.Max = extent(some[j])
				p.Y.Min, p.Y.Max = low, high
			}
			p.Add(border{})
			f.panels = append(f.panels, panel{plot: p, width: pairsSize, height: pairsSize})
		}
	}
	return f, nil
}

// correlated are the mostPairs - 1 parameters that correlate most with any other, in
// their order, and the last one, sigma.
func (s *shown) correlated() []parameter {
	last := len(s.parameters) - 1
	all, most := make([][]float64, last+1), make([]float64, last+1)
	for i, p := range s.parameters {
		all[i] = together(s.draws.Column(p.column), 1)
		for j := range i {
			r := math.Abs(stat.Correlation(all[i], all[j], nil))
			most[i], most[j] = max(most[i], r), max(most[j], r)
		}
	}
	order := make([]int, last)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(most[j], most[i]) })
	chosen := append(order[:mostPairs-1], last)
	slices.Sort(chosen)
	shown := make([]parameter, mostPairs)
	for k, i := range chosen {
		shown[k] = s.parameters[i]
	}
	return shown
}

// extent is what draws span, and a little more.
func extent(draws []float64) (low, high float64) {
	low, high = slices.Min(draws), slices.Max(draws)
	return low - (high-low)/30, high + (high-low)/30
}

// span writes an extent in three digits of its length.
func span(low, high float64) string {
	d := common(high-low, low, high)
	return number(low, d) + " … " + number(high, d)
}

// together joins every step-th draw of all chains.
func together(chains [][]float64, step int) []float64 {
	var all []float64
	for _, chain := range chains {
		for i := step - 1; i < len(chain); i += step {
			all = append(all, chain[i])
		}
	}
	return all
}

// words are lines of text, each at a height of the panel.
type words []struct {
	text   string
	size   vg.Length
	height vg.Length // 0 to 1
}

// Plot implements plot.Plotter.
func (w words) Plot(c draw.Canvas, p *plot.Plot) {
	style := p.Title.TextStyle
	style.XAlign, style.YAlign = draw.XCenter, draw.YCenter
	for _, line := range w {
		style.Font = sans(line.size)
		c.FillText(style, vg.Point{X: c.Center().X, Y: c.Min.Y + line.height*c.Size().Y}, line.text)
	}
}

// dots are small squares in one path, which keeps an SVG small.
type dots struct{ x, y []float64 }

// Plot implements plot.Plotter.
func (d dots) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	var all vg.Path
	for i := range d.x {
		at := vg.Point{X: x(d.x[i]) - pairsDot/2, Y: y(d.y[i]) - pairsDot/2}
		all.Move(at)
		all.Line(at.Add(vg.Point{X: pairsDot}))
		all.Line(at.Add(vg.Point{X: pairsDot, Y: pairsDot}))
		all.Line(at.Add(vg.Point{Y: pairsDot}))
		all.Close()
	}
	c.SetColor(blue)
	c.Fill(all)
}

// border frames a panel.
type border struct{}

// Plot implements plot.Plotter.
func (border) Plot(c draw.Canvas, _ *plot.Plot) {
	c.SetLineStyle(draw.LineStyle{Color: middleGrey, Width: 0.6})
	c.Stroke(c.Rectangle.Path())
}
