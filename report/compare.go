package report

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/model"
)

// Comparison writes the summary of a comparison: what was done to which rows, a table with a
// row for each method, size and budget, why methods refused, and what the columns are.
// times are the cells'.
func Comparison(w io.Writer, s *calibration.Comparison, times []calibration.Runtime) error {
	return write(w, say(comparisonStatement(s)), show(comparisonTable(s, times)), say(comparisonLegend(s)), warn(refusals(s)))
}

func comparisonStatement(s *calibration.Comparison) string {
	text := s.Note + " " + Count(s.Trials, "trial") + " of each, seed " + strconv.FormatUint(s.Seed, 10)
	if s.Delta > 0 {
		text += ", delta = " + exactly(s.Delta)
	}
	if s.Table != "" {
		text += "; each infers from random rows of " + s.Table + " and predicts the others, the same ones for all methods"
	}
	return text + ". Replace-one neighbours: n is public."
}

// measures are the columns, what a legend says of them, and the titles of their panels, of
// which those whose values differ by orders of magnitude are logarithmic.
var measures = map[string]struct {
	header, legend, title string
	log                   bool
}{
	calibration.MeasureError:           {"error", "root mean square over coefficients of the difference from the posterior mean without privacy", "RMSE of θ to the fit without privacy", true},
	calibration.MeasureTruthError:      {"to truth", "the same from the true coefficients", "RMSE of θ to the truth", true},
	calibration.MeasurePredictionError: {"prediction", "root mean square of errors of predictions", "RMSE of predictions", false},
	calibration.MeasureWidth:           {"width", "of 90% intervals of coefficients", "width of 90 % intervals of θ", true},
	calibration.MeasureCoverage:        {"coverage", "per cent of 90% intervals that hold the truth", "coverage of 90 % intervals of θ", false},
	calibration.MeasureLogScore:        {"log score", "mean log predictive density", "mean log predictive density", false},
	calibration.MeasureMMD2:            {"MMD2", "squared distance to the posterior without privacy", "MMD² to the posterior without privacy", false},
	calibration.MeasureSpent:           {"spent", "epsilon", "", false},
	secondsPanel:                       {"sec", "", "seconds of inference, one core", true},
}

// secondsPanel is beside those of measures.
const secondsPanel = "seconds"

// comparisonTable has a row for each cell.
func comparisonTable(s *calibration.Comparison, times []calibration.Runtime) table {
	t := table{Header: []string{"n", "p", "eps", "method"}, Left: 4}
	for _, name := range s.Has() {
		t.Header = append(t.Header, measures[name].header)
	}
	t.Header = append(t.Header, measures[secondsPanel].header)
	for i := range s.Cells {
		c, seconds := &s.Cells[i], "-"
		if !c.Refused {
			seconds = fmt.Sprintf("%.2g", times[i].Median)
		}
		row := []string{strconv.FormatInt(c.N, 10), strconv.Itoa(c.P), exactly(c.Epsilon), c.Method}
		for _, name := range s.Has() {
			row = append(row, meanAndSD(c.Get(name)))
		}
		t.Rows = append(t.Rows, append(row, seconds))
	}
	return t
}

// meanAndSD is mean and standard deviation, and a dash where there is none.
func meanAndSD(m *calibration.MeasureSummary) string {
	switch {
	case m == nil:
		return "-"
	case m.Name == calibration.MeasureSpent:
		return general(m.Mean)
	}
	scale := 1.0
	if m.Name == calibration.MeasureCoverage {
		scale = 100
	}
	if m.SD == nil || *m.SD == 0 {
		return general(scale * m.Mean)
	}
	digits := max(0, precision(scale**m.SD)-1)
	if m.Name == calibration.MeasureCoverage {
		digits = 0
	}
	if digits > 6 {
		return fmt.Sprintf("%.1e (%.0e)", m.Mean, *m.SD)
	}
	return number(scale*m.Mean, digits) + " (" + number(scale**m.SD, digits) + ")"
}

func comparisonLegend(s *calibration.Comparison) string {
	parts := []string{"Means over trials (standard deviations); scaled units, in which the bounds are -1 and 1"}
	for _, name := range s.Has() {
		text := measures[name].legend
		switch {
		case name == calibration.MeasureCoverage && s.Table != "" && s.Family != model.Normal:
			text = "per cent of 90% intervals that hold the coefficient of maximum likelihood on all rows"
		case name == calibration.MeasureTruthError && s.Table != "":
			text = "the same from maximum likelihood on all rows"
		case name == calibration.MeasureCoverage && s.Table != "":
			text = "per cent of responses that lie in their 90% predictive interval"
		}
		parts = append(parts, measures[name].header+": "+text)
	}
	parts = append(parts, "sec: median seconds of inference on one core", "-: the method has none")
	return strings.Join(parts, "; ") + "."
}

// refusals say which methods have no results, and which have not those of all trials.
func refusals(s *calibration.Comparison) (texts []string) {
	for i := range s.Cells {
		c := &s.Cells[i]
		name := fmt.Sprintf("%s, n = %d, p = %d, eps = %s", c.Method, c.N, c.P, exactly(c.Epsilon))
		switch {
		case c.Refused:
			texts = append(texts, name+": "+c.Error)
		case c.Failed > 0:
			texts = append(texts, fmt.Sprintf("%s: %d of %d trials failed, and are left out of its means: %s", name, c.Failed, s.Trials, c.Error))
		}
		if c.Capped > 0 {
			texts = append(texts, fmt.Sprintf("%s: the sampler met its limit in %d of %d trials", name, c.Capped, s.Trials))
		}
	}
	return texts
}

