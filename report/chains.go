package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/dpreg/dpreg/internal/reference"
)

// What a panel shows of chains at most: as many as there are colours, and of each so
// many draws, evenly spaced.
var mostChains = len(seriesColours)

const (
	tracePoints = 250
	rankBins    = 20
)

// ofChains completes a figure: a key for each chain that is shown, and a panel for each
// parameter, to which add adds what its chains are like.
func (s *shown) ofChains(f *Figure, x string, add func(*plot.Plot, [][]float64)) *Figure {
	chains, note := s.draws.NumChains(), s.leftOut
	if chains > mostChains {
		note += fmt.Sprintf("Shown are %d of %d chains. ", mostChains, chains)
	}
	f.note = note + f.note
	for c := range min(mostChains, chains) {
		f.keys = append(f.keys, key{Name: fmt.Sprintf("chain %d", c+1), LineStyle: draw.LineStyle{Color: seriesColours[c], Width: 2}})
	}
	for _, p := range s.parameters {
		drawn := axes(p.title, x, "")
		add(drawn, s.draws.Column(p.column))
		f.panels = append(f.panels, newPanel(drawn))
	}
	return f
}

// traces draws each parameter's draws in their order, a line for each chain.
func (s *shown) traces() *Figure {
	f := &Figure{
		Name: "trace", title: "Traces of the chains",
		caption: "Draws in their order. Chains that agree look like one band without trend.",
	}
	step := max(1, s.draws.NumDraws()/tracePoints)
	if step > 1 {
		f.note = fmt.Sprintf("One draw in %d is shown.", step)
	}
	return s.ofChains(f, "draw", func(p *plot.Plot, chains [][]float64) {
		for c, k := range f.keys {
			k.Width = 0.6
			var points plotter.XYs
			for i := step - 1; i < len(chains[c]); i += step {
				points = append(points, plotter.XY{X: float64(i + 1), Y: chains[c][i]})
			}
			k.add(p, points)
		}
	})
}

// expectedHeight is where in a lane of height 1 a count stands that is as expected.
const expectedHeight = 0.45

// ranks draws histograms of each chain's ranks among all chains' draws (Vehtari et
// al. 2021, section 4.3), one above the other: where chains are of one law, each is as
// flat as chance lets it be.
func (s *shown) ranks() *Figure {
	f := &Figure{
		Name: "ranks", title: "Ranks of the chains",
		caption: "Histograms of the ranks of each chain's draws among those of all chains. Chains that agree are flat, near the grey lines; one that lies too high leans to the right, one too narrow is a hill.",
	}
	end := float64(s.draws.NumChains() * s.draws.NumDraws())
	return s.ofChains(f, "rank among all draws", func(p *plot.Plot, chains [][]float64) {
		p.HideY()
		for c, counts := range rankCounts(chains)[:len(f.keys)] {
			base := float64(len(f.keys) - 1 - c) // the first chain on top
			outline := plotter.XYs{{X: 0, Y: base}}
			for b, count := range counts {
				top := base + min(expectedHeight*count, 0.96)
				outline = append(outline, plotter.XY{X: float64(b) * end / rankBins, Y: top}, plotter.XY{X: float64(b+1) * end / rankBins, Y: top})
			}
			fill(p, append(outline, plotter.XY{X: end, Y: base}), f.keys[c].Color)
			zeroLine.add(p, plotter.XYs{{X: 0, Y: base + expectedHeight}, {X: end, Y: base + expectedHeight}})
		}
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, end, 0, float64(len(f.keys))
	})
}

// rankCounts returns how many of each chain's ranks fall into each of rankBins equal
// parts of 1…N, over the number expected. Ties share their mean rank.
func rankCounts(chains [][]float64) [][]float64 {
	all := slices.Concat(chains...)
	slices.Sort(all)
	counts, expected := make([][]float64, len(chains)), float64(len(chains[0]))/rankBins
	for c, chain := range chains {
		counts[c] = make([]float64, rankBins)
		for _, x := range chain {
			first, _ := slices.BinarySearch(all, x)
			last, _ := slices.BinarySearch(all, math.Nextafter(x, math.Inf(1)))
			rank := float64(first+last+1) / 2 // of 1…N
			counts[c][int(math.Ceil(rank/float64(len(all))*rankBins))-1] += 1 / expected
		}
	}
	return counts
}

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
func (s *shown) pairs() *Figure {
	if len(s.parameters) < 2 {
		return nil
	}
	shown, note := s.parameters, s.leftOut
	if len(shown) > mostPairs {
		shown = s.correlated()
		note = fmt.Sprintf("Shown are %s and those %d of the %d other parameters that correlate most; --save writes the draws of all.", shown[mostPairs-1].Label, mostPairs-1, len(s.parameters)-1)
	}
	f := &Figure{
		Name: "pairs", title: "Draws of pairs of parameters", columns: len(shown), whole: true, note: note,
		caption: "Draws of each parameter against each other one and, above the diagonal, their correlations; below a name stands what its cells span.",
	}
	labels, all, some := make([]string, len(shown)), make([][]float64, len(shown)), make([][]float64, len(shown))
	rows := s.draws.Thin(pairsPoints)
	for i, p := range shown {
		labels[i], all[i], some[i] = p.Label, slices.Concat(s.draws.Column(p.column)...), reference.Column(rows, p.column)
	}
	small := newPlot().X.Tick.Label
	short := shortNames(small, 2*pairsText, labels...)
	for i := range shown {
		for j := range shown {
			p := newPlot()
			centred := func(words string, size vg.Length, height float64) {
				label(p, words, size, plotter.XY{X: 0.5, Y: height}, draw.XCenter, draw.YCenter)
			}
			p.HideAxes()
			p.X.Padding, p.Y.Padding = 0, 0
			p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
			switch low, high := extent(some[i]); {
			case i == j:
				centred(strings.Join(folded(small, short[labels[i]], pairsText), "\n"), 9, 0.6)
				d := common(high-low, low, high)
				centred(number(low, d)+" … "+number(high, d), 8, 0.3)
			case i < j:
				centred(number(stat.Correlation(all[i], all[j], nil), 2), 11, 0.5)
			default:
				p.Add(dots{some[j], some[i]})
				p.X.Min, p.X.Max = extent(some[j])
				p.Y.Min, p.Y.Max = low, high
			}
			left, right, bottom, top := p.X.Min, p.X.Max, p.Y.Min, p.Y.Max
			zeroLine.add(p, plotter.XYs{{X: left, Y: bottom}, {X: right, Y: bottom}, {X: right, Y: top}, {X: left, Y: top}, {X: left, Y: bottom}})
			f.panels = append(f.panels, panel{plot: p, width: pairsSize, height: pairsSize})
		}
	}
	return f
}

// correlated are the mostPairs - 1 parameters that correlate most with any other, in
// their order, and the last one, sigma.
func (s *shown) correlated() []parameter {
	last := len(s.parameters) - 1
	all, most := make([][]float64, last+1), make([]float64, last+1)
	for i, p := range s.parameters {
		all[i] = slices.Concat(s.draws.Column(p.column)...)
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

func label(p *plot.Plot, words string, size vg.Length, at plotter.XY, x text.XAlignment, y text.YAlignment) {
	style := p.Title.TextStyle
	style.XAlign, style.YAlign, style.Font = x, y, sans(size)
	p.Add(&plotter.Labels{XYs: plotter.XYs{at}, Labels: []string{words}, TextStyle: []text.Style{style}})
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
