package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/model"
)

// testLevel is the level at which single tests are counted.
const testLevel = 0.01

// armTally is what all cells of a method, a kernel and a noise have in common.
type armTally struct {
	setting       calibration.Setting
	cells, tests  int
	below, ecdf   int // p-values below testLevel, of either test
	failing       int // cells that are not uniform after Bonferroni's correction
	hits, of      int // 95 % intervals of parameters
	worse, beside int // cells farther from the noiseless posterior than naive's, of so many

	failed, capped, short, trials int
	ess, draws                    limits // over cells
	accept, projected, divergent  limits
	leastESS                      float64
}

// name is how a sentence calls it.
func (t *armTally) name() string { return cellName(t.setting) }

// tallies are those of a study, in the order of its cells.
func tallies(s *calibration.Summary) []*armTally {
	var all []*armTally
	for i := range s.Cells {
		c := &s.Cells[i]
		who := calibration.Setting{Method: c.Method, Kernel: c.Kernel, Sensitivity: c.Sensitivity, Run: c.Run}
		at := slices.IndexFunc(all, func(t *armTally) bool { return t.setting == who })
		if at < 0 {
			at = len(all)
			all = append(all, &armTally{setting: who, ess: noLimits(), draws: noLimits(),
				accept: noLimits(), projected: noLimits(), divergent: noLimits(), leastESS: math.Inf(1)})
		}
		all[at].add(c, s.Trials)
		all[at].compare(c, s)
	}
	return all
}

// compare asks whether a cell's MMD² is above that of naive with the same noise, by more
// than two standard errors of the difference.
func (t *armTally) compare(c *calibration.CellSummary, s *calibration.Summary) {
	naive := c.Setting
	naive.Method, naive.Kernel, naive.Run = model.Naive{}.Name(), "", ""
	i := slices.IndexFunc(s.Cells, func(o calibration.CellSummary) bool {
		other := o.Setting
		other.Run = ""
		return other == naive
	})
	if i < 0 || c.Method == naive.Method || c.MMD2Error == nil || s.Cells[i].MMD2Error == nil {
		return
	}
	t.beside++
	if *c.MMD2-*s.Cells[i].MMD2 > 2*math.Hypot(*c.MMD2Error, *s.Cells[i].MMD2Error) {
		t.worse++
	}
}

func (t *armTally) add(c *calibration.CellSummary, trials int) {
	t.cells++
	t.failed, t.capped, t.short, t.trials = t.failed+c.Failed, t.capped+c.Capped, t.short+c.Short, t.trials+trials
	t.ess.add(&c.ESSMedian)
	t.draws.add(&c.Draws)
	if c.Accept != nil && *c.Accept > 0 { // 0: the sampler proposes nothing
		t.accept.add(c.Accept)
	}
	t.projected.add(c.Projected)
	t.divergent.add(c.Divergent)
	t.leastESS = min(t.leastESS, c.ESSLeast)
	if !isUniform(c) {
		t.failing++
	}
	for _, q := range c.Quantities {
		if q.Name != calibration.LogLikelihood {
			last := q.Coverage[len(q.Coverage)-1]
			t.hits += last.Hits
			t.of += last.Of
		}
		if q.P == nil {
			continue
		}
		t.tests++
		if *q.P < testLevel {
			t.below++
		}
		if *q.ECDF < testLevel {
			t.ecdf++
		}
	}
}

// armTable has a row for each method, kernel and noise.
func armTable(s *calibration.Summary) (header []string, rows [][]string, left int) {
	header = []string{"method", "kernel", "noise", "cells", "95%", "short", "farther"}
	if s.Uniform {
		header = append(header, "tests", "KS", "ECDF", "chance", "failing")
	}
	for _, t := range tallies(s) {
		row := []string{t.setting.Method, t.setting.Kernel, t.setting.Sensitivity, strconv.Itoa(t.cells), "",
			number(100*float64(t.short)/float64(t.trials), 0) + "%", ""}
		if t.of > 0 {
			row[4] = number(100*float64(t.hits)/float64(t.of), 1)
		}
		if t.beside > 0 {
			row[6] = fmt.Sprintf("%d of %d", t.worse, t.beside)
		}
		if s.Uniform {
			row = append(row, strconv.Itoa(t.tests), strconv.Itoa(t.below), strconv.Itoa(t.ecdf), "<= "+strconv.Itoa(byChance(t.tests)), strconv.Itoa(t.failing))
		}
		rows = append(rows, row)
	}
	return header, rows, 3
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

// armLegend explains armTable.
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