// mostSeries is how many sizes and budgets a picture of a comparison tells apart.
const mostSeries = 6

// ComparisonPlot draws a panel for each measure, and one for seconds, which times has: a line for each method, on
// it for each size and budget the mean over trials and a standard deviation to either side.
// It is an error if there are more than six sizes and budgets.
func ComparisonPlot(s *calibration.Comparison, times []calibration.Runtime) (*Figure, error) {
	v := &comparisonView{summary: s}
	for _, c := range s.Cells {
		if !slices.Contains(v.methods, c.Method) {
			v.methods = append(v.methods, c.Method)
		}
		if at := (scene{P: c.P, N: c.N, Epsilon: c.Epsilon}); !slices.Contains(v.series, at) {
			v.series = append(v.series, at)
		}
	}
	if len(v.series) > mostSeries {
		return nil, fmt.Errorf("a picture shows at most %d sizes and budgets, and there are %d: run fewer, or draw summary.csv", mostSeries, len(v.series))
	}
	title := "Methods on simulated rows"
	if s.Table != "" {
		title = "Methods on " + s.Table + " (no privacy: a study)"
	}
	shared, own := apart(v.series)
	v.keys = seriesKeys(own...)
	f := &Figure{Name: "comparison", title: title + shared, columns: 2}
	if len(own) > 1 {
		f.keys = v.keys
	}
	if len(own) > 3 {
		f.columns = 3 // for the keys
	}
	for _, name := range s.Has() {
		if name != calibration.MeasureSpent {
			v.add(f, name, func(i int) (mean, sd float64) { return v.measure(i, name) })
		}
	}
	v.add(f, secondsPanel, func(i int) (mean, sd float64) {
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

// comparisonView sorts the cells of a comparison.
type comparisonView struct {
	summary *calibration.Comparison
	methods []string
	series  []scene
	keys    []key // of series
}

// apart names sizes and budgets: by what all share, each part behind a comma, and by what tells
// each from others.
func apart(series []scene) (shared string, own []string) {
	own, parts := make([]string, len(series)), make([][]string, len(series))
	for i, at := range series {
		parts[i] = []string{fmt.Sprintf("n = %d", at.N), fmt.Sprintf("p = %d", at.P), "ε = " + exactly(at.Epsilon)}
	}
	for k, text := range parts[0] {
		if !slices.ContainsFunc(parts, func(other []string) bool { return other[k] != text }) {
			shared += ", " + text
			continue
		}
		for i := range own {
			own[i] = strings.TrimPrefix(own[i]+", "+parts[i][k], ", ")
		}
	}
	return shared, own
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

// add adds a panel, unless no cell has a value: a row for each method, in it a bar for each size
// and budget.
func (v *comparisonView) add(f *Figure, name string, value func(i int) (mean, sd float64)) {
	p, of, isCoverage := newPlot(), measures[name], name == calibration.MeasureCoverage
	drawn := make([]*bars, len(v.series))
	for k, own := range v.keys {
		drawn[k] = &bars{wide: draw.LineStyle{Color: own.Color, Width: 1.2}, mark: own.mark}
	}
	low, high, best := math.Inf(1), math.Inf(-1), math.Inf(-1)
	for i, c := range v.summary.Cells {
		mean, sd := value(i)
		if math.IsNaN(mean) || of.log && !(mean > 0) {
			continue
		}
		k := slices.Index(v.series, scene{P: c.P, N: c.N, Epsilon: c.Epsilon})
		shift := (float64(k) + 0.5 - float64(len(v.series))/2) * 0.7 / float64(len(v.series))
		b := bar{y: -float64(slices.Index(v.methods, c.Method)) - shift, low: mean - sd, high: mean + sd, at: mean}
		if of.log {
			b.low = max(b.low, mean/10)
		}
		if isCoverage {
			b.low, b.high = max(0, b.low), min(1, b.high)
		}
		low, high, best = min(low, b.low), max(high, b.high), max(best, mean)
		drawn[k].all = append(drawn[k].all, b)
	}
	if low > high {
		return
	}
	if p.Title.Text = of.title; isCoverage && v.summary.Table != "" {
		p.Title.Text = "coverage of 90 % predictive intervals"
	}
	nameRows(p, v.methods)
	left, right := low-0.05*(high-low), high+0.05*(high-low)
	switch {
	case of.log:
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, logTicks{namesRoom}
		left, right = low/1.3, high*1.3
	case isCoverage:
		left, right = -0.03, 1.03
		p.X.Tick.Marker = plot.ConstantTicks{{Value: 0, Label: "0"}, {Value: 0.5, Label: "50 %"}, {Value: calibration.ComparisonLevel, Label: "90 %"}}
		upright(p, calibration.ComparisonLevel)
	case name == calibration.MeasureLogScore:
		left, right = max(left, best-worstScore), min(right, best+0.3)
	}
	if low == high && !of.log {
		left, right = low-1, high+1
	}
	for _, b := range drawn {
		p.Add(b)
	}
	p.X.Min, p.X.Max = left, right
	rows := vg.Length(len(v.methods))
	height := 2.4*vg.Centimeter + rows*(0.3+0.14*vg.Length(len(v.series)))*vg.Centimeter
	f.panels = append(f.panels, panel{plot: p, width: 9 * vg.Centimeter, height: height})
}

// worstScore is how far below the best a mean log density is still told apart.
const worstScore = 2
