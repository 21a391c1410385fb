package report

import (
	"image/color"
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

// Add draws a line in the key's style, with its marks, unless it has no points.
func (k Key) Add(p *plot.Plot, points plotter.XYs) error {
	if len(points) == 0 {
		return nil
	}
	drawn, marks, err := plotter.NewLinePoints(points)
	if err != nil {
		return err
	}
	drawn.LineStyle, marks.GlyphStyle = k.LineStyle, k.mark
	p.Add(drawn)
	if k.mark.Shape != nil {
		p.Add(marks)
	}
	return nil
}

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
	p.X.Padding, p.Y.Padding = 0, 0
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

// The size of a panel: three fit beside each other. One that is alone is twice as wide.
const (
	scenePanelWidth  = 6.6 * vg.Centimeter
	scenePanelHeight = 5.4 * vg.Centimeter
)

// Panels is a figure of plots, in so many columns, below a title and keys.
func Panels(name, title string, keys []Key, columns int, plots []*plot.Plot) *Figure {
	f := &Figure{Name: name, title: title, keys: keys}
	f.arrange(plots, columns)
	return f
}

// arrange takes plots as panels in so many columns.
func (f *Figure) arrange(plots []*plot.Plot, columns int) {
	f.columns = max(1, min(columns, len(plots)))
	for _, p := range plots {
		f.panels = append(f.panels, panel{plot: p, width: scenePanelWidth, height: scenePanelHeight})
	}
	if f.whole = len(plots) == 1; f.whole {
		f.panels[0].width, f.panels[0].height = 2*scenePanelWidth, 1.3*scenePanelHeight
	}
}
