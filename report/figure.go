package report

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
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
	keys    []key
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

func alone(name, title string, p *plot.Plot, height vg.Length, keys ...key) *Figure {
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
type keysInLine []key

// keyLines breaks a legend into lines of a width.
func keyLines(style text.Style, keys []key, width vg.Length) (lines []keysInLine) {
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
func (k key) width(style text.Style) vg.Length { return keyLine + 5 + style.Width(k.Name) + keyGap }

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

// key says what a line, a tint or a mark of a figure stands for.
type key struct {
	Name string
	draw.LineStyle
	mark draw.GlyphStyle // upon the line; its Shape is nil where there is none
}

var (
	// seriesColours are those of lines, chains and so on, in this order.
	seriesColours = []color.RGBA{blue, vermilion, green, purple, orange, sky, black, grey}
	// seriesMarks tell them apart where colours do not.
	seriesMarks = []draw.GlyphDrawer{
		draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, draw.RingGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.CrossGlyph{}, draw.PlusGlyph{},
	}
)

// seriesKeys gives each series its colour and mark, in order; after eight they begin
// again.
func seriesKeys(names ...string) []key {
	keys := make([]key, len(names))
	for i, name := range names {
		colour := seriesColours[i%len(seriesColours)]
		keys[i] = key{name, draw.LineStyle{Color: colour, Width: 1.6}, draw.GlyphStyle{Color: colour, Radius: 2.4, Shape: seriesMarks[i%len(seriesMarks)]}}
	}
	return keys
}

// add draws a line in the key's style, with its marks, through those of the points that are
// finite.
func (k key) add(p *plot.Plot, points plotter.XYs) {
	points = slices.DeleteFunc(slices.Clone(points), func(at plotter.XY) bool { return at.X-at.X != 0 || at.Y-at.Y != 0 })
	if len(points) == 0 {
		return
	}
	p.Add(&plotter.Line{XYs: points, LineStyle: k.LineStyle})
	if k.mark.Shape != nil {
		p.Add(&plotter.Scatter{XYs: points, GlyphStyle: k.mark})
	}
}

// The lines that values are seen against: what is expected of them, and 0.
var (
	straight = key{LineStyle: draw.LineStyle{Color: grey, Width: 1}}
	zeroLine = key{LineStyle: draw.LineStyle{Color: middleGrey, Width: 0.8}}
)

// upright draws a line at x, as high as the panel is.
func upright(p *plot.Plot, x float64) {
	zeroLine.add(p, plotter.XYs{{X: x, Y: p.Y.Min}, {X: x, Y: p.Y.Max}})
}

// fill tints what an outline holds.
func fill(p *plot.Plot, outline plotter.XYs, colour color.Color) {
	p.Add(&plotter.Polygon{XYs: []plotter.XYs{outline}, Color: colour})
}

// measured is a line of values with an interval about each.
type measured struct {
	plotter.XYs
	plotter.YErrors
}

func (m *measured) add(x, y, low, high float64) {
	m.XYs = append(m.XYs, plotter.XY{X: x, Y: y})
	m.YErrors = append(m.YErrors, struct{ Low, High float64 }{y - low, high - y})
}

// draw adds a series to a plot, with bars where there is any error.
func (m *measured) draw(p *plot.Plot, k key) {
	k.add(p, m.XYs)
	if slices.ContainsFunc(m.YErrors, func(e struct{ Low, High float64 }) bool { return e.Low > 0 || e.High > 0 }) {
		p.Add(&plotter.YErrorBars{XYs: m.XYs, YErrors: m.YErrors, LineStyle: draw.LineStyle{Color: k.Color, Width: 0.8}, CapWidth: 4})
	}
}

// bars are intervals, each a thin bar, a thick one in its middle and a mark. They are drawn as
// far as the panel goes: a mark that lies beyond its left edge is a ring there.
type bars struct {
	wide, half draw.LineStyle
	mark       draw.GlyphStyle
	all        []bar
}

// bar is an interval, one within it, and a value, at a height.
type bar struct{ y, low, high, lower, upper, at float64 }

// Plot implements plot.Plotter.
func (b *bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	inside := func(v float64) vg.Length { return x(min(p.X.Max, max(p.X.Min, v))) }
	for _, a := range b.all {
		c.StrokeLine2(b.wide, inside(a.low), y(a.y), inside(a.high), y(a.y))
		if b.half.Width > 0 {
			c.StrokeLine2(b.half, inside(a.lower), y(a.y), inside(a.upper), y(a.y))
		}
		mark := b.mark
		if a.at < p.X.Min {
			mark.Shape = draw.RingGlyph{}
		}
		c.DrawGlyph(mark, vg.Point{X: inside(a.at), Y: y(a.y)})
	}
}

// nameRows gives the Y axis a row for each name, from 0 down.
func nameRows(p *plot.Plot, names []string) {
	ticks := make(plot.ConstantTicks, len(names))
	for i, name := range names {
		ticks[i] = plot.Tick{Value: -float64(i), Label: name}
	}
	p.Y.Tick.Marker, p.Y.Tick.Length = ticks, 0
	p.Y.Min, p.Y.Max = 0.4-float64(len(names)), 0.6
}

// The keys of intervals of a posterior, or of replicates.
var (
	wideLine = draw.LineStyle{Color: lightBlue, Width: 3}
	halfLine = draw.LineStyle{Color: blue, Width: 8}
	barMark  = draw.GlyphStyle{Color: vermilion, Radius: 3, Shape: draw.CircleGlyph{}}
)

// titleWidth is that of a panel's name.
const titleWidth = 0.85 * panelWidth

// titles are short names for panels that have them all.
func titles(names ...string) map[string]string {
	return shortNames(axes("", "", "").Title.TextStyle, titleWidth, names...)
}

// axes is an empty plot with a name and named axes, to which keys add lines.
func axes(name, x, y string) *plot.Plot {
	p := newPlot()
	p.Title.Padding, p.Title.TextStyle.Font = 3, sans(10)
	p.Title.Text = strings.Join(folded(p.Title.TextStyle, name, titleWidth), "\n")
	p.X.Label.Text, p.Y.Label.Text = x, y
	p.X.Label.TextStyle.Font, p.Y.Label.TextStyle.Font = sans(9), sans(9)
	p.X.Padding, p.Y.Padding = 2, 0
	return p
}

// logY makes the y axis of a panel a logarithmic one, from low to high.
func logY(p *plot.Plot, low, high float64) {
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, logTicks{pageRoom}
	p.Y.Min, p.Y.Max = low, high
}

// arrange takes plots as panels in so many columns; one that is alone is twice as wide.
func (f *Figure) arrange(plots []*plot.Plot, columns int) {
	f.columns = max(1, min(columns, len(plots)))
	for _, p := range plots {
		f.panels = append(f.panels, newPanel(p))
	}
	if f.whole = len(plots) == 1; f.whole {
		f.panels[0].width, f.panels[0].height = 2*panelWidth, 1.4*panelHeight
	}
}
