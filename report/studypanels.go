package report

import (
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/dpreg/dpreg/calibration"
)

// Which places of a distribution function a line shows, and the band about it.
const (
	ecdfEvery  = 2
	bandLevel  = 0.95
	bandShares = 3. // how many half-widths of the band a panel is high
)

// ofQuantity adds a panel for each scene in which some cell has a quantity: what begin makes of it, and over it
// what add draws of the quantity in each cell of each series.
func (v *studyView) ofQuantity(f *Figure, name, x, y string, begin func(*plot.Plot, []*calibration.QuantitySummary), add func(*plot.Plot, int, *calibration.QuantitySummary)) *Figure {
	f.note = v.note()
	var plots []*plot.Plot
	for _, at := range v.scenes {
		var series []int
		var all []*calibration.QuantitySummary
		for i, who := range v.series {
			for _, c := range v.find(at, who) {
				if q := quantity(c, name); q != nil {
					series, all = append(series, i), append(all, q)
				}
			}
		}
		if all == nil {
			continue
		}
		p := axes(v.name(at), x, y)
		begin(p, all)
		for k, q := range all {
			add(p, series[k], q)
		}
		plots = append(plots, p)
	}
	f.arrange(plots, columns(v.scenes))
	return f
}

// quantity is that of a name, nil where a cell has none.
func quantity(c *calibration.CellSummary, name string) *calibration.QuantitySummary {
	i := slices.IndexFunc(c.Quantities, func(q calibration.QuantitySummary) bool { return q.Name == name })
	if i < 0 {
		return nil
	}
	return &c.Quantities[i]
}

// shownQuantity is how a title calls a quantity.
func shownQuantity(name string) string {
	switch name {
	case calibration.LogLikelihood:
		return "the log-likelihood"
	case "prediction":
		return "predictions"
	}
	return name
}

// fileOf is a quantity's part of a file's name.
func fileOf(name string) string {
	return strings.NewReplacer("[", "", "]", "", "_", "-", ",", "-").Replace(name)
}

