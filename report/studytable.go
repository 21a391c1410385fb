package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/model"
)

// cellsTable has a row for each cell, of a population for each cell and coefficient, and a legend.
func cellsTable(s *calibration.Summary, times []calibration.Runtime) (t table, legend string) {
	if s.Population != "" {
		return populationTable(s, times), populationLegend
	}
	return studyTable(s, times)
}

// studyTable has a row for each cell, and a legend; columns that say nothing of the cells are
// left out.
func studyTable(s *calibration.Summary, times []calibration.Runtime) (t table, legend string) {
	t.Rows = make([][]string, len(s.Cells))
	column := func(header string, same bool, cell func(*calibration.CellSummary) string) bool {
		return t.column(header, same, func(i int) string { return cell(&s.Cells[i]) })
	}
	column("n", false, func(c *calibration.CellSummary) string { return nonZero(float64(c.N)) })
	column("eps", false, func(c *calibration.CellSummary) string { return nonZero(c.Epsilon) })
	column("p", true, func(c *calibration.CellSummary) string { return nonZero(float64(c.P)) })
	column("method", false, func(c *calibration.CellSummary) string { return c.Method })
	column("kernel", true, func(c *calibration.CellSummary) string { return c.Kernel })
	column("noise", true, func(c *calibration.CellSummary) string { return c.Sensitivity })
	t.Left = len(t.Header)
	column("failed", false, func(c *calibration.CellSummary) string { return nonZero(float64(c.Failed)) })
	column("capped", false, func(c *calibration.CellSummary) string { return nonZero(float64(c.Capped)) })
	column("ESS", false, func(c *calibration.CellSummary) string { return number(c.ESSMedian, 0) })
	parts := []string{"ESS: median over trials of the smallest effective sample size"}
	if column("KS", false, func(c *calibration.CellSummary) string {
		return decimals(worst(c, kolmogorov, slices.Max[[]float64]), 3)
	}) {
		parts = append(parts, "KS: Kolmogorov-Smirnov statistic of the truth's quantiles, the largest over quantities")
	}
	if s.Uniform && column("p-value", false, func(c *calibration.CellSummary) string { return pValue(worst(c, bonferroni, slices.Min[[]float64])) }) {
		parts = append(parts, "p-value: the smallest over quantities, times "+strconv.Itoa(s.Tests)+", the number of tests")
	}
	for l, level := range calibration.Levels {
		if level == 0.5 || level >= 0.9 {
			column(percent(level)+"%", false, func(c *calibration.CellSummary) string { return covered(c, l) })
		}
	}
	parts = append(parts, "50%, 90%, 95%: how many per cent of such intervals hold the truth, least and most over parameters")
	if column("MMD2", false, func(c *calibration.CellSummary) string { return decimals(c.MMD2, 4) }) {
		parts = append(parts, "MMD2: squared distance to the posterior without noise")
	}
	column("clamped", false, func(c *calibration.CellSummary) string {
		if c.Clamped == 0 {
			return ""
		}
		return number(100*c.Clamped, 1) + "%"
	})
	if times != nil {
		t.column("sec", false, func(i int) string { return number(times[i].Median, 3) })
		parts = append(parts, "sec: median seconds of a trial")
	}
	return t, strings.Join(parts, "; ") + "."
}

// testLevel is the level at which single tests are counted.
const testLevel = 0.01

// arm is all cells of a method, a kernel and a noise.
type arm struct {
	calibration.Setting
	cells []*calibration.CellSummary
}

// arms are those of a study, in the order of its cells.
func arms(s *calibration.Summary) []*arm {
	var all []*arm
	for i := range s.Cells {
		c := &s.Cells[i]
		who := calibration.Setting{Method: c.Method, Kernel: c.Kernel, Sensitivity: c.Sensitivity, Run: c.Run}
		at := slices.IndexFunc(all, func(a *arm) bool { return a.Setting == who })
		if at < 0 {
			at, all = len(all), append(all, &arm{Setting: who})
		}
		all[at].cells = append(all[at].cells, c)
	}
	return all
}

