package report

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/dpreg/dpreg/mechanisms/ledger"
)

const (
	ledgerWidth  = 18 * vg.Centimeter
	ledgerHeight = 11 * vg.Centimeter
)

// mostUsed is how much of a budget is drawn, in percent: a count that does not
// decide may go far beyond all of it.
const mostUsed = 150

// PlotLedger draws how much of a ledger's budget was used after each release, by the
// sum of (ε, δ), by the count of Gaussian noise, and by the lesser of the two, which
// decides. A format that is none of PlotFormats is an error.
func PlotLedger(w io.Writer, h *ledger.History, format string) error {
	uses, err := h.Uses()
	if err != nil {
		return err
	}
	p := newPlot()
	p.Title.Text = fmt.Sprintf("Privacy budget of %s: ε = %s, δ = %s", truncate(h.Budget.Data, 40), Rational(h.Budget.Epsilon), Rational(h.Budget.Delta))
	p.Title.Padding = vg.Points(6)
	p.X.Label.Text, p.Y.Label.Text = "releases", "used, % of the budget"
	p.X.Tick.Marker = plot.TickerFunc(wholeTicks)
	p.Legend.Top, p.Legend.Left, p.Legend.Padding = true, true, vg.Points(2)
	p.Legend.XOffs, p.Legend.YOffs = vg.Points(4), -vg.Points(2)
	end := float64(len(uses)) + 0.5
	if err := addUses(p, uses, end); err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	all, err := plotter.NewLine(plotter.XYs{{X: 0, Y: 100}, {X: end, Y: 100}})
	if err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	all.Color, all.Dashes = black, []vg.Length{vg.Points(2), vg.Points(3)}
	p.Add(all)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, end, 0, mostUsed
	return drawing{ledgerWidth, ledgerHeight, p.Draw}.write(w, format)
}

// addUses draws a line for what decides, and over it one for each count that has a
// share of the budget.
func addUses(p *plot.Plot, uses []ledger.Use, end float64) error {
	for _, line := range []struct {
		name  string
		used  func(ledger.Use) float64
		color color.Color
		width vg.Length
	}{
		{"the lesser, which decides", ledger.Use.Part, lightBlue, 6},
		{"by the sum of (ε, δ)", func(u ledger.Use) float64 { return u.Sum }, blue, 1.5},
		{"by the count of Gaussian noise", func(u ledger.Use) float64 { return u.Gaussian }, vermilion, 1.5},
	} {
		points := steps(uses, line.used, end)
		if points == nil {
			continue
		}
		drawn, err := plotter.NewLine(points)
		if err != nil {
			return err
		}
		drawn.Color, drawn.Width = line.color, line.width
		p.Add(drawn)
		p.Legend.Add(line.name, drawn)
	}
	return nil
}

// steps are what is used, in percent, from the first release for which it is finite:
// plotter's own steps are not cut off at the frame.
func steps(uses []ledger.Use, used func(ledger.Use) float64, end float64) (points plotter.XYs) {
	last := 0.0
	for k, u := range uses {
		if math.IsInf(used(u), 1) {
			continue
		}
		x, y := float64(k+1), 100*used(u)
		points = append(points, plotter.XY{X: x, Y: last}, plotter.XY{X: x, Y: y})
		last = y
	}
	if points != nil {
		points = append(points, plotter.XY{X: end, Y: last})
	}
	return points
}
