package report_test

import (
	"bytes"
	"image/png"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/report"
)

// comparison is a summary of two methods, one without intervals, and of one that refused.
func comparison() (*calibration.Comparison, []calibration.Runtime) {
	sd := 0.02
	cell := func(method string, epsilon float64, measures ...calibration.MeasureSummary) calibration.ComparedCell {
		return calibration.ComparedCell{Setting: calibration.Setting{N: 800, P: 2, Epsilon: epsilon, Method: method}, Measures: measures}
	}
	measure := func(name string, mean float64) calibration.MeasureSummary {
		return calibration.MeasureSummary{Name: name, Mean: mean, SD: &sd, Of: 5}
	}
	s := &calibration.Comparison{Table: "rows.csv", Note: "NO PRIVACY.", Trials: 5, Seed: 7, Delta: 1e-6, Level: calibration.ComparisonLevel}
	for _, epsilon := range []float64{0.5, 2} {
		refused := cell("dp-vi", epsilon)
		refused.Failed, refused.Refused, refused.Error = 5, true, "the budget is too small"
		s.Cells = append(s.Cells,
			cell("naive", epsilon, measure(calibration.MeasureError, 0.1), measure(calibration.MeasurePredictionError, 0.3), measure(calibration.MeasureCoverage, 0.5), measure(calibration.MeasureLogScore, -20), measure(calibration.MeasureSpent, epsilon)),
			cell("adassp", epsilon, measure(calibration.MeasureError, 0.2), measure(calibration.MeasurePredictionError, 0.25), measure(calibration.MeasureSpent, epsilon)),
			refused)
	}
	times := make([]calibration.Runtime, len(s.Cells))
	for i := range times {
		times[i] = calibration.Runtime{Setting: s.Cells[i].Setting, Median: 0.25}
	}
	return s, times
}

func TestComparison(t *testing.T) {
	s, times := comparison()
	var b bytes.Buffer
	must.Do(t, report.Comparison(&b, s, times))
	words := strings.Join(strings.Fields(b.String()), " ")
	for _, part := range []string{
		"NO PRIVACY. 5 trials of each, seed 7, delta = 1e-06", "predicts the others, the same ones for all methods",
		"800 2 0.5 naive 0.100 (0.020) 0.300 (0.020) 50 (2) -20.000 (0.020) 0.5 0.25",
		"800 2 2 adassp 0.200 (0.020) 0.250 (0.020) - - 2 0.25", "800 2 2 dp-vi - - - - - -",
		"dp-vi, n = 800, p = 2, eps = 0.5: the budget is too small", "lie in their 90% predictive interval",
	} {
		if !strings.Contains(words, part) {
			t.Errorf("no %q in\n%s", part, b.String())
		}
	}
}

func TestComparisonPlot(t *testing.T) {
	s, times := comparison()
	f := must.Get(report.ComparisonPlot(s, times))(t)
	var svg, picture bytes.Buffer
	must.Do(t, f.Write(&svg, "svg"))
	must.Say(t, svg.String(), "Methods on rows.csv (no privacy: a study), n = 800, p = 2", "RMSE of θ", "coverage of 90 % predictive", "adassp", "ε = 0.5")
	must.Do(t, f.Write(&picture, "png"))
	if _, err := png.Decode(&picture); err != nil {
		t.Error(err)
	}
	for i := range s.Cells {
		s.Cells[i].Measures, s.Cells[i].Refused = nil, true
	}
	if _, err := report.ComparisonPlot(s, times); err == nil {
		t.Error("a picture of nothing")
	}
	s.Cells = append(s.Cells, s.Cells...)
	for i := range s.Cells {
		s.Cells[i].N = int64(i)
	}
	must.Fail(t, must.Err(report.ComparisonPlot(s, times)), "at most 6")
}
