// Package panels draws the pictures of comparisons: a grid of panels under a key, a
// line for each of the methods that are compared.
package panels

import (
	"bytes"
	"fmt"
	"image/color"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The colours are of Okabe and Ito's (2008), as in package report's pictures.
var (
	colours = []color.RGBA{{0, 114, 178, 255}, {0, 158, 115, 255}, {213, 94, 0, 255}, {204, 121, 167, 255}, {230, 159, 0, 255}, {86, 180, 233, 255}, {0, 0, 0, 255}, {120, 120, 120, 255}}
	marks   = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, draw.CrossGlyph{}, draw.RingGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.PlusGlyph{}}
	grid    = color.RGBA{225, 225, 225, 255}
)

// The size of a panel, and of a line of the key over all.
const (
	width     = 6.2 * vg.Centimeter
	height    = 4.2 * vg.Centimeter
	keyHeight = 12
)

// Style is how a method is drawn.
type Style struct {
	Name   string
	number int
	dashed bool
}

// Styles gives each method its colour and mark, in order.
func Styles(names ...string) []Style {
	styles := make([]Style, len(names))
	for i, name := range names {
		styles[i] = Style{Name: name, number: i % len(colours)}
	}
	return styles
}

// Dashed is s with a dashed line.
func (s Style) Dashed() Style {
	s.dashed = true
	return s
}

func (s Style) line() draw.LineStyle {
	line := draw.LineStyle{Color: colours[s.number], Width: 1.4}
	if s.dashed {
		line.Dashes = []vg.Length{3, 2}
	}
	return line
}

func (s Style) glyph() draw.GlyphStyle {
	return draw.GlyphStyle{Color: colours[s.number], Radius: 2.2, Shape: marks[s.number]}
}

// New returns a panel with a grid, small sans-serif letters and a logarithmic x axis
// that is marked at these values.
func New(title string, at []float64) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, t := range []*text.Style{&p.Title.TextStyle, &p.Legend.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label} {
		t.Font = font.From(plot.DefaultFont, 8)
		t.Font.Variant = "Sans"
	}
	p.Title.Text = title
	p.X.Scale = plot.LogScale{}
	var ticks plot.ConstantTicks
	for _, x := range at {
		ticks = append(ticks, plot.Tick{Value: x, Label: fmt.Sprint(x)})
		p.X.Min, p.X.Max = min(p.X.Min, x/1.5), max(p.X.Max, x*1.5)
	}
	p.X.Tick.Marker = ticks
	lines := plotter.NewGrid()
	lines.Horizontal.Color, lines.Vertical.Color = grid, grid
	p.Add(lines)
	return p
}

// Logarithmic makes the y axis of a panel one from low to high, marked at powers of
// ten; low is one.
func Logarithmic(p *plot.Plot, low, high float64) {
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, powers{}
	p.Y.Min, p.Y.Max = low, high
}

type powers struct{}

func (powers) Ticks(low, high float64) (ticks []plot.Tick) {
	for v := low; v <= high*1.01; v *= 10 {
		ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprintf("%.7g", v)})
	}
	return ticks
}

// Add adds a method's line to a panel, unless it has no points.
func (s Style) Add(p *plot.Plot, points plotter.XYs) error {
	if points == nil {
		return nil
	}
	line, glyphs, err := plotter.NewLinePoints(points)
	if err != nil {
		return err
	}
	line.LineStyle, glyphs.GlyphStyle = s.line(), s.glyph()
	p.Add(line, glyphs)
	return nil
}

// Write writes an SVG picture: the title, the key, and the panels row by row.
func Write(w io.Writer, title string, key []Style, rows [][]*plot.Plot) error {
	words := plot.New().Legend.TextStyle
	words.Font = font.From(plot.DefaultFont, 8)
	words.Font.Variant, words.YAlign = "Sans", draw.YCenter
	wide := vg.Length(len(rows[0])) * width
	lines := keyLines(words, key, wide)
	top := vg.Length(len(lines)+1)*keyHeight + keyHeight
	high := vg.Length(len(rows))*height + top
	c := vgsvg.New(wide, high)
	area := draw.New(c)
	area.SetColor(color.White)
	area.Fill(area.Rectangle.Path())
	for i, row := range rows {
		for j, panel := range row {
			x, y := vg.Length(j)*width, high-top-vg.Length(i+1)*height
			panel.Draw(draw.Crop(area, x+3, x+width-wide-6, y+3, y+height-high-3))
		}
	}
	y := area.Max.Y - keyHeight
	area.FillText(words, vg.Point{X: 8, Y: y}, title)
	for _, line := range lines {
		y -= keyHeight
		x := vg.Length(8)
		for _, s := range line {
			area.StrokeLine2(s.line(), x, y, x+20, y)
			area.DrawGlyph(s.glyph(), vg.Point{X: x + 10, Y: y})
			area.FillText(words, vg.Point{X: x + 25, Y: y}, s.Name)
			x += keyWidth(words, s)
		}
	}
	var picture bytes.Buffer
	if _, err := c.WriteTo(&picture); err != nil {
		return err
	}
	_, err := w.Write(bytes.ReplaceAll(picture.Bytes(), []byte("font-family:Liberation Sans"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif")))
	return err
}

// keyLines breaks the key into lines that are as wide as the picture at most.
func keyLines(words text.Style, key []Style, wide vg.Length) (lines [][]Style) {
	x := wide
	for _, s := range key {
		if x+keyWidth(words, s) > wide {
			lines, x = append(lines, nil), 8
		}
		last := len(lines) - 1
		lines[last] = append(lines[last], s)
		x += keyWidth(words, s)
	}
	return lines
}

// keyWidth has room for the name in the sans-serif font that a browser takes where it
// has none of those named; DejaVu Sans and Verdana are a sixth wider.
func keyWidth(words text.Style, s Style) vg.Length { return 1.2*words.Width(s.Name) + 38 }
