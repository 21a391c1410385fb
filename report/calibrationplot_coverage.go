package report

import (
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"github.com/dpreg/dpreg/calibration"
)

// coverage draws how often intervals of each level held the truth.
func (v *studyView) coverage(name string) (*Figure, error) {
	f := &Figure{
		Name: "coverage-" + fileOf(name), title: "Coverage of intervals: " + shownQuantity(name), keys: v.keys, note: v.note(),
		caption: "Of " + shownQuantity(name) + ": share of trials whose central interval holds the truth, with 95 % binomial intervals, against its level: on the grey line where intervals tell the truth.",
	}
	var plots []*plot.Plot
	for _, at := range v.scenesOf(name) {
		p := v.panel(at, "level, %", "coverage, %")
		nominal, err := straight(45, 45, 100, 100)
		if err != nil {
			return nil, err
		}
		p.Add(nominal)
		for i, who := range v.series {
			for _, c := range v.find(at, who) {
				if q := quantity(c, name); q != nil {
					s := &measured{}
					for _, l := range q.Coverage {
						s.add(100*l.Level+0.5*(float64(i)-float64(len(v.series)-1)/2), 100*l.Share, 100*l.Lower, 100*l.Upper)
					}
					if err := s.draw(p, v.keys[i]); err != nil {
						return nil, err
					}
				}
			}
		}
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 45, 100, 0, 100
		p.X.Tick.Marker = levelTicks()
		plots = append(plots, p)
	}
	f.arrange(plots, v.columns())
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
