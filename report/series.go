package report

import (
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Key says what a line, a tint or a mark of a figure stands for.
type Key struct {
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

// SeriesKeys gives each series its colour and mark, in order; after eight they begin
// again.
func SeriesKeys(names ...string) []Key {
	keys := make([]Key, len(names))
	for i, name := range names {
		colour := seriesColours[i%len(seriesColours)]
		keys[i] = Key{name, draw.LineStyle{Color: colour, Width: 1.6}, draw.GlyphStyle{Color: colour, Radius: 2.4, Shape: seriesMarks[i%len(seriesMarks)]}}
	}
	return keys
}

// Add draws a line in the key's style, with its marks, through those of the points that are
// finite.
func (k Key) Add(p *plot.Plot, points plotter.XYs) {
	points = slices.DeleteFunc(slices.Clone(points), func(at plotter.XY) bool { return !isFinite(at.X) || !isFinite(at.Y) })
	if len(points) == 0 {
		return
	}
	p.Add(&plotter.Line{XYs: points, LineStyle: k.LineStyle})
	if k.mark.Shape != nil {
		p.Add(&plotter.Scatter{XYs: points, GlyphStyle: k.mark})
	}
}

func isFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// The lines that values are seen against: what is expected of them, and 0.
var (
	straight = Key{LineStyle: draw.LineStyle{Color: grey, Width: 1}}
	zeroLine = Key{LineStyle: draw.LineStyle{Color: middleGrey, Width: 0.8}}
)

// upright draws a line at x, as high as the panel is.
func upright(p *plot.Plot, x float64) {
	zeroLine.Add(p, plotter.XYs{{X: x, Y: p.Y.Min}, {X: x, Y: p.Y.Max}})
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
func (m *measured) draw(p *plot.Plot, k Key) {
	k.Add(p, m.XYs)
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
	return shortNames(Panel("", "", "").Title.TextStyle, titleWidth, names...)
}

// Panel is an empty plot with a name and named axes, to which keys add lines.
func Panel(name, x, y string) *plot.Plot {
	p := newPlot()
	p.Title.Padding, p.Title.TextStyle.Font = 3, sans(10)
	p.Title.Text = strings.Join(folded(p.Title.TextStyle, name, titleWidth), "\n")
	p.X.Label.Text, p.Y.Label.Text = x, y
	p.X.Label.TextStyle.Font, p.Y.Label.TextStyle.Font = sans(9), sans(9)
	p.X.Padding, p.Y.Padding = 2, 0
	return p
}

// MarkX makes the x axis of a panel a logarithmic one that marks values, in ascending
// order.
func MarkX(p *plot.Plot, values []float64) { markValues(p, values, namesRoom, 1.4) }

// LogY makes the y axis of a panel a logarithmic one, from low to high.
func LogY(p *plot.Plot, low, high float64) {
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, logTicks{pageRoom}
	p.Y.Min, p.Y.Max = low, high
}

// Panels is a figure of plots, in so many columns, below a title and keys.
func Panels(name, title string, keys []Key, columns int, plots []*plot.Plot) *Figure {
	f := &Figure{Name: name, title: title, keys: keys}
	f.arrange(plots, columns)
	return f
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
