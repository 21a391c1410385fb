package main

import (
	"fmt"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/dpreg/dpreg/bench/panels"
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
	styles := panels.Styles(methods...)
	rows := make([][]*plot.Plot, 2)
	for _, number := range numbers {
		square, err := panel(fmt.Sprintf("mean squared error of θ, J = %d", number), styles, all, number, func(r result) float64 { return r.square })
		if err != nil {
			return err
		}
		panels.Logarithmic(square, low, high)
		coverage, err := panel(fmt.Sprintf("coverage of 90 %% intervals, %%, J = %d", number), styles, all, number, func(r result) float64 { return 100 * r.coverage })
		if err != nil {
			return err
		}
		coverage.Y.Min, coverage.Y.Max = 0, 100
		rows[0], rows[1] = append(rows[0], square), append(rows[1], coverage)
	}
	return panels.Write(w, "By ε of each of J custodians", styles, rows)
}

// panel has a line for each method.
func panel(title string, styles []panels.Style, all []result, number int, value func(result) float64) (*plot.Plot, error) {
	p := panels.New(title, epsilons)
	for _, s := range styles {
		var points plotter.XYs
		for _, r := range all {
			if r.method == s.Name && r.epsilon > 0 && len(r.sites) == number {
				points = append(points, plotter.XY{X: r.epsilon, Y: value(r)})
			}
		}
		if err := s.Add(p, points); err != nil {
			return nil, err
		}
	}
	return p, nil
}
