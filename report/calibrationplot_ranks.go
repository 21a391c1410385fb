package report

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"github.com/dpreg/dpreg/calibration"
)

// What a line shows at most: quantiles, and places of a distribution function.
const (
	qqPoints   = 60
	ecdfEvery  = 2
	bandLevel  = 0.95
	bandShares = 3. // how many half-widths of the band a panel is high
)

// ofQuantity adds a panel for each scene that has a quantity: what begin makes of it, and over it
// what add draws of the quantity in each cell of each series.
func (v *studyView) ofQuantity(f *Figure, name, x, y string, begin func(*plot.Plot, scene) error, add func(p *plot.Plot, series int, q *calibration.QuantitySummary) error) (*Figure, error) {
	f.note = v.note()
	var plots []*plot.Plot
	for _, at := range v.scenesOf(name) {
		p := v.panel(at, x, y)
		if err := begin(p, at); err != nil {
			return nil, err
		}
		for i, who := range v.series {
			for _, c := range v.find(at, who) {
				if q := quantity(c, name); q != nil {
					if err := add(p, i, q); err != nil {
						return nil, err
					}
				}
			}
		}
		plots = append(plots, p)
	}
	f.arrange(plots, v.columns())
	return f, nil
}

// addStraight draws a grey line from (x0, y0) to (x1, y1).
func addStraight(p *plot.Plot, x0, y0, x1, y1 float64) error {
	return Key{LineStyle: draw.LineStyle{Color: grey, Width: 1}}.Add(p, plotter.XYs{{X: x0, Y: y0}, {X: x1, Y: y1}})
}

// qq draws the truth's quantiles among draws, in order, against uniform ones.
func (v *studyView) qq(name string) (*Figure, error) {
	f := &Figure{
		Name: "qq-" + fileOf(name), title: "Quantiles of the truth among draws: " + shownQuantity(name), keys: v.lineKeys(),
		caption: "Of " + shownQuantity(name) + ": posterior quantiles of the truth, in order, against those of a uniform law: on the grey line where posteriors are right; above it on the right and below on the left where they are too narrow.",
	}
	return v.ofQuantity(f, name, "uniform quantile", "truth's quantile", func(p *plot.Plot, _ scene) error {
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
		return addStraight(p, 0, 0, 1, 1)
	}, func(p *plot.Plot, series int, q *calibration.QuantitySummary) error {
		return v.addLine(p, series, quantiles(q.U))
	})
}

// addLine draws a series without marks.
func (v *studyView) addLine(p *plot.Plot, series int, points plotter.XYs) error {
	curve, err := line(points, v.keys[series])
	if err == nil {
		p.Add(curve)
	}
	return err
}

// quantiles are points of a QQ plot.
func quantiles(u []float64) plotter.XYs {
	sorted := slices.Clone(u)
	slices.Sort(sorted)
	n := len(sorted)
	shown := min(n, qqPoints)
	points := make(plotter.XYs, shown)
	for k := range points {
		i := (2*k + 1) * n / (2 * shown)
		points[k] = plotter.XY{X: (float64(i) + 0.5) / float64(n), Y: sorted[i]}
	}
	return points
}

// ecdf draws F(rank) less its uniform value, with the band in which it stays at all
// places at once.
func (v *studyView) ecdf(name string) (*Figure, error) {
	if v.pooled(name) {
		return nil, nil
	}
	f := &Figure{
		Name: "ecdf-" + fileOf(name), title: "Ranks of the truth, less uniform ones: " + shownQuantity(name), keys: v.lineKeys(),
		caption: "Of " + shownQuantity(name) + ": empirical distribution function of ranks less that of uniform ones. A right method stays in the grey band, at all places at once, in 95 % of such studies. Lines are cut where they leave the panel.",
	}
	return v.ofQuantity(f, name, "rank / 128", "difference", func(p *plot.Plot, at scene) error {
		return v.addBand(p, at, name)
	}, func(p *plot.Plot, series int, q *calibration.QuantitySummary) error {
		return v.addLine(p, series, differences(q.Ranks, p.Y.Max))
	})
}

// pooled tells whether a quantity's ranks depend on one another.
func (v *studyView) pooled(name string) bool {
	for i := range v.summary.Cells {
		if q := quantity(&v.summary.Cells[i], name); q != nil && q.Pooled {
			return true
		}
	}
	return false
}

