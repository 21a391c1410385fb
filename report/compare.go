package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/dpreg/dpreg/calibration"
)

// Comparison writes the summary of a comparison: what was done to which rows, a table with a
// row for each method, size and budget, why methods refused, and what the columns are.
// times are the cells'.
func Comparison(w io.Writer, s *calibration.Comparison, times []calibration.Runtime) error {
	p := &printer{w: w}
	p.paragraph(comparisonStatement(s))
	p.printf("\n")
	header, rows, left := comparisonTable(s, times)
	p.do(func(w io.Writer) error { return grid(w, header, rows, left) })
	p.printf("\n")
	p.paragraph(comparisonLegend(s))
	if texts := refusals(s); texts != nil {
		p.do(func(w io.Writer) error { return Warnings(w, texts) })
	}
	return p.err
}

func comparisonStatement(s *calibration.Comparison) string {
	text := s.Note + " " + count(s.Trials, "trial") + " of each, seed " + strconv.FormatUint(s.Seed, 10)
	if s.Delta > 0 {
		text += ", delta = " + exactly(s.Delta)
	}
	if s.Table != "" {
		text += "; each infers from random rows of " + s.Table + " and predicts the others, the same ones for all methods"
	}
	return text + ". Replace-one neighbours: n is public."
}

// measureHeaders are the columns of measures, and what they say.
var measureHeaders = map[string][2]string{
	calibration.MeasureError:           {"error", "error: root mean square over coefficients of the difference from the posterior mean without privacy"},
	calibration.MeasureTruthError:      {"to truth", "to truth: the same from the true coefficients"},
	calibration.MeasurePredictionError: {"prediction", "prediction: root mean square of errors of predictions"},
	calibration.MeasureWidth:           {"width", "width: of 90% intervals of coefficients"},
	calibration.MeasureCoverage:        {"coverage", "coverage: per cent of 90% intervals that hold the truth"},
	calibration.MeasureLogScore:        {"log score", "log score: mean log predictive density"},
	calibration.MeasureMMD2:            {"MMD2", "MMD2: squared distance to the posterior without privacy"},
	calibration.MeasureSpent:           {"spent", "spent: epsilon"},
}

// comparisonTable has a row for each cell; the first left columns name it.
func comparisonTable(s *calibration.Comparison, times []calibration.Runtime) (header []string, rows [][]string, left int) {
	rows = make([][]string, len(s.Cells))
	column := func(name string, cell func(i int, c *calibration.ComparedCell) string) {
		header = append(header, name)
		for i := range s.Cells {
			rows[i] = append(rows[i], cell(i, &s.Cells[i]))
		}
	}
	column("n", func(_ int, c *calibration.ComparedCell) string { return strconv.FormatInt(c.N, 10) })
	column("p", func(_ int, c *calibration.ComparedCell) string { return strconv.Itoa(c.P) })
	column("eps", func(_ int, c *calibration.ComparedCell) string { return exactly(c.Epsilon) })
	column("method", func(_ int, c *calibration.ComparedCell) string { return c.Method })
	left = len(header)
	for _, name := range s.Has() {
		column(measureHeaders[name][0], func(_ int, c *calibration.ComparedCell) string { return meanAndSD(c.Get(name)) })
	}
	column("sec", func(i int, c *calibration.ComparedCell) string {
		if c.Refused {
			return "-"
		}
		return fmt.Sprintf("%.2g", times[i].Median)
	})
	return header, rows, left
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
		text := measureHeaders[name][1]
		if name == calibration.MeasureCoverage && s.Table != "" {
			text = "coverage: per cent of responses that lie in their 90% predictive interval"
		}
		parts = append(parts, text)
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
