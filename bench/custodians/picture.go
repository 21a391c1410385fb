package main

import (
	"fmt"
	"image/color"
	"math"
	"os"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Okabe and Ito's colours (2008), as in package report's pictures.
var colours = []color.RGBA{{0, 0, 0, 255}, {213, 94, 0, 255}, {230, 159, 0, 255}, {0, 158, 115, 255}, {0, 114, 178, 255}, {204, 121, 167, 255}, {86, 180, 233, 255}, {120, 120, 120, 255}}

// The size of a panel.
const (
	panelWidth  = 8 * vg.Centimeter
	panelHeight = 6.5 * vg.Centimeter
)

// draw draws the grid: mean squared error above, coverage below, a column for each
// number of custodians.
func draw(path string, all []result) error {
	c := vgsvg.New(vg.Length(len(numbers))*panelWidth, 2*panelHeight)
	area := vgdraw.New(c)
	area.SetColor(color.White)
	area.Fill(area.Rectangle.Path())
	tiles := vgdraw.Tiles{Rows: 2, Cols: len(numbers), PadX: 8, PadY: 8, PadTop: 4, PadBottom: 4, PadLeft: 4, PadRight: 4}
	low, high := math.Inf(1), 0.0
	for _, r := range all {
		low, high = min(low, r.square), max(high, r.square)
	}
	for j, number := range numbers {
		square, err := panel(all, number, func(r result) float64 { return r.square })
		if err != nil {
			return err
		}
		square.Y.Scale, square.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
		square.Y.Min, square.Y.Max = math.Pow(10, math.Floor(math.Log10(low))), math.Pow(10, math.Ceil(math.Log10(high)))
		coverage, err := panel(all, number, func(r result) float64 { return 100 * r.coverage })
		if err != nil {
			return err
		}
		coverage.Y.Min, coverage.Y.Max = 0, 100
		square.Title.Text, square.Y.Label.Text = fmt.Sprintf("J = %d", number), "mean squared error of θ"
		coverage.Y.Label.Text = "coverage of 90 % intervals, %"
		coverage.Legend.Top = false
		square.Legend = plot.NewLegend()
		square.Draw(tiles.At(area, j, 0))
		coverage.Draw(tiles.At(area, j, 1))
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err := c.WriteTo(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// panel has a line for each method.
func panel(all []result, number int, value func(result) float64) (*plot.Plot, error) {
	p := plot.New()
	p.X.Scale = plot.LogScale{}
	p.X.Label.Text = "ε of each custodian"
	var at plot.ConstantTicks
	for _, e := range epsilons {
		at = append(at, plot.Tick{Value: e, Label: fmt.Sprint(e)})
	}
	p.X.Tick.Marker = at
	p.X.Min, p.X.Max = slices.Min(epsilons)/1.2, slices.Max(epsilons)*1.2
	p.Add(plotter.NewGrid())
	var methods []string
	for _, r := range all {
		if !slices.Contains(methods, r.method) {
			methods = append(methods, r.method)
		}
	}
	for i, name := range methods {
		var points plotter.XYs
		for _, r := range all {
			if r.method == name && r.epsilon > 0 && len(r.sites) == number {
				points = append(points, plotter.XY{X: r.epsilon, Y: value(r)})
			}
		}
		if points == nil {
			continue
		}
		line, marks, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, err
		}
		line.Color, marks.Color = colours[i%len(colours)], colours[i%len(colours)]
		marks.Shape = vgdraw.CircleGlyph{}
		p.Add(line, marks)
		p.Legend.Add(name, line, marks)
	}
	return p, nil
}