// armTable has a row for each method, kernel and noise.
func armTable(s *calibration.Summary) table {
	t := table{Header: []string{"method", "kernel", "noise", "cells", "95%", "short", "farther"}, Left: 3}
	if s.Uniform {
		t.Header = append(t.Header, "tests", "KS", "ECDF", "chance", "failing")
	}
	for _, a := range arms(s) {
		var short, hits, of, worse, beside, tests, below, ecdf, failing int
		for _, c := range a.cells {
			if d, ok := farther(c, s); ok {
				worse, beside = worse+one(d), beside+1
			}
			short, failing = short+c.Short, failing+one(!isUniform(c))
			for _, q := range c.Quantities {
				if q.Name != calibration.LogLikelihood {
					hits, of = hits+q.Coverage[level95].Hits, of+q.Coverage[level95].Of
				}
				if q.P != nil {
					tests, below, ecdf = tests+1, below+one(*q.P < testLevel), ecdf+one(*q.ECDF < testLevel)
				}
			}
		}
		row := []string{a.Method, a.Kernel, a.Sensitivity, strconv.Itoa(len(a.cells)), "", number(100*float64(short)/float64(len(a.cells)*s.Trials), 0) + "%", ""}
		if of > 0 {
			row[4] = number(100*float64(hits)/float64(of), 1)
		}
		if beside > 0 {
			row[6] = fmt.Sprintf("%d of %d", worse, beside)
		}
		if s.Uniform {
			row = append(row, strconv.Itoa(tests), strconv.Itoa(below), strconv.Itoa(ecdf), "<= "+strconv.Itoa(byChance(tests)), strconv.Itoa(failing))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

// farther asks whether a cell's MMD² is above that of naive with the same noise, by more
// than two standard errors of the difference; ok is false where there is none of either.
func farther(c *calibration.CellSummary, s *calibration.Summary) (is, ok bool) {
	naive := c.Setting
	naive.Method, naive.Kernel, naive.Run = model.Naive{}.Name(), "", ""
	i := slices.IndexFunc(s.Cells, func(o calibration.CellSummary) bool {
		other := o.Setting
		other.Run = ""
		return other == naive
	})
	if i < 0 || c.Method == naive.Method || c.MMD2Error == nil || s.Cells[i].MMD2Error == nil {
		return false, false
	}
	return *c.MMD2-*s.Cells[i].MMD2 > 2*math.Hypot(*c.MMD2Error, *s.Cells[i].MMD2Error), true
}

// byChance is the 99 % quantile of the number of p-values below testLevel of a right
// method, were the tests independent.
func byChance(tests int) int {
	if tests == 0 {
		return 0
	}
	law := distuv.Binomial{N: float64(tests), P: testLevel}
	k := 0
	for law.CDF(float64(k)) < 0.99 {
		k++
	}
	return k
}

func armLegend(s *calibration.Summary) string {
	text := "All cells of a method together. 95%: how many per cent of such intervals hold the truth, over parameters; " +
		"short: trials whose ranks are of fewer independent draws than 127; " +
		"farther: cells farther from the posterior without noise than naive with the same noise, beyond two standard errors"
	if s.Uniform {
		text += "; KS, ECDF: p-values below 0.01 of the tests on quantiles and on ranks; " +
			"chance: as many as a right method has at most, with probability 0.99, were tests independent; " +
			"failing: cells that are not uniform at 0.01 after Bonferroni's correction over all tests"
	}
	return text + "."
}

// populationTable has a row for each cell and coefficient.
func populationTable(s *calibration.Summary, times []calibration.Runtime) (t table) {
	several := len(arms(s)) > 1
	t.Header = []string{"n", "eps", "coefficient"}
	if several {
		t.Header = []string{"n", "eps", "method", "noise", "coefficient"}
	}
	t.Left = len(t.Header)
	t.Header = append(t.Header, "95%", "50%", "LS 95%", "LS 50%", "margin", "width", "ratio", "contraction", "sharp", "sharp 95%", "unmixed", "divergent", "sec")
	for i := range s.Cells {
		c := &s.Cells[i]
		for j := range c.Quantities {
			q := &c.Quantities[j]
			row := []string{nonZero(float64(c.N)), nonZero(c.Epsilon)}
			if several {
				row = append(row, withKernel(c.Setting), c.Sensitivity)
			}
			row = append(append(row, q.Name), coefficientCells(q)...)
			seconds := ""
			if times != nil {
				seconds = number(times[i].Median, 3)
			}
			t.Rows = append(t.Rows, append(row, percentage(c.Unmixed), percentage(c.Divergent), seconds))
		}
	}
	return t
}

// coefficientCells are those of a coefficient alone.
func coefficientCells(q *calibration.QuantitySummary) []string {
	of := q.Coefficient
	cells := []string{shareAndSE(&q.Coverage[level95]), shareAndSE(&q.Coverage[level50]), "", ""}
	if l := of.LeastSquares; l != nil {
		cells[2], cells[3] = shareAndSE(&l[level95]), shareAndSE(&l[level50])
	}
	fits, held := "", ""
	if of.Sharp != nil {
		fits, held = strconv.Itoa(of.Sharp.Of), shareAndSE(of.Sharp)
	}
	return append(cells, fmt.Sprintf("%+.0f", 100*q.Margin()), general(of.Width), decimals(of.Ratio, 2), decimals(of.Contraction, 3), fits, held)
}

// The places among calibration.Levels of the levels that a table of a population shows.
const (
	level50 = 0
	level95 = len(calibration.Levels) - 1
)

// shareAndSE is a share and its Monte Carlo standard error, per cent.
func shareAndSE(c *calibration.Coverage) string {
	return number(100*c.Share, 0) + " (" + number(100*c.SE(), 0) + ")"
}

func percentage(v *float64) string {
	if v == nil {
		return ""
	}
	return number(100**v, 0) + "%"
}

const populationLegend = "95%, 50%: how many per cent of such intervals hold the truth (Monte Carlo standard error); LS: those of least squares on the same rows without noise; " +
	"margin: by how much the first exceeds what is asked, 90, or 3 less than least squares if that is less; " +
	"width: of the 95% interval in the data's units, median; ratio: to that of least squares; contraction: of the posterior, median; " +
	"sharp: fits with a contraction of at least 0.9, and how many per cent of their 95% intervals hold the truth; unmixed: fits with an R-hat above 1.05; " +
	"divergent: of all transitions; sec: median seconds of a trial."

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
