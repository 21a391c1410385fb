//go:build unix

package main

import (
	"fmt"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/dpreg/dpreg/report"
)

// draw draws effective draws a CPU second by n: a row of panels for each p, a
// column for each ε.
func (s *settings) draw(w io.Writer, all []outcome) error {
	low, high := s.span(all)
	var drawn []*plot.Plot
	for _, p := range s.covariates {
		for _, epsilon := range s.epsilons {
			panel := s.panel(all, int(p), epsilon)
			report.LogY(panel, low, high)
			drawn = append(drawn, panel)
		}
	}
	return report.Panels("engines", "Effective draws a CPU second of sampling, the smallest over all parameters", keys(), len(s.epsilons), drawn).Write(w, "svg")
}

// span is the range of all rates, in whole powers of ten.
func (s *settings) span(all []outcome) (low, high float64) {
	low, high = math.Inf(1), 1
	for _, o := range all {
		if r := o.least / o.sampling; r > 0 {
			low, high = min(low, r), max(high, r)
		}
	}
	return math.Pow(10, math.Floor(math.Log10(min(low, high)))), math.Pow(10, math.Ceil(math.Log10(high)))
}

// panel has a line for each engine.
func (s *settings) panel(all []outcome, p int, epsilon float64) *plot.Plot {
	panel := report.Panel(fmt.Sprintf("p = %d, ε = %g", p, epsilon), "number of rows n", "draws a second")
	report.MarkX(panel, s.rows)
	for i, k := range keys() {
		var points plotter.XYs
		for _, n := range s.rows {
			if r := rate(find(all, cell{p, int(n), epsilon}, engines[i].name)); r > 0 {
				points = append(points, plotter.XY{X: n, Y: r})
			}
		}
		k.Add(panel, points)
	}
	return panel
}

// keys are those of the engines; the last has another posterior, and dashes.
func keys() []report.Key {
	var names []string
	for _, e := range engines {
		names = append(names, e.name)
	}
	all := report.SeriesKeys(names...)
	all[len(all)-1].Dashes = []vg.Length{3, 2}
	return all
}
