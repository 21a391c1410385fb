package report

import (
	"math"
	"slices"

	"gonum.org/v1/plot"

	"github.com/dpreg/dpreg/calibration"
)

// ksByN and ksByEpsilon draw the largest Kolmogorov–Smirnov statistic over quantities.
func (v *studyView) ksByN() (*Figure, error) {
	return v.ks("ks-n", "number of rows n", func(at *scene) { at.n = 0 }, rowsOf)
}

func (v *studyView) ksByEpsilon() (*Figure, error) {
	return v.ks("ks-epsilon", "ε", func(at *scene) { at.epsilon = 0 }, epsilonOf)
}

func rowsOf(c calibration.Setting) float64    { return float64(c.N) }
func epsilonOf(c calibration.Setting) float64 { return c.Epsilon }

func (v *studyView) ks(name, axis string, leaveOut func(*scene), x func(calibration.Setting) float64) (*Figure, error) {
	f := &Figure{
		Name: name, title: "Kolmogorov–Smirnov statistic by " + axis + ", the largest over quantities", keys: v.keys,
		caption: "Distance of the truth's quantiles from a uniform law. A right method is below the grey line in 99 % of such studies.",
	}
	value := func(c *calibration.CellSummary) (y, e float64) {
		d := worst(c, kolmogorov, slices.Max[[]float64])
		if d == nil {
			return math.NaN(), 0
		}
		return *d, 0
	}
	err := v.byScene(f, v.over(leaveOut), axis, "KS", x, value, func(p *plot.Plot, cells []*calibration.CellSummary) error {
		most, tests := 0, 1
		for _, c := range cells {
			for _, q := range c.Quantities {
				most, tests = max(most, len(q.Ranks)), max(tests, len(c.Quantities))
			}
		}
		if most == 0 {
			return nil
		}
		d := calibration.KSCritical(most, uniformAt/float64(tests))
		if err := addStraight(p, p.X.Min, d, p.X.Max, d); err != nil {
			return err
		}
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, logTicks{pageRoom}
		p.Y.Min, p.Y.Max = min(p.Y.Min, d/2)/1.2, 1.2
		return nil
	})
	return f, err
}

// mmd draws the mean squared discrepancy to the posterior without noise.
func (v *studyView) mmd() (*Figure, error) {
	f := &Figure{
		Name: "mmd", title: "MMD² to the posterior without noise", keys: v.keys,
		caption: "Squared maximum mean discrepancy, mean over trials with two standard errors. What a right method has of it is the price of privacy.",
	}
	value := func(c *calibration.CellSummary) (y, e float64) {
		if c.MMD2 == nil {
			return math.NaN(), 0
		}
		if c.MMD2Error != nil {
			e = 2 * *c.MMD2Error
		}
		return *c.MMD2, e
	}
	err := v.byScene(f, v.over(func(at *scene) { at.epsilon = 0 }), "ε", "MMD²", epsilonOf, value, func(p *plot.Plot, _ []*calibration.CellSummary) error {
		p.Y.Min, p.Y.Max = min(0, p.Y.Min), 1.05*p.Y.Max
		return nil
	})
	return f, err
}

// runtime draws the median seconds of a trial by n.
func (v *studyView) runtime(times []calibration.Runtime) (*Figure, error) {
	if times == nil {
		return nil, nil
	}
	f := &Figure{
		Name: "runtime", title: "Seconds of a trial", keys: v.keys,
		caption: "Median over trials, on one core: simulation, sampling and what is computed of the draws.",
	}
	value := func(c *calibration.CellSummary) (y, e float64) {
		i := slices.IndexFunc(times, func(t calibration.Runtime) bool { return t.Setting == c.Setting })
		if i < 0 || !(times[i].Median > 0) {
			return math.NaN(), 0
		}
		return times[i].Median, 0
	}
	err := v.byScene(f, v.over(func(at *scene) { at.n = 0 }), "number of rows n", "seconds", rowsOf, value, func(p *plot.Plot, _ []*calibration.CellSummary) error {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, logTicks{pageRoom}
		p.Y.Min, p.Y.Max = p.Y.Min/2, p.Y.Max*2
		return nil
	})
	return f, err
}

