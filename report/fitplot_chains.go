package report

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
)

// What a panel shows of chains at most: as many as there are colours, and of each so
// many draws, evenly spaced.
var mostChains = len(seriesColours)

const (
	tracePoints = 250
	rankBins    = 20
)

// chainKeys has a key for each chain that is shown.
func (s *shown) chainKeys() []Key {
	keys := make([]Key, min(mostChains, s.draws.NumChains()))
	for c := range keys {
		keys[c] = Key{Name: fmt.Sprintf("chain %d", c+1), LineStyle: draw.LineStyle{Color: seriesColours[c], Width: 2}}
	}
	return keys
}

// chainsLeftOut says which chains are shown, where not all are.
func (s *shown) chainsLeftOut() string {
	if n := s.draws.NumChains(); n > mostChains {
		return fmt.Sprintf("Shown are %d of %d chains. ", mostChains, n)
	}
	return ""
}

// traces draws each parameter's draws in their order, a line for each chain.
func (s *shown) traces() (*Figure, error) {
	step := max(1, s.draws.NumDraws()/tracePoints)
	f := &Figure{
		Name: "trace", title: "Traces of the chains", keys: s.chainKeys(),
		caption: "Draws in their order. Chains that agree look like one band without trend.",
		note:    s.leftOut + s.chainsLeftOut(),
	}
	if step > 1 {
		f.note += fmt.Sprintf("One draw in %d is shown.", step)
	}
	for _, p := range s.parameters {
		plot := panelOf(p.title)
		plot.X.Label.Text = "draw"
		chains := s.draws.Column(p.column)
		for c, k := range f.keys {
			k.Width = 0.6
			var points plotter.XYs
			for i := step - 1; i < len(chains[c]); i += step {
				points = append(points, plotter.XY{X: float64(i + 1), Y: chains[c][i]})
			}
			trace, err := line(points, k)
			if err != nil {
				return nil, err
			}
			plot.Add(trace)
		}
		f.panels = append(f.panels, newPanel(plot))
	}
	return f, nil
}

// ranks draws histograms of each chain's ranks among all chains' draws (Vehtari et
// al. 2021, section 4.3), one above the other: where chains are of one law, each is as
// flat as chance lets it be.
func (s *shown) ranks() (*Figure, error) {
	f := &Figure{
		Name: "ranks", title: "Ranks of the chains", keys: s.chainKeys(),
		caption: "Histograms of the ranks of each chain's draws among those of all chains. Chains that agree are flat, near the grey lines; one that lies too high leans to the right, one too narrow is a hill.",
		note:    s.leftOut + s.chainsLeftOut(),
	}
	for _, p := range s.parameters {
		plot := panelOf(p.title)
		plot.HideY()
		plot.X.Label.Text = "rank among all draws"
		counts := rankCounts(s.draws.Column(p.column))
		plot.Add(&histograms{counts: counts[:len(f.keys)], keys: f.keys})
		plot.X.Min, plot.X.Max = 0, float64(s.draws.NumChains()*s.draws.NumDraws())
		plot.Y.Min, plot.Y.Max = 0, float64(len(f.keys))
		f.panels = append(f.panels, newPanel(plot))
	}
	return f, nil
}

// rankCounts returns how many of each chain's ranks fall into each of rankBins equal
// parts of 1…N, over the number expected. Ties share their mean rank.
func rankCounts(chains [][]float64) [][]float64 {
	type item struct {
		x     float64
		chain int
	}
	var all []item
	for c, chain := range chains {
		for _, x := range chain {
			all = append(all, item{x, c})
		}
	}
	slices.SortFunc(all, func(a, b item) int {
		switch {
		case a.x < b.x:
			return -1
		case a.x > b.x:
			return 1
		}
		return 0
	})
	counts := make([][]float64, len(chains))
	for c := range counts {
		counts[c] = make([]float64, rankBins)
	}
	expected := float64(len(chains[0])) / rankBins
	for first := 0; first < len(all); {
		last := first
		for last < len(all) && all[last].x == all[first].x {
			last++
		}
		rank := float64(first+last+1) / 2 // of 1…N
		bin := int(math.Ceil(rank/float64(len(all))*rankBins)) - 1
		for _, i := range all[first:last] {
			counts[i.chain][bin] += 1 / expected
		}
		first = last
	}
	return counts
}

// histograms are drawn one above the other, each in a lane of height 1.
type histograms struct {
	counts [][]float64 // over those expected
	keys   []Key
}

// expectedHeight is where in a lane a count stands that is as expected.
const expectedHeight = 0.45

// Plot implements plot.Plotter.
func (h *histograms) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for lane, counts := range h.counts {
		base := float64(len(h.counts) - 1 - lane) // the first chain on top
		width := p.X.Max / rankBins
		outline := plotter.XYs{{X: 0, Y: base}}
		for b, count := range counts {
			top := base + min(expectedHeight*count, 0.96)
			outline = append(outline, plotter.XY{X: float64(b) * width, Y: top}, plotter.XY{X: float64(b+1) * width, Y: top})
		}
		outline = append(outline, plotter.XY{X: p.X.Max, Y: base})
		filled, err := plotter.NewPolygon(outline)
		if err != nil {
			panic(err) // counts are finite
		}
		filled.Color, filled.LineStyle.Width = h.keys[lane].Color, 0
		filled.Plot(c, p)
		level := y(base + expectedHeight)
		c.StrokeLine2(draw.LineStyle{Color: middleGrey, Width: 1}, x(0), level, x(p.X.Max), level)
	}
}
