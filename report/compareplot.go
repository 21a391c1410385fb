package report

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/dpreg/dpreg/calibration"
)

// mostSeries is how many sizes and budgets a picture of a comparison tells apart.
const mostSeries = 6

// ComparisonPlot draws a panel for each measure, and one for seconds, which times has: a line for each method, on
// it for each size and budget the mean over trials and a standard deviation to either side.
// It is an error if there are more than six sizes and budgets.
func ComparisonPlot(s *calibration.Comparison, times []calibration.Runtime) (*Figure, error) {
	v := newComparisonView(s)
	if len(v.series) > mostSeries {
		return nil, fmt.Errorf("a picture shows at most %d sizes and budgets, and there are %d: run fewer, or draw summary.csv", mostSeries, len(v.series))
	}
	f := &Figure{Name: "comparison", title: v.title(), keys: v.keys(), columns: 2}
	if len(v.series) > 3 {
		f.columns = 3 // for the keys
	}
	for _, name := range s.Has() {
		if name != calibration.MeasureSpent {
			v.add(f, name, func(i int) (mean, sd float64) { return v.measure(i, name) })
		}
	}
	v.add(f, "seconds", func(i int) (mean, sd float64) {
		if s.Cells[i].Refused {
			return math.NaN(), 0
		}
		return times[i].Median, 0
	})
	if len(f.panels) == 0 {
		return nil, errors.New("no method has results to draw")
	}
	return f, nil
}

// dataAndBudget is what a colour stands for.
type dataAndBudget struct {
	n       int64
	p       int
	epsilon float64
}

// comparisonView sorts the cells of a comparison.
type comparisonView struct {
	summary *calibration.Comparison
	methods []string
	series  []dataAndBudget
}

func newComparisonView(s *calibration.Comparison) *comparisonView {
	v := &comparisonView{summary: s}
	for _, c := range s.Cells {
		if !slices.Contains(v.methods, c.Method) {
			v.methods = append(v.methods, c.Method)
		}
		if at := (dataAndBudget{c.N, c.P, c.Epsilon}); !slices.Contains(v.series, at) {
			v.series = append(v.series, at)
		}
	}
	return v
}

func (v *comparisonView) title() string {
	text := "Methods on simulated rows"
	if v.summary.Table != "" {
		text = "Methods on " + v.summary.Table + " (no privacy: a study)"
	}
	return strings.Join(append([]string{text}, v.name(v.series[0], true)...), ", ")
}

// name is the part of a size and budget that all share, or that tells it from others.
func (v *comparisonView) name(at dataAndBudget, shared bool) (parts []string) {
	add := func(text func(dataAndBudget) string) {
		differs := func(other dataAndBudget) bool { return text(other) != text(at) }
		if slices.ContainsFunc(v.series, differs) != shared {
			parts = append(parts, text(at))
		}
	}
	add(func(d dataAndBudget) string { return fmt.Sprintf("n = %d", d.n) })
	add(func(d dataAndBudget) string { return fmt.Sprintf("p = %d", d.p) })
	add(func(d dataAndBudget) string { return "ε = " + exactly(d.epsilon) })
	return parts
}

func (v *comparisonView) keys() []Key {
	if len(v.series) == 1 {
		return nil
	}
	var names []string
	for _, at := range v.series {
		names = append(names, strings.Join(v.name(at, false), ", "))
	}
	return SeriesKeys(names...)
}

// measure is NaN where there is none, or it says nothing: the posterior without privacy is
// not compared with itself.
func (v *comparisonView) measure(i int, name string) (mean, sd float64) {
	c := &v.summary.Cells[i]
	m := c.Get(name)
	if m == nil || c.Method == calibration.NonPrivate && (name == calibration.MeasureError || name == calibration.MeasureMMD2) {
		return math.NaN(), 0
	}
	if m.SD != nil {
		sd = *m.SD
	}
	return m.Mean, sd
}

// onLogScale are the panels whose values differ by orders of magnitude.
var onLogScale = []string{calibration.MeasureError, calibration.MeasureTruthError, calibration.MeasureWidth, "seconds"}

