package report

import (
	"fmt"
	"io"
	"math"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/mechanisms/ledger"
)

// mostUsed is how much of a budget is drawn, in percent: a count that does not
// decide may go far beyond all of it.
const mostUsed = 150

// PlotLedger draws how much of a ledger's budget was used at first and after each release, by the
// sum of (ε, δ), by the count of Gaussian noise, and by the lesser of the two, which
// decides. A format that is none of PlotFormats is an error.
func PlotLedger(w io.Writer, h *ledger.History, format string) error {
	uses, err := h.Uses()
	if err != nil {
		return err
	}
	uses = append([]ledger.Use{{Gaussian: math.Inf(1)}}, uses...) // when the ledger was made
	p := newPlot()
	p.X.Label.Text, p.Y.Label.Text = "releases", "used, % of the budget"
	p.X.Tick.Marker = linearTicks{pageRoom, 1}
	end := float64(max(len(uses), 2))
	var keys []Key
	most := 100.0
	for _, l := range useLines {
		points := steps(uses, l.used, end)
		if points == nil {
			continue
		}
		if err := l.Add(p, points); err != nil {
			return fmt.Errorf("plot: %w", err)
		}
		keys, most = append(keys, l.Key), max(most, points[len(points)-1].Y)
	}
	if err := budgetKey.Add(p, plotter.XYs{{X: 0, Y: 100}, {X: end, Y: 100}}); err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, end, 0, min(mostUsed, 1.05*most)
	title := fmt.Sprintf("Privacy budget of %s: ε = %s, δ = %s", h.Budget.Data, custody.Rational(h.Budget.Epsilon), custody.Rational(h.Budget.Delta))
	return alone("ledger", title, p, aloneHeight, append(keys, budgetKey)...).Write(w, format)
}

// budgetKey is of all that there is.
var budgetKey = Key{Name: "the budget", LineStyle: draw.LineStyle{Color: black, Width: 1, Dashes: []vg.Length{2, 3}}}

// useLines are what decides, and over it each count that has a share of the budget.
var useLines = []struct {
	Key
	used func(ledger.Use) float64
}{
	{Key{Name: "the lesser, which decides", LineStyle: draw.LineStyle{Color: lightBlue, Width: 6}}, ledger.Use.Part},
	{Key{Name: "by the sum of (ε, δ)", LineStyle: draw.LineStyle{Color: blue, Width: 1.5}}, func(u ledger.Use) float64 { return u.Sum }},
	{Key{Name: "by the count of Gaussian noise", LineStyle: draw.LineStyle{Color: vermilion, Width: 1.5}}, func(u ledger.Use) float64 { return u.Gaussian }},
}

// steps are what is used after k = 0, 1, … releases, in percent, from the first for which it is finite:
// plotter's own steps are not cut off at the frame.
func steps(uses []ledger.Use, used func(ledger.Use) float64, end float64) (points plotter.XYs) {
	last := 0.0
	for k, u := range uses {
		if math.IsInf(used(u), 1) {
			continue
		}
		x, y := float64(k), 100*used(u)
		points = append(points, plotter.XY{X: x, Y: last}, plotter.XY{X: x, Y: y})
		last = y
	}
	if points != nil {
		points = append(points, plotter.XY{X: end, Y: last})
	}
	return points
}
