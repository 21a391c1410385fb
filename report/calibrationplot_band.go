package report

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/dpreg/dpreg/calibration"
)

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
	level, err := straight(0, 0, 1, 0)
	if err != nil {
		return err
	}
	p.Add(filled, level)
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
