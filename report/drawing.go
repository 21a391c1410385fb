package report

import (
	"fmt"
	"html"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// PlotFormats are the formats of pictures, and the extensions of their files.
var PlotFormats = []string{"svg", "png"}

// resolution of a PNG, in dots per inch: enough for print.
const resolution = 192

// svgFonts are for viewers that lack Liberation Sans: Arial and Helvetica have its
// widths, so that what was laid out with one stands with the others.
const svgFonts = "font-family:Liberation Sans,Arial,Helvetica,sans-serif"

// drawing is something to draw on a canvas of a size.
type drawing struct {
	width, height vg.Length
	draw          func(draw.Canvas)
}

// write draws in a format of PlotFormats, on white.
func (d drawing) write(w io.Writer, format string) error {
	if !slices.Contains(PlotFormats, format) {
		return fmt.Errorf("plot: format %q is none of %s", format, strings.Join(PlotFormats, ", "))
	}
	if format == "png" {
		c := vgimg.NewWith(vgimg.UseWH(d.width, d.height), vgimg.UseDPI(resolution))
		d.draw(draw.New(c))
		_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(w)
		return err
	}
	picture, err := d.svg(true)
	if err == nil {
		_, err = io.WriteString(w, picture)
	}
	return err
}

// svg draws on white, or on nothing.
func (d drawing) svg(ground bool) (string, error) {
	c := vgsvg.New(d.width, d.height)
	area := draw.New(c)
	if ground {
		area.SetColor(white)
		area.Fill(area.Rectangle.Path())
	}
	d.draw(area)
	var b strings.Builder
	if _, err := c.WriteTo(&b); err != nil {
		return "", err
	}
	text := strings.ReplaceAll(b.String(), "font-family:Liberation Sans", svgFonts)
	return svgText.ReplaceAllStringFunc(text, withLength), nil
}

// svgText is a text of vgsvg: its attributes, the font's size, and what it says.
var svgText = regexp.MustCompile(`<text ([^>]*font-size:([0-9.]+)px[^>]*)>([^<]*)</text>`)

// withLength tells a viewer how long a text was laid out, so that one that has none
// of the fonts fits its own into the room.
func withLength(text string) string {
	part := svgText.FindStringSubmatch(text)
	size, err := strconv.ParseFloat(part[2], 64)
	if err != nil {
		return text
	}
	style := newPlot().Title.TextStyle
	style.Font = sans(vg.Points(size))
	return fmt.Sprintf(`<text textLength="%.1f" lengthAdjust="spacingAndGlyphs" %s>%s</text>`, style.Width(html.UnescapeString(part[3])).Points(), part[1], part[3])
}

// sans is the font of pictures.
func sans(size vg.Length) font.Font {
	f := font.From(plot.DefaultFont, size)
	f.Variant = "Sans"
	return f
}

// newPlot returns a plot in the font of pictures, without a ground of its own.
func newPlot() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, s := range []struct {
		style *text.Style
		size  vg.Length
	}{
		{&p.Title.TextStyle, 12}, {&p.Legend.TextStyle, 10},
		{&p.X.Label.TextStyle, 10}, {&p.X.Tick.Label, 9}, {&p.Y.Label.TextStyle, 10}, {&p.Y.Tick.Label, 9},
	} {
		s.style.Font = sans(s.size)
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = linearTicks{room: panelRoom}, linearTicks{room: pageRoom}
	p.Add(room{})
	return p
}

// room keeps the labels of the X axis inside the panel on the left, as plot does on
// the right.
type room struct{}

// Plot implements plot.Plotter, and draws nothing.
func (room) Plot(draw.Canvas, *plot.Plot) {}

// GlyphBoxes implements plot.GlyphBoxer.
func (room) GlyphBoxes(p *plot.Plot) []plot.GlyphBox {
	var boxes []plot.GlyphBox
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if !t.IsMinor() {
			boxes = append(boxes, plot.GlyphBox{X: p.X.Norm(t.Value), Rectangle: vg.Rectangle{
				Min: vg.Point{X: -p.X.Tick.Label.Width(t.Label) / 2}, Max: vg.Point{X: p.X.Tick.Label.Width(t.Label) / 2},
			}})
		}
	}
	return boxes
}
