package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Figure is one kind of picture: panels, and what they have in common. A file shows it
// whole, and a page panel by panel.
type Figure struct {
	Name    string // such as posterior: a file's, without its extension
	title   string
	caption string // of a page
	note    string // what is left out, in a file and on a page; empty: nothing
	keys    []Key
	panels  []panel
	columns int  // of panels in a file; 0: as many as look well
	whole   bool // on a page, too: panels belong together, or there is but one
}

// panel is one plot of a figure.
type panel struct {
	plot          *plot.Plot
	width, height vg.Length
}

// The size of a panel, three of which a printed page has beside each other in letters
// that can be read, and of one that is alone.
const (
	panelWidth  = 7 * vg.Centimeter
	panelHeight = 5.2 * vg.Centimeter
	aloneWidth  = 17.5 * vg.Centimeter
	aloneHeight = 9.5 * vg.Centimeter
)

func newPanel(p *plot.Plot) panel { return panel{plot: p, width: panelWidth, height: panelHeight} }

// alone is a figure of one panel.
func alone(name, title string, p *plot.Plot, height vg.Length, keys ...Key) *Figure {
	return &Figure{Name: name, title: title, keys: keys, panels: []panel{{p, aloneWidth, height}}, whole: true}
}

// The room of a Y axis's name, and the part of a panel's height that it may take.
const (
	nameRoom = 17
	nameLong = 0.7
)

// draw draws the plot, with the name of its Y axis beside it, or above it where it is
// long: gonum makes room for that name as if it began at the middle of the axis.
func (p panel) draw(c draw.Canvas) {
	name, style := p.plot.Y.Label.Text, p.plot.Y.Label.TextStyle
	if name == "" {
		p.plot.Draw(c)
		return
	}
	p.plot.Y.Label.Text = ""
	style.XAlign, style.YAlign = draw.XLeft, draw.YTop
	if at := (vg.Point{X: c.Min.X, Y: c.Max.Y}); style.Width(name) > nameLong*p.height {
		c.FillText(style, at, name)
		c.Max.Y -= nameRoom + 2
	} else {
		style.XAlign, style.Rotation = draw.XCenter, math.Pi/2
		at.Y = c.Center().Y
		c.FillText(style, at, name)
		c.Min.X += nameRoom
	}
	p.plot.Draw(c)
	p.plot.Y.Label.Text = name
}

// The parts of a file that are no panels.
const (
	keyLine    = 24 // length of a sample
	keyGap     = 16
	panelGap   = 10
	mostAcross = 4 // panels in a row
)

// Write draws the figure in a format of PlotFormats, with a title, a legend and what is
// left out over the panels.
func (f *Figure) Write(w io.Writer, format string) error {
	body := f.body()
	head := f.head(body.width)
	d := drawing{body.width, head.height + body.height, func(c draw.Canvas) {
		head.draw(c)
		body.draw(draw.Crop(c, 0, 0, 0, -head.height))
	}}
	if err := d.write(w, format); err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	return nil
}

// body draws the panels in rows.
func (f *Figure) body() drawing {
	columns := f.columns
	if columns == 0 {
		columns = min(len(f.panels), mostAcross, max(2, int(math.Ceil(math.Sqrt(float64(len(f.panels)))))))
	}
	rows := (len(f.panels) + columns - 1) / columns
	wide, high := f.panels[0].width+panelGap, f.panels[0].height+panelGap
	return drawing{vg.Length(columns)*wide + panelGap, vg.Length(rows)*high + panelGap/2, func(c draw.Canvas) {
		for i, p := range f.panels {
			x, y := c.Min.X+vg.Length(i%columns)*wide+panelGap, c.Max.Y-vg.Length(i/columns+1)*high+panelGap/2
			p.draw(draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
				Min: vg.Point{X: x, Y: y}, Max: vg.Point{X: x + p.width, Y: y + p.height},
			}})
		}
	}}
}

// head draws title, keys and note, each in as many lines as it takes, on top of a canvas
// that is so wide.
func (f *Figure) head(width vg.Length) drawing {
	heading, words, small := newPlot().Title.TextStyle, newPlot().Legend.TextStyle, newPlot().X.Tick.Label
	small.Color = grey
	top := vg.Length(panelGap)
	var parts []func(draw.Canvas)
	text := func(style text.Style, line string, height vg.Length) {
		style.XAlign, style.YAlign = draw.XLeft, draw.YCenter
		y := top + height/2
		parts = append(parts, func(c draw.Canvas) { c.FillText(style, vg.Point{X: panelGap, Y: c.Max.Y - y}, line) })
		top += height
	}
	for _, line := range folded(heading, f.title, width-2*panelGap) {
		text(heading, line, 17)
	}
	words.YAlign = draw.YCenter
	for _, line := range keyLines(words, f.keys, width-2*panelGap) {
		y := top + 11
		parts = append(parts, func(c draw.Canvas) { line.draw(c, words, c.Max.Y-y) })
		top += 18
	}
	if f.note != "" {
		top += 3
		for _, line := range folded(small, f.note, width-2*panelGap) {
			text(small, line, 12)
		}
	}
	return drawing{width, top + 4, func(c draw.Canvas) {
		for _, part := range parts {
			part(c)
		}
	}}
}

// keysInLine is a line of the legend.
type keysInLine []Key

// keyLines breaks a legend into lines of a width.
func keyLines(style text.Style, keys []Key, width vg.Length) (lines []keysInLine) {
	used := width
	for _, k := range keys {
		if used+k.width(style)-keyGap > width || lines == nil {
			lines, used = append(lines, nil), 0
		}
		lines[len(lines)-1] = append(lines[len(lines)-1], k)
		used += k.width(style)
	}
	return lines
}

// width is that of a key and of the gap after it.
func (k Key) width(style text.Style) vg.Length { return keyLine + 5 + style.Width(k.Name) + keyGap }

func (l keysInLine) draw(c draw.Canvas, style text.Style, y vg.Length) {
	x := c.Min.X + panelGap
	for _, k := range l {
		if k.LineStyle.Color != nil {
			c.StrokeLine2(k.LineStyle, x, y, x+keyLine, y)
		}
		if k.mark.Shape != nil {
			c.DrawGlyph(k.mark, vg.Point{X: x + keyLine/2, Y: y})
		}
		c.FillText(style, vg.Point{X: x + keyLine + 5, Y: y}, k.Name)
		x += k.width(style)
	}
}

// folded breaks a text into lines of a width: between words, and where one is wider as fold
// does.
func folded(style text.Style, words string, width vg.Length) (lines []string) {
	for _, word := range strings.Fields(words) {
		last := len(lines) - 1
		if last >= 0 && style.Width(lines[last]+" "+word) <= width {
			lines[last] += " " + word
			continue
		}
		rest := []rune(word)
		for style.Width(string(rest)) > width && len(rest) > 1 {
			fits := len(rest) - 1
			for fits > 1 && style.Width(string(rest[:fits])) > width {
				fits--
			}
			at := foldAt(rest, fits)
			lines, rest = append(lines, string(rest[:at])), rest[at:]
		}
		lines = append(lines, string(rest))
	}
	return lines
}
