package report

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A cell of the pairs, and the draws in it.
const (
	pairsPoints = 300
	pairsSize   = 3.6 * vg.Centimeter
	pairsDot    = 1.3
)

// pairs draws the draws of each parameter against those of each other one: below
// the diagonal the draws, above it their correlation, on it what a cell spans. It is nil where there is but
// one parameter.
func (s *shown) pairs() (*Figure, error) {
	shown := s.parameters[:min(mostPairs, len(s.parameters))]
	if len(shown) < 2 {
		return nil, nil
	}
	f := &Figure{
		Name: "pairs", title: "Draws of pairs of parameters", columns: len(shown), whole: true,
		caption: "Draws of each parameter against each other one and, above the diagonal, their correlations; below a name stands what its cells span.",
	}
	if len(shown) < len(s.parameters) {
		f.caption += fmt.Sprintf(" Shown are the first %d of %d parameters.", len(shown), len(s.parameters))
	}
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
				p.Add(words{{truncate(row.Label, 16), 10, 0.56}, {span(low, high), 8, 0.36}})
			case i < j:
				p.Add(words{{number(stat.Correlation(all[i], all[j], nil), 2), 11, 0.5}})
			default:
				p.Add(dots{some[j], some[i]})
				p.X.Min, p.X.Max = extent(some[j])
				p.Y.Min, p.Y.Max = low, high
			}
			p.Add(border{})
			f.panels = append(f.panels, panel{p, pairsSize, pairsSize})
		}
	}
	return f, nil
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