// add adds a panel, unless no cell has a value.
func (v *comparisonView) add(f *Figure, name string, value func(i int) (mean, sd float64)) {
	p, rows := newPlot(), len(v.methods)
	marks, low, high, best := &whiskers{}, math.Inf(1), math.Inf(-1), math.Inf(-1)
	isLog := slices.Contains(onLogScale, name)
	for i, c := range v.summary.Cells {
		mean, sd := value(i)
		if math.IsNaN(mean) || isLog && !(mean > 0) {
			continue
		}
		k := slices.Index(v.series, dataAndBudget{c.N, c.P, c.Epsilon})
		shift := (float64(k) + 0.5 - float64(len(v.series))/2) * 0.7 / float64(len(v.series))
		w := whisker{mean, mean - sd, mean + sd, float64(rows-1-slices.Index(v.methods, c.Method)) - shift, k}
		if isLog {
			w.low = max(w.low, mean/10)
		}
		if name == calibration.MeasureCoverage {
			w.low, w.high = max(0, w.low), min(1, w.high)
		}
		low, high, best = min(low, w.low), max(high, w.high), max(best, mean)
		marks.all = append(marks.all, w)
	}
	if marks.all == nil {
		return
	}
	p.Title.Text = comparisonPanel(name, v.summary)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = low-0.05*(high-low), high+0.05*(high-low), -0.6, float64(rows)-0.4
	switch {
	case isLog:
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, logTicks{namesRoom}
		p.X.Min, p.X.Max = low/1.3, high*1.3
	case name == calibration.MeasureCoverage:
		p.X.Min, p.X.Max = -0.03, 1.03
		p.X.Tick.Marker = plot.ConstantTicks{{Value: 0, Label: "0"}, {Value: 0.5, Label: "50 %"}, {Value: calibration.ComparisonLevel, Label: "90 %"}}
		p.Add(level(calibration.ComparisonLevel, p))
	case name == calibration.MeasureLogScore:
		p.X.Min, p.X.Max = max(p.X.Min, best-worstScore), min(p.X.Max, best+0.3)
	}
	if low == high && !isLog {
		p.X.Min, p.X.Max = low-1, high+1
	}
	names := make(plot.ConstantTicks, rows)
	for i, method := range v.methods {
		names[i] = plot.Tick{Value: float64(rows - 1 - i), Label: method}
	}
	p.Y.Tick.Marker, p.Y.Tick.Length = names, 0
	p.Add(marks)
	height := 2.4*vg.Centimeter + vg.Length(rows)*(0.3+0.14*vg.Length(len(v.series)))*vg.Centimeter
	f.panels = append(f.panels, panel{plot: p, width: 9 * vg.Centimeter, height: height})
}

// comparisonPanel says what a panel shows.
func comparisonPanel(name string, s *calibration.Comparison) string {
	switch name {
	case calibration.MeasureError:
		return "RMSE of θ to the fit without privacy"
	case calibration.MeasureTruthError:
		return "RMSE of θ to the truth"
	case calibration.MeasurePredictionError:
		return "RMSE of predictions"
	case calibration.MeasureWidth:
		return "width of 90 % intervals of θ"
	case calibration.MeasureCoverage:
		if s.Table != "" {
			return "coverage of 90 % predictive intervals"
		}
		return "coverage of 90 % intervals of θ"
	case calibration.MeasureLogScore:
		return "mean log predictive density"
	case calibration.MeasureMMD2:
		return "MMD² to the posterior without privacy"
	}
	return "seconds of inference, one core"
}

// level is a vertical line.
func level(x float64, p *plot.Plot) plot.Plotter {
	l := &plotter.Line{XYs: plotter.XYs{{X: x, Y: p.Y.Min}, {X: x, Y: p.Y.Max}}}
	l.LineStyle = draw.LineStyle{Color: middleGrey, Width: 1, Dashes: []vg.Length{3, 2}}
	return l
}

// worstScore is how far below the best a mean log density is still told apart.
const worstScore = 2

// whisker is a mean and what lies about it, in the colour of a series.
type whisker struct {
	mean, low, high, y float64
	series             int
}

// whiskers are drawn as far as the panel goes: a mean that lies beyond it is a ring at its
// edge.
type whiskers struct{ all []whisker }

// Plot implements plot.Plotter.
func (w *whiskers) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	inside := func(v float64) vg.Length { return x(min(p.X.Max, max(p.X.Min, v))) }
	for _, a := range w.all {
		colour := seriesColours[a.series]
		c.StrokeLine2(draw.LineStyle{Color: colour, Width: 1.2}, inside(a.low), y(a.y), inside(a.high), y(a.y))
		glyph := draw.GlyphStyle{Color: colour, Radius: 2.4, Shape: seriesMarks[a.series]}
		if a.mean < p.X.Min {
			glyph.Shape = draw.RingGlyph{}
		}
		c.DrawGlyph(glyph, vg.Point{X: inside(a.mean), Y: y(a.y)})
	}
}
