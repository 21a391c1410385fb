package report

import (
	"slices"
	"strconv"
	"strings"

	"github.com/dpreg/dpreg/calibration"
)

// studyTable is the table of a study; columns that say nothing of its cells are left
// out.
type studyTable struct {
	summary *calibration.Summary
	columns []studyColumn
}

// studyColumn is a column: left ones name the cell.
type studyColumn struct {
	header string
	left   bool
	cell   func(i int, c *calibration.CellSummary) string
}

func newStudyTable(s *calibration.Summary, times []calibration.Runtime) *studyTable {
	t := &studyTable{summary: s}
	name := func(header string, cell func(c *calibration.CellSummary) string) {
		t.columns = append(t.columns, studyColumn{header, true, func(_ int, c *calibration.CellSummary) string { return cell(c) }})
	}
	value := func(header string, cell func(c *calibration.CellSummary) string) {
		t.columns = append(t.columns, studyColumn{header, false, func(_ int, c *calibration.CellSummary) string { return cell(c) }})
	}
	name("n", func(c *calibration.CellSummary) string { return nonZero(float64(c.N)) })
	name("eps", func(c *calibration.CellSummary) string { return nonZero(c.Epsilon) })
	name("p", func(c *calibration.CellSummary) string { return nonZero(float64(c.P)) })
	name("method", func(c *calibration.CellSummary) string { return c.Method })
	name("kernel", func(c *calibration.CellSummary) string { return c.Kernel })
	name("noise", func(c *calibration.CellSummary) string { return c.Sensitivity })
	value("failed", func(c *calibration.CellSummary) string { return nonZero(float64(c.Failed)) })
	value("capped", func(c *calibration.CellSummary) string { return nonZero(float64(c.Capped)) })
	value("ESS", func(c *calibration.CellSummary) string { return number(c.ESSMedian, 0) })
	value("KS", func(c *calibration.CellSummary) string {
		return decimals(worst(c, kolmogorov, slices.Max[[]float64]), 3)
	})
	if s.Uniform {
		value("p-value", func(c *calibration.CellSummary) string { return pValue(worst(c, bonferroni, slices.Min[[]float64])) })
	}
	for l := range calibration.Levels {
		if calibration.Levels[l] == 0.5 || calibration.Levels[l] >= 0.9 {
			value(exactly(percent(calibration.Levels[l]))+"%", func(c *calibration.CellSummary) string { return covered(c, l) })
		}
	}
	value("MMD2", func(c *calibration.CellSummary) string { return decimals(c.MMD2, 4) })
	value("clamped", func(c *calibration.CellSummary) string {
		if c.Clamped == 0 {
			return ""
		}
		return number(100*c.Clamped, 1) + "%"
	})
	if times != nil {
		t.columns = append(t.columns, studyColumn{"sec", false, func(i int, _ *calibration.CellSummary) string { return number(times[i].Median, 3) }})
	}
	t.columns = slices.DeleteFunc(t.columns, func(c studyColumn) bool { return t.dull(c) })
	return t
}

// dull tells the columns to leave out: without a value, or naming what all cells share.
func (t *studyTable) dull(c studyColumn) bool {
	seen := make(map[string]bool)
	for i := range t.summary.Cells {
		seen[c.cell(i, &t.summary.Cells[i])] = true
	}
	if len(seen) > 1 {
		return false
	}
	return seen[""] || c.header == "p" || c.header == "kernel" || c.header == "noise"
}

func (t *studyTable) header() []string {
	header := make([]string, len(t.columns))
	for j, c := range t.columns {
		header[j] = c.header
	}
	return header
}

func (t *studyTable) rows() [][]string {
	rows := make([][]string, len(t.summary.Cells))
	for i := range rows {
		for _, c := range t.columns {
			rows[i] = append(rows[i], c.cell(i, &t.summary.Cells[i]))
		}
	}
	return rows
}

func (t *studyTable) left() int {
	n := slices.IndexFunc(t.columns, func(c studyColumn) bool { return !c.left })
	return max(1, n)
}

func (t *studyTable) has(header string) bool {
	return slices.ContainsFunc(t.columns, func(c studyColumn) bool { return c.header == header })
}

func (t *studyTable) legend() string {
	parts := []string{"ESS: median over trials of the smallest effective sample size"}
	if t.has("KS") {
		parts = append(parts, "KS: Kolmogorov-Smirnov statistic of the truth's quantiles, the largest over quantities")
	}
	if t.has("p-value") {
		parts = append(parts, "p-value: the smallest over quantities, times "+strconv.Itoa(t.summary.Tests)+", the number of tests")
	}
	parts = append(parts, "50%, 90%, 95%: how many per cent of such intervals hold the truth, least and most over parameters")
	if t.has("MMD2") {
		parts = append(parts, "MMD2: squared distance to the posterior without noise")
	}
	if t.has("sec") {
		parts = append(parts, "sec: median seconds of a trial")
	}
	return strings.Join(parts, "; ") + "."
}

func kolmogorov(q *calibration.QuantitySummary) *float64 { return q.KS }
func bonferroni(q *calibration.QuantitySummary) *float64 { return q.PBonferroni }

// worst is the largest or smallest of a number over quantities, nil of none.
func worst(c *calibration.CellSummary, of func(*calibration.QuantitySummary) *float64, which func([]float64) float64) *float64 {
	var values []float64
	for j := range c.Quantities {
		if v := of(&c.Quantities[j]); v != nil {
			values = append(values, *v)
		}
	}
	if values == nil {
		return nil
	}
	v := which(values)
	return &v
}

// covered is the range of coverage at a level over parameters, in per cent.
func covered(c *calibration.CellSummary, level int) string {
	var shares []float64
	for _, q := range c.Quantities {
		if q.Name != calibration.LogLikelihood {
			shares = append(shares, 100*q.Coverage[level].Share)
		}
	}
	if shares == nil {
		return ""
	}
	low, high := number(slices.Min(shares), 0), number(slices.Max(shares), 0)
	if low == high {
		return low
	}
	return low + "-" + high
}

func decimals(v *float64, digits int) string {
	if v == nil {
		return ""
	}
	return number(*v, digits)
}

func pValue(v *float64) string {
	switch {
	case v == nil:
		return ""
	case *v == 0:
		return "0"
	case *v < 0.001:
		return strconv.FormatFloat(*v, 'e', 0, 64)
	}
	return number(*v, 3)
}

// nonZero writes a number, and nothing for 0.
func nonZero(v float64) string {
	if v == 0 {
		return ""
	}
	return exactly(v)
}
