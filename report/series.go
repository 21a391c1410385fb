package report

import (
	"image/color"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

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

// The characters that labels have room for along the axis of a panel, of a small one or
// one with names beside it, and of one as wide as a page; the most labels of an axis.
const (
	panelRoom  = 40
	namesRoom  = 26
	pageRoom   = 80
	mostLabels = 6
)

// linearTicks marks multiples of 1, 2 or 5 times a power of ten: as many as have room,
// and at least two, unless they would be closer than least. A range that is nothing
// beside its place has none.
type linearTicks struct {
	room  int
	least float64
}

// Ticks implements plot.Ticker.
func (t linearTicks) Ticks(low, high float64) (ticks []plot.Tick) {
	if !(high-low > 1e-9*max(-low, high)) || math.IsInf(high-low, 0) {
		return nil
	}
	for e := math.Ceil(math.Log10(high - low)); ; e-- {
		for _, m := range []float64{5, 2, 1} {
			finer := labelled(multiples(m, int(e), low, high))
			if len(ticks) >= 2 && !hold(finer, t.room) || m*math.Pow10(int(e)) < t.least {
				return ticks
			}
			if ticks = finer; len(ticks) > 2 && !hold(ticks, t.room) {
				for i := 1; i < len(ticks); i += 2 {
					ticks[i].Label = ""
				}
				return ticks
			}
		}
	}
}

// hold tells whether labels have room beside each other.
func hold(ticks []plot.Tick, room int) bool {
	used := 0
	for _, tick := range ticks {
		used += utf8.RuneCountInString(tick.Label) + 2
	}
	return len(ticks) <= mostLabels && used <= room
}

// multiples are those of m·10^e from low to high.
func multiples(m float64, e int, low, high float64) (values []float64) {
	step := m * math.Pow10(e)
	for k := math.Ceil(low/step - 1e-9); k*step <= high+1e-9*step; k++ {
		// Twelve digits leave out the rounding of the product.
		v, _ := strconv.ParseFloat(strconv.FormatFloat(k*step, 'g', 12, 64), 64)
		values = append(values, v+0) // no -0
	}
	return values
}

// logTicks marks 1, 2 and 5 times the powers of ten, or powers of ten, every one or
// fewer of them; on a range that has fewer than two of these, what linearTicks does.
type logTicks struct{ room int }

// Ticks implements plot.Ticker.
func (t logTicks) Ticks(low, high float64) []plot.Tick {
	first, last := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))
	for skip := 0; skip <= int(last-first); skip++ {
		var values []float64
		for e := first; e <= last; e += max(1, float64(skip)) {
			for _, m := range []float64{1, 2, 5} {
				if v := m * math.Pow10(int(e)); v >= low && v <= high && (m == 1 || skip == 0) {
					values = append(values, v)
				}
			}
		}
		if len(values) < 2 {
			break
		}
		if ticks := labelled(values); hold(ticks, t.room) {
			return ticks
		}
	}
	return linearTicks{room: t.room}.Ticks(low, high)
}

// valueTicks marks values, in ascending order, on a logarithmic scale, and labels those
// that have room.
type valueTicks struct {
	values []float64
	room   int
}

// Ticks implements plot.Ticker.
func (t valueTicks) Ticks(low, high float64) []plot.Tick {
	ticks := labelled(t.values)
	end := math.Inf(-1) // of the last label, in characters
	for i, tick := range ticks {
		at := float64(t.room) * math.Log(tick.Value/low) / math.Log(high/low)
		half := float64(utf8.RuneCountInString(tick.Label))/2 + 0.5
		if at-half < end {
			ticks[i].Label = ""
			continue
		}
		end = at + half
	}
	return ticks
}

// markValues makes the x axis a logarithmic one that marks values, in ascending order,
// and reaches beyond them by a factor; of one value, one that is marked around it.
func markValues(p *plot.Plot, values []float64, room int, beyond float64) {
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, valueTicks{values, room}
	if len(values) < 2 {
		p.X.Tick.Marker = logTicks{room}
		beyond = 2
	}
	p.X.Min, p.X.Max = values[0]/beyond, values[len(values)-1]*beyond
}

// labelled marks values.
func labelled(values []float64) []plot.Tick {
	ticks := make([]plot.Tick, len(values))
	for i, v := range values {
		ticks[i] = plot.Tick{Value: v, Label: tickLabel(v)}
	}
	return ticks
}

// tickLabel writes what exactly does, with thousands set apart, and shorter where there
// are many zeros.
func tickLabel(v float64) string {
	a := math.Abs(v)
	if a >= 1e7 || a < 1e-4 && a > 0 {
		text := strconv.FormatFloat(v, 'e', -1, 64)
		return strings.NewReplacer("e+0", "e", "e-0", "e-", "e+", "e").Replace(text)
	}
	text := exactly(v)
	whole, rest, _ := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		rest = "." + rest
	}
	return whole + rest
}