// seriesApart is the ratio of the places of series on the axis, so that none hides another.
const seriesApart = 1.04

// byScene adds a panel for each scene, with a line for each series over x. finish, if
// not nil, has the last word on a panel. There are no panels where no cell has a value.
func (v *studyView) byScene(f *Figure, scenes []scene, xAxis, yAxis string, x func(calibration.Setting) float64,
	value func(*calibration.CellSummary) (y, e float64), finish func(*plot.Plot, []*calibration.CellSummary) error) error {
	var plots []*plot.Plot
	for _, at := range scenes {
		p := v.panel(at, xAxis, yAxis)
		var all []*calibration.CellSummary
		for i, who := range v.series {
			cells := v.find(at, who)
			s := &measured{}
			aside := math.Pow(seriesApart, float64(i)-float64(len(v.series)-1)/2)
			for _, c := range cells {
				if y, e := value(c); !math.IsNaN(y) && x(c.Setting) > 0 {
					s.add(x(c.Setting)*aside, y, y-e, y+e)
					all = append(all, c)
				}
			}
			if err := s.draw(p, v.keys[i]); err != nil {
				return err
			}
		}
		if all == nil {
			continue
		}
		logarithmic(p, all, x)
		if finish != nil {
			if err := finish(p, all); err != nil {
				return err
			}
		}
		plots = append(plots, p)
	}
	f.arrange(plots, inARow(scenes))
	return nil
}

// inARow puts panels that differ in n or ε beside each other.
func inARow(scenes []scene) int {
	n := 0
	for _, at := range scenes {
		if at.noise == scenes[0].noise && at.p == scenes[0].p {
			n++
		}
	}
	return n
}

// logarithmic makes the x axis that of the cells' values, with a mark at each; of a single
// one, with marks around it.
func logarithmic(p *plot.Plot, cells []*calibration.CellSummary, x func(calibration.Setting) float64) {
	var values []float64
	for _, c := range cells {
		values = append(values, x(c.Setting))
	}
	slices.Sort(values)
	MarkX(p, slices.Compact(values))
}

// populationPlot draws by ε how often 95 % intervals hold each coefficient, and those of least
// squares: a panel for each n and coefficient.
func populationPlot(s *calibration.Summary) (*Figure, error) {
	v := newStudyView(s)
	var names []string
	for _, k := range v.keys {
		names = append(names, k.Name)
	}
	f := &Figure{Name: "coverage", title: "Coverage of 95 % intervals: " + s.Population, keys: SeriesKeys(append(names, "least squares without noise")...),
		caption: "Share of trials whose 95 % interval holds the coefficient of the population, with 95 % binomial intervals."}
	scenes := v.over(func(at *scene) { at.epsilon = 0 })
	var plots []*plot.Plot
	for _, name := range v.quantities {
		for _, at := range scenes {
			p := Panel(name+", "+v.name(at), "ε", "coverage, %")
			var cells []*calibration.CellSummary
			for i, who := range v.series {
				drawn, plain := &measured{}, &measured{}
				for _, c := range v.find(at, who) {
					q := quantity(c, name)
					if q == nil {
						continue
					}
					cells = append(cells, c)
					drawn.covered(c.Epsilon*math.Pow(seriesApart, float64(i)), &q.Coverage[level95])
					if l := q.Coefficient.LeastSquares; l != nil && i == 0 {
						plain.covered(c.Epsilon/seriesApart, &l[level95])
					}
				}
				if err := drawn.draw(p, f.keys[i]); err != nil {
					return nil, err
				}
				if err := plain.draw(p, f.keys[len(v.series)]); err != nil {
					return nil, err
				}
			}
			if cells == nil {
				continue
			}
			logarithmic(p, cells, epsilonOf)
			if err := addStraight(p, p.X.Min, 95, p.X.Max, 95); err != nil {
				return nil, err
			}
			p.Y.Min, p.Y.Max = 0, 100
			plots = append(plots, p)
		}
	}
	f.arrange(plots, len(scenes))
	return f, nil
}

// covered adds a coverage, per cent.
func (m *measured) covered(x float64, c *calibration.Coverage) {
	m.add(x, 100*c.Share, 100*c.Lower, 100*c.Upper)
}