// differences is C_i/N − i/128 at places i, kept within ± limit.
func differences(ranks []int, limit float64) plotter.XYs {
	var histogram [calibration.Ranked + 1]float64
	for _, r := range ranks {
		histogram[r]++
	}
	points := plotter.XYs{{}}
	sum := 0.0
	for i, count := range histogram {
		sum += count
		if (i+1)%ecdfEvery == 0 {
			x := float64(i+1) / (calibration.Ranked + 1)
			points = append(points, plotter.XY{X: x, Y: max(-limit, min(limit, sum/float64(len(ranks))-x))})
		}
	}
	return points
}

// addBand draws the simultaneous band of the most trials in a scene, and makes the
// panel as high as shows it well.
func (v *studyView) addBand(p *plot.Plot, at scene, name string) error {
	most := 1
	for _, who := range v.series {
		for _, c := range v.find(at, who) {
			if q := quantity(c, name); q != nil {
				most = max(most, len(q.Ranks))
			}
		}
	}
	band := v.band(most)
	upper, lower, height := plotter.XYs{{}}, plotter.XYs{{}}, 0.0
	for i := range band.Upper {
		x := float64(i+1) / (calibration.Ranked + 1)
		high, low := float64(band.Upper[i])/float64(most)-x, float64(band.Lower[i])/float64(most)-x
		upper, lower = append(upper, plotter.XY{X: x, Y: high}), append(lower, plotter.XY{X: x, Y: low})
		height = max(height, math.Abs(high), math.Abs(low))
	}
	outline := append(upper, plotter.XY{X: 1})
	for i := len(lower) - 1; i >= 0; i-- {
		outline = append(outline, lower[i])
	}
	filled, err := plotter.NewPolygon(outline)
	if err != nil {
		return err
	}
	filled.Color, filled.LineStyle.Width = lightGrey, 0
	p.Add(filled)
	if err := addStraight(p, 0, 0, 1, 0); err != nil {
		return err
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, -bandShares*height, bandShares*height
	return nil
}

// band is that of so many trials, computed once.
func (v *studyView) band(trials int) *calibration.Band {
	if v.bands[trials] == nil {
		v.bands[trials] = calibration.NewBand(trials, bandLevel)
	}
	return v.bands[trials]
}

// coverage draws how often intervals of each level held the truth.
func (v *studyView) coverage(name string) (*Figure, error) {
	f := &Figure{
		Name: "coverage-" + fileOf(name), title: "Coverage of intervals: " + shownQuantity(name), keys: v.keys,
		caption: "Of " + shownQuantity(name) + ": share of trials whose central interval holds the truth, with 95 % binomial intervals, against its level: on the grey line where intervals tell the truth.",
	}
	f, err := v.ofQuantity(f, name, "level, %", "coverage, %", func(p *plot.Plot, _ scene) error {
		return addStraight(p, 45, 45, 100, 100)
	}, func(p *plot.Plot, series int, q *calibration.QuantitySummary) error {
		s := &measured{}
		for _, l := range q.Coverage {
			s.covered(100*l.Level+0.5*(float64(series)-float64(len(v.series)-1)/2), &l)
		}
		return s.draw(p, v.keys[series])
	})
	if err != nil {
		return nil, err
	}
	for _, panel := range f.panels {
		p := panel.plot
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 45, 100, 0, 100
		p.X.Tick.Marker = levelTicks()
	}
	return f, nil
}

func levelTicks() plot.ConstantTicks {
	var ticks plot.ConstantTicks
	for _, level := range calibration.Levels {
		ticks = append(ticks, plot.Tick{Value: 100 * level, Label: exactly(percent(level))})
	}
	return ticks
}

// measured is a line of values with errors.
type measured struct {
	plotter.XYs
	bars plotter.YErrors
}

func (m *measured) add(x, y, low, high float64) {
	m.XYs = append(m.XYs, plotter.XY{X: x, Y: y})
	m.bars = append(m.bars, struct{ Low, High float64 }{y - low, high - y})
}

// YError implements plotter.YErrorer.
func (m *measured) YError(i int) (low, high float64) { return m.bars[i].Low, m.bars[i].High }

// uncertain tells whether there is any error to draw.
func (m *measured) uncertain() bool {
	return slices.ContainsFunc(m.bars, func(e struct{ Low, High float64 }) bool { return e.Low > 0 || e.High > 0 })
}

// draw adds a series to a plot.
func (m *measured) draw(p *plot.Plot, k Key) error {
	if len(m.XYs) == 0 {
		return nil
	}
	if err := k.Add(p, m.XYs); err != nil {
		return err
	}
	if m.uncertain() {
		bars, err := plotter.NewYErrorBars(m)
		if err != nil {
			return err
		}
		bars.LineStyle, bars.CapWidth = draw.LineStyle{Color: k.Color, Width: 0.8}, 4
		p.Add(bars)
	}
	return nil
}
