package report

import (
	"fmt"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Figure is one kind of picture of a fit: a panel for each parameter, and what they
// have in common. A file shows it whole, and a page panel by panel.
type Figure struct {
	Name    string // such as posterior: a file's, without its extension
	title   string
	caption string
	keys    []key
	panels  []panel
	columns int  // of panels in a file; 0: as many as look well
	whole   bool // on a page, too: panels belong together
}

// panel is one plot of a figure.
type panel struct {
	plot          *plot.Plot
	width, height vg.Length
}

// The size of a panel: a page shows it in full on a phone.
const (
	panelWidth  = 8.2 * vg.Centimeter
	panelHeight = 5.4 * vg.Centimeter
)

func newPanel(p *plot.Plot) panel { return panel{p, panelWidth, panelHeight} }

// key says what a line, a tint or a mark of a figure stands for.
type key struct {
	name string
	draw.LineStyle
}

// The parts of a file that are no panels.
const (
	titleHeight = 26
	keyHeight   = 20
	keyLine     = 24 // length of a sample
	keyGap      = 16
	panelGap    = 10
)

// Write draws the figure in a format of PlotFormats, with a title and a legend over
// the panels.
func (f *Figure) Write(w io.Writer, format string) error {
	d := f.body()
	head, body := vg.Length(titleHeight), d
	if f.keys != nil {
		head += keyHeight
	}
	d.height += head
	d.draw = func(c draw.Canvas) {
		f.drawHead(c)
		body.draw(draw.Crop(c, 0, 0, 0, -head))
	}
	if err := d.write(w, format); err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	return nil
}

// body draws the panels in rows.
func (f *Figure) body() drawing {
	columns := f.columns
	if columns == 0 {
		columns = min(len(f.panels), max(2, int(math.Ceil(math.Sqrt(float64(len(f.panels)))))))
	}
	rows := (len(f.panels) + columns - 1) / columns
	wide, high := f.panels[0].width+panelGap, f.panels[0].height+panelGap
	return drawing{vg.Length(columns)*wide + panelGap, vg.Length(rows)*high + panelGap, func(c draw.Canvas) {
		for i, p := range f.panels {
			x, y := c.Min.X+vg.Length(i%columns)*wide+panelGap, c.Max.Y-vg.Length(i/columns+1)*high
			p.plot.Draw(draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
				Min: vg.Point{X: x, Y: y}, Max: vg.Point{X: x + p.width, Y: y + p.height},
			}})
		}
	}}
}

// drawHead draws the title and, below it, the keys in a line.
func (f *Figure) drawHead(c draw.Canvas) {
	heading, words := newPlot().Title.TextStyle, newPlot().Legend.TextStyle
	heading.XAlign, heading.YAlign = draw.XLeft, draw.YCenter
	words.YAlign = draw.YCenter
	x, y := vg.Length(panelGap), c.Max.Y-titleHeight/2
	c.FillText(heading, vg.Point{X: x, Y: y - 2}, f.title)
	y -= (titleHeight + keyHeight) / 2
	for _, k := range f.keys {
		c.StrokeLine2(k.LineStyle, x, y, x+keyLine, y)
		x += keyLine + 5
		c.FillText(words, vg.Point{X: x, Y: y}, k.name)
		x += words.Width(k.name) + keyGap
	}
}
