package report

import (
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/dpreg/dpreg/calibration"
)

// What a line shows at most: quantiles, and places of a distribution function.
const (
	qqPoints   = 60
	ecdfEvery  = 2
	bandLevel  = 0.95
	bandShares = 3. // how many half-widths of the band a panel is high
)

// qq draws the truth's quantiles among draws, in order, against uniform ones.
func (v *studyView) qq(name string) (*Figure, error) {
	f := &Figure{
		Name: "qq-" + fileOf(name), title: "Quantiles of the truth among draws: " + shownQuantity(name), keys: v.lineKeys(), note: v.note(),
		caption: "Of " + shownQuantity(name) + ": posterior quantiles of the truth, in order, against those of a uniform law: on the grey line where posteriors are right; above it on the right and below on the left where they are too narrow.",
	}
	var plots []*plot.Plot
	for _, at := range v.scenesOf(name) {
		p := v.panel(at, "uniform quantile", "truth's quantile")
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
		diagonal, err := straight(0, 0, 1, 1)
		if err != nil {
			return nil, err
		}
		p.Add(diagonal)
		for i, who := range v.series {
			for _, c := range v.find(at, who) {
				q := quantity(c, name)
				if q == nil {
					continue
				}
				curve, err := line(quantiles(q.U), v.keys[i])
				if err != nil {
					return nil, err
				}
				p.Add(curve)
			}
		}
		plots = append(plots, p)
	}
	f.arrange(plots, v.columns())
	return f, nil
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
	f := &Figure{
		Name: "ecdf-" + fileOf(name), title: "Ranks of the truth, less uniform ones: " + shownQuantity(name), keys: v.lineKeys(), note: v.note(),
		caption: "Of " + shownQuantity(name) + ": empirical distribution function of ranks less that of uniform ones. A right method stays in the grey band, at all places at once, in 95 % of such studies. Lines are cut where they leave the panel.",
	}
	var plots []*plot.Plot
	for _, at := range v.scenesOf(name) {
		p := v.panel(at, "rank / 128", "difference")
		if err := v.addBand(p, at, name); err != nil {
			return nil, err
		}
		for i, who := range v.series {
			for _, c := range v.find(at, who) {
				q := quantity(c, name)
				if q == nil || q.Pooled {
					continue
				}
				curve, err := line(differences(q.Ranks, p.Y.Max), v.keys[i])
				if err != nil {
					return nil, err
				}
				p.Add(curve)
			}
		}
		plots = append(plots, p)
	}
	f.arrange(plots, v.columns())
	if v.pooled(name) {
		return nil, nil
	}
	return f, nil
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
