//go:build unix

package main

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The engines' colours are of Okabe and Ito's (2008), as in package report's pictures.
var (
	colours = []color.RGBA{{0, 114, 178, 255}, {0, 158, 115, 255}, {213, 94, 0, 255}, {204, 121, 167, 255}}
	marks   = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, draw.CrossGlyph{}}
	grid    = color.RGBA{225, 225, 225, 255}
)

// The size of a panel, and of the key over all.
const (
	panelWidth  = 6.2 * vg.Centimeter
	panelHeight = 4.2 * vg.Centimeter
	keyHeight   = 36
)

// draw draws effective draws a CPU second by n: a row of panels for each p, a
// column for each ε.
func (s *settings) draw(w io.Writer, all []outcome) error {
	width, height := vg.Length(len(s.epsilons))*panelWidth, vg.Length(len(s.covariates))*panelHeight+keyHeight
	c := vgsvg.New(width, height)
	area := draw.New(c)
	area.SetColor(color.White)
	area.Fill(area.Rectangle.Path())
	low, high := s.span(all)
	for i, p := range s.covariates {
		for j, epsilon := range s.epsilons {
			panel, err := s.panel(all, int(p), epsilon)
			if err != nil {
				return err
			}
			panel.Y.Min, panel.Y.Max = low, high
			x, y := vg.Length(j)*panelWidth, height-keyHeight-vg.Length(i+1)*panelHeight
			panel.Draw(draw.Crop(area, x+3, x+panelWidth-width-6, y+3, y+panelHeight-height-3))
		}
	}
	drawKey(area)
	var picture bytes.Buffer
	if _, err := c.WriteTo(&picture); err != nil {
		return err
	}
	_, err := w.Write(bytes.ReplaceAll(picture.Bytes(), []byte("font-family:Liberation Sans"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif")))
	return err
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
func (s *settings) panel(all []outcome, p int, epsilon float64) (*plot.Plot, error) {
	panel := newPlot()
	panel.Title.Text = fmt.Sprintf("p = %d, ε = %g", p, epsilon)
	panel.X.Scale, panel.Y.Scale = plot.LogScale{}, plot.LogScale{}
	panel.Y.Tick.Marker = powers{}
	var at plot.ConstantTicks
	for _, n := range s.rows {
		at = append(at, plot.Tick{Value: n, Label: fmt.Sprint(n)})
		panel.X.Min, panel.X.Max = min(panel.X.Min, n/1.5), max(panel.X.Max, n*1.5)
	}
	panel.X.Tick.Marker = at
	lines := plotter.NewGrid()
	lines.Horizontal.Color, lines.Vertical.Color = grid, grid
	panel.Add(lines)
	for i, e := range engines {
		var points plotter.XYs
		for _, n := range s.rows {
			if r := rate(find(all, cell{p, int(n), epsilon}, e.name)); r > 0 {
				points = append(points, plotter.XY{X: n, Y: r})
			}
		}
		if points == nil {
			continue
		}
		line, glyphs, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, err
		}
		line.LineStyle, glyphs.GlyphStyle = style(i)
		panel.Add(line, glyphs)
	}
	return panel, nil
}

// style is that of the i-th engine; the last has another posterior, and dashes.
func style(i int) (draw.LineStyle, draw.GlyphStyle) {
	line := draw.LineStyle{Color: colours[i], Width: 1.4}
	if i == len(engines)-1 {
		line.Dashes = []vg.Length{3, 2}
	}
	return line, draw.GlyphStyle{Color: colours[i], Radius: 2.2, Shape: marks[i]}
}

// drawKey says what is drawn, and names the engines.
func drawKey(c draw.Canvas) {
	words := newPlot().Legend.TextStyle
	words.YAlign = draw.YCenter
	x, y := vg.Length(8), c.Max.Y-keyHeight/3
	c.FillText(words, vg.Point{X: x, Y: y}, "Effective draws a CPU second, the smallest over all parameters, by n")
	y -= keyHeight / 3
	for i, e := range engines {
		line, glyph := style(i)
		c.StrokeLine2(line, x, y, x+20, y)
		c.DrawGlyph(glyph, vg.Point{X: x + 10, Y: y})
		c.FillText(words, vg.Point{X: x + 25, Y: y}, e.name)
		x += words.Width(e.name) + 38
	}
}

// powers marks the powers of ten.
type powers struct{}

func (powers) Ticks(low, high float64) (ticks []plot.Tick) {
	for v := low; v <= high*1.01; v *= 10 {
		ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprintf("%.7g", v)})
	}
	return ticks
}

// newPlot returns a plot with small sans-serif letters.
func newPlot() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, t := range []*text.Style{&p.Title.TextStyle, &p.Legend.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label} {
		t.Font = font.From(plot.DefaultFont, 8)
		t.Font.Variant = "Sans"
	}
	return p
}