// ecdf draws F(rank) less its uniform value, with the band in which it stays at all
// places at once; nil of a quantity whose ranks depend on one another.
func (v *studyView) ecdf(name string) *Figure {
	if slices.ContainsFunc(v.summary.Cells, func(c calibration.CellSummary) bool { q := quantity(&c, name); return q != nil && q.Pooled }) {
		return nil
	}
	f := &Figure{
		Name: "ecdf-" + fileOf(name), title: "Ranks of the truth, less uniform ones: " + shownQuantity(name), keys: v.lines,
		caption: "Of " + shownQuantity(name) + ": empirical distribution function of ranks less that of uniform ones. A right method stays in the grey band, at all places at once, in 95 % of such studies. Lines are cut where they leave the panel.",
	}
	return v.ofQuantity(f, name, "rank / 128", "difference", v.addBand, func(p *plot.Plot, series int, q *calibration.QuantitySummary) {
		v.lines[series].add(p, differences(q.Ranks, p.Y.Max))
	})
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

// addBand draws the simultaneous band of the most trials of quantities, and makes the
// panel as high as shows it well.
func (v *studyView) addBand(p *plot.Plot, all []*calibration.QuantitySummary) {
	most := 1
	for _, q := range all {
		most = max(most, len(q.Ranks))
	}
	if v.bands[most] == nil {
		v.bands[most] = calibration.NewBand(most, bandLevel)
	}
	band := v.bands[most]
	upper, lower, height := plotter.XYs{{}}, plotter.XYs{}, 0.0
	for i := range band.Upper {
		x := float64(i+1) / (calibration.Ranked + 1)
		high, low := float64(band.Upper[i])/float64(most)-x, float64(band.Lower[i])/float64(most)-x
		upper, lower = append(upper, plotter.XY{X: x, Y: high}), append(lower, plotter.XY{X: x, Y: low})
		height = max(height, math.Abs(high), math.Abs(low))
	}
	slices.Reverse(lower)
	fill(p, slices.Concat(upper, plotter.XYs{{X: 1}}, lower), lightGrey)
	straight.add(p, plotter.XYs{{}, {X: 1}})
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, -bandShares*height, bandShares*height
}

// coverage draws how often intervals of each level held the truth.
func (v *studyView) coverage(name string) *Figure {
	f := &Figure{
		Name: "coverage-" + fileOf(name), title: "Coverage of intervals: " + shownQuantity(name), keys: v.keys,
		caption: "Of " + shownQuantity(name) + ": share of trials whose central interval holds the truth, with 95 % binomial intervals, against its level: on the grey line where intervals tell the truth.",
	}
	var ticks plot.ConstantTicks
	for _, level := range calibration.Levels {
		ticks = append(ticks, plot.Tick{Value: 100 * level, Label: percent(level)})
	}
	v.ofQuantity(f, name, "level, %", "coverage, %", func(p *plot.Plot, _ []*calibration.QuantitySummary) {
		p.X.Tick.Marker = ticks
		straight.add(p, plotter.XYs{{X: 45, Y: 45}, {X: 100, Y: 100}})
	}, func(p *plot.Plot, series int, q *calibration.QuantitySummary) {
		s := &measured{}
		for _, l := range q.Coverage {
			s.add(100*l.Level+0.5*(float64(series)-float64(len(v.series)-1)/2), 100*l.Share, 100*l.Lower, 100*l.Upper)
		}
		s.draw(p, v.keys[series])
	})
	for _, panel := range f.panels {
		p := panel.plot
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 45, 100, 0, 100
	}
	return f
}

// sweep is a picture of a value by n or by ε.
type sweep struct {
	name, title, caption string
	axis, unit           string       // what is beside X and Y
	leaveOut             func(*scene) // what the X axis has
	x                    func(calibration.Setting) float64
	value                func(line int, c *calibration.CellSummary) (y, low, high float64) // NaN: none
	finish               func(*plot.Plot, []*calibration.CellSummary)                      // has the last word on a panel
}

func rowsOf(c calibration.Setting) float64    { return float64(c.N) }
func epsilonOf(c calibration.Setting) float64 { return c.Epsilon }
func leaveN(at *scene)                        { at.N = 0 }
func leaveEpsilon(at *scene)                  { at.Epsilon = 0 }

// sweeps are the largest Kolmogorov–Smirnov statistic over quantities, by n and by ε, the mean
// squared discrepancy to the posterior without noise, and the median seconds of a trial.
func (v *studyView) sweeps(times []calibration.Runtime) []sweep {
	const rows = "number of rows n"
	ks := sweep{
		name: "ks-n", title: "Kolmogorov–Smirnov statistic by " + rows + ", the largest over quantities", axis: rows, unit: "KS", leaveOut: leaveN, x: rowsOf,
		caption: "Distance of the truth's quantiles from a uniform law. A right method is below the grey line in 99 % of such studies.",
		value: func(_ int, c *calibration.CellSummary) (y, low, high float64) {
			return exact(worst(c, kolmogorov, slices.Max[[]float64]))
		},
		finish: critical,
	}
	byEpsilon := ks
	byEpsilon.name, byEpsilon.title = "ks-epsilon", "Kolmogorov–Smirnov statistic by ε, the largest over quantities"
	byEpsilon.axis, byEpsilon.leaveOut, byEpsilon.x = "ε", leaveEpsilon, epsilonOf
	return []sweep{ks, byEpsilon, {
		name: "mmd", title: "MMD² to the posterior without noise", axis: "ε", unit: "MMD²", leaveOut: leaveEpsilon, x: epsilonOf,
		caption: "Squared maximum mean discrepancy, mean over trials with two standard errors. What a right method has of it is the price of privacy.",
		value: func(_ int, c *calibration.CellSummary) (y, low, high float64) {
			if y, low, high = exact(c.MMD2); c.MMD2Error != nil {
				low, high = y-2**c.MMD2Error, y+2**c.MMD2Error
			}
			return y, low, high
		},
		finish: func(p *plot.Plot, _ []*calibration.CellSummary) { p.Y.Min, p.Y.Max = min(0, p.Y.Min), 1.05*p.Y.Max },
	}, {
		name: "runtime", title: "Seconds of a trial", axis: rows, unit: "seconds", leaveOut: leaveN, x: rowsOf,
		caption: "Median over trials, on one core: simulation, sampling and what is computed of the draws.",
		value: func(_ int, c *calibration.CellSummary) (y, low, high float64) {
			i := slices.IndexFunc(times, func(t calibration.Runtime) bool { return t.Setting == c.Setting && t.Median > 0 })
			if i < 0 {
				return exact(nil)
			}
			return exact(&times[i].Median)
		},
		finish: func(p *plot.Plot, _ []*calibration.CellSummary) { logY(p, p.Y.Min/2, p.Y.Max*2) },
	}}
}

// exact is a value without error, NaN where there is none.
func exact(v *float64) (y, low, high float64) {
	if v == nil {
		return math.NaN(), 0, 0
	}
	return *v, *v, *v
}

// critical draws what the statistic of a right method stays below in 99 % of such studies.
func critical(p *plot.Plot, cells []*calibration.CellSummary) {
	most, tests := 0, 1
	for _, c := range cells {
		for _, q := range c.Quantities {
			most, tests = max(most, len(q.Ranks)), max(tests, len(c.Quantities))
		}
	}
	if most == 0 {
		return
	}
	d := calibration.KSCritical(most, uniformAt/float64(tests))
	straight.add(p, plotter.XYs{{X: p.X.Min, Y: d}, {X: p.X.Max, Y: d}})
	logY(p, min(p.Y.Min, d/2)/1.2, 1.2)
}

// seriesApart is the ratio of the places of lines on the axis, so that none hides another.
const seriesApart = 1.04

// sweep has a panel for each scene that has a value, with a line for each key: of a series or,
// beyond these, of what the cells of all have alike.
func (v *studyView) sweep(w sweep, scenes []scene, keys []key, title func(scene) string) (plots []*plot.Plot) {
	for _, at := range scenes {
		p := axes(title(at), w.axis, w.unit)
		var all []*calibration.CellSummary
		var values []float64
		for i, k := range keys {
			s, aside := &measured{}, math.Pow(seriesApart, float64(i)-float64(len(keys)-1)/2)
			for _, c := range v.find(at, v.series[i%len(v.series)]) {
				if y, low, high := w.value(i, c); !math.IsNaN(y) && w.x(c.Setting) > 0 {
					s.add(w.x(c.Setting)*aside, y, low, high)
					all, values = append(all, c), append(values, w.x(c.Setting))
				}
			}
			s.draw(p, k)
		}
		if all != nil {
			slices.Sort(values)
			markValues(p, slices.Compact(values), namesRoom, 1.4)
			w.finish(p, all)
			plots = append(plots, p)
		}
	}
	return plots
}

// columns puts panels that differ in ε beside each other; those that differ in n, where
// ε is the same in all.
func columns(scenes []scene) int {
	several, same := 0, 0
	for _, at := range scenes {
		if at.Sensitivity == scenes[0].Sensitivity && at.P == scenes[0].P {
			several++
			same += one(at.N == scenes[0].N)
		}
	}
	if same == 1 {
		return min(3, several)
	}
	return same
}

// population draws by ε how often 95 % intervals hold each coefficient, and those of least
// squares: a panel for each n and coefficient.
func (v *studyView) population() *Figure {
	var names []string
	for _, k := range v.keys {
		names = append(names, k.Name)
	}
	f := &Figure{Name: "coverage", title: "Coverage of 95 % intervals: " + v.summary.Population, keys: seriesKeys(append(names, "least squares without noise")...),
		caption: "Share of trials whose 95 % interval holds the coefficient of the population, with 95 % binomial intervals."}
	scenes := v.over(leaveEpsilon)
	var plots []*plot.Plot
	for _, name := range v.quantities {
		w := sweep{axis: "ε", unit: "coverage, %", x: epsilonOf}
		w.value = func(line int, c *calibration.CellSummary) (y, low, high float64) {
			q := quantity(c, name)
			switch {
			case q == nil || line == len(v.series) && q.Coefficient.LeastSquares == nil:
				return exact(nil)
			case line == len(v.series):
				l := q.Coefficient.LeastSquares[level95]
				return 100 * l.Share, 100 * l.Lower, 100 * l.Upper
			}
			l := q.Coverage[level95]
			return 100 * l.Share, 100 * l.Lower, 100 * l.Upper
		}
		w.finish = func(p *plot.Plot, _ []*calibration.CellSummary) {
			straight.add(p, plotter.XYs{{X: p.X.Min, Y: 95}, {X: p.X.Max, Y: 95}})
			p.Y.Min, p.Y.Max = 0, 100
		}
		plots = append(plots, v.sweep(w, scenes, f.keys, func(at scene) string { return name + ", " + v.name(at) })...)
	}
	f.arrange(plots, len(scenes))
	return f
}
