package main

import (
	"fmt"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/dpreg/dpreg/report"
)

// draw draws the grid: mean squared error above, coverage below, a column for each
// number of custodians.
func draw(w io.Writer, all []result) error {
	low, high := math.Inf(1), 0.0
	var methods []string
	for _, r := range all {
		low, high = min(low, r.square), max(high, r.square)
		if !slices.Contains(methods, r.method) {
			methods = append(methods, r.method)
		}
	}
	low, high = math.Pow(10, math.Floor(math.Log10(low))), math.Pow(10, math.Ceil(math.Log10(high)))
	keys := report.SeriesKeys(methods...)
	var squares, coverages []*plot.Plot
	for _, number := range numbers {
		square := panel(fmt.Sprintf("J = %d", number), "mean squared error of θ", keys, all, number, func(r result) float64 { return r.square })
		report.LogY(square, low, high)
		coverage := panel(fmt.Sprintf("J = %d", number), "coverage of 90 % intervals, %", keys, all, number, func(r result) float64 { return 100 * r.coverage })
		coverage.Y.Min, coverage.Y.Max = 0, 100
		squares, coverages = append(squares, square), append(coverages, coverage)
	}
	return report.Panels("custodians", "Error and coverage by ε of each of J custodians", keys, len(numbers), append(squares, coverages...)).Write(w, "svg")
}

// panel has a line for each method.
func panel(title, y string, keys []report.Key, all []result, number int, value func(result) float64) *plot.Plot {
	p := report.Panel(title, "ε", y)
	report.MarkX(p, epsilons)
	for _, k := range keys {
		var points plotter.XYs
		for _, r := range all {
			if r.method == k.Name && r.epsilon > 0 && len(r.sites) == number {
				points = append(points, plotter.XY{X: r.epsilon, Y: value(r)})
			}
		}
		k.Add(p, points)
	}
	return p
}
