package report

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/schema"
)

// The size of a picture, and of an entry in it.
const (
	checkWidth   = 18 * vg.Centimeter
	checkMargins = 3.4 * vg.Centimeter
	checkRow     = 0.7 * vg.Centimeter
)

// PlotCheck draws each released sum against the law of replicated ones, a row each,
// in units of their standard deviation from their mean: a thin bar for 95 % of the
// replicates, a thick one for half of them, a point for the release. A format that
// is none of PlotFormats is an error.
func PlotCheck(w io.Writer, c *dpreg.Check, d *schema.Design, format string) error {
	picture, err := drawCheck(d, c)
	if err != nil {
		return err
	}
	return picture.write(w, format)
}

// PlotCheckJointly is PlotCheck of several releases, each below its name.
func PlotCheckJointly(w io.Writer, c *dpreg.JointCheck, d *schema.Design, format string) error {
	picture, err := drawCheck(d, leastLikely(c)...)
	if err != nil {
		return err
	}
	return picture.write(w, format)
}

// checkLine is a row of the picture: a release's name, or one of its sums.
type checkLine struct {
	label string
	entry *dpreg.CheckEntry // nil: a name
}

func checkLines(checks []*dpreg.Check) (rows []checkLine) {
	for _, c := range checks {
		if len(checks) > 1 {
			rows = append(rows, checkLine{label: c.Name})
		}
		for i := range c.Entries {
			rows = append(rows, checkLine{c.Entries[i].Label, &c.Entries[i]})
		}
	}
	return rows
}

func drawCheck(d *schema.Design, checks ...*dpreg.Check) (drawing, error) {
	p := newPlot()
	p.Title.Text = "Posterior predictive check: " + truncate(Formula(d), 44)
	p.Title.Padding = vg.Points(6)
	p.X.Label.Text = "distance from the mean of replicated releases, in their standard deviations"
	p.X.Label.Padding, p.X.Tick.Marker = vg.Points(4), plot.TickerFunc(wholeTicks)
	p.Y.Label.Text = "sum of"
	all := checkLines(checks)
	rows := len(all)
	wide, half := &spans{thickness: 3, color: lightBlue}, &spans{thickness: 9, color: blue}
	points, ticks, reach := make(plotter.XYs, 0, rows), make(plot.ConstantTicks, rows), 2.5
	for i, row := range all {
		y, e := float64(rows-1-i), row.entry // the first one on top
		ticks[i] = plot.Tick{Value: y, Label: truncate(row.label, 28)}
		if e == nil {
			continue
		}
		points = append(points, plotter.XY{X: checkDistance(e, e.Z), Y: y})
		wide.add(checkDistance(e, e.Q2_5), checkDistance(e, e.Q97_5), y)
		half.add(checkDistance(e, e.Q25), checkDistance(e, e.Q75), y)
		for _, v := range []float64{e.Z, e.Q2_5, e.Q97_5} {
			reach = max(reach, 1.1*math.Abs(checkDistance(e, v)))
		}
	}
	released, err := plotter.NewScatter(points)
	if err != nil {
		return drawing{}, fmt.Errorf("plot: %w", err)
	}
	released.GlyphStyle = draw.GlyphStyle{Color: vermilion, Radius: vg.Points(3.5), Shape: draw.CircleGlyph{}}
	zero, err := plotter.NewLine(plotter.XYs{{X: 0, Y: -0.6}, {X: 0, Y: float64(rows) - 0.4}})
	if err != nil {
		return drawing{}, fmt.Errorf("plot: %w", err)
	}
	zero.Color = middleGrey
	p.Add(zero, wide, half, released)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -reach, reach, -0.6, float64(rows)-0.4
	p.Y.Tick.Marker, p.Y.Tick.Length = ticks, 0
	checkLegend(p, released, half, wide)
	return drawing{checkWidth, checkMargins + vg.Length(rows)*checkRow, p.Draw}, nil
}

// checkLegend puts the legend into the upper right corner, and room for it over the rows.
func checkLegend(p *plot.Plot, released, half, wide plot.Thumbnailer) {
	p.Y.Max += 1.9
	p.Legend.Top, p.Legend.XOffs, p.Legend.YOffs = true, -vg.Points(4), -vg.Points(2)
	p.Legend.Padding = vg.Points(2)
	p.Legend.Add("released", released)
	p.Legend.Add("half of the replicates", half)
	p.Legend.Add("95 % of the replicates", wide)
}

// wholeTicks marks whole numbers, about ten of them.
func wholeTicks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	step := math.Ceil((high - low) / 10)
	for v := step * math.Ceil(low/step); v <= high; v += step {
		ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprint(v)})
	}
	return ticks
}

// checkDistance is that of a value from the mean of the replicates, in their sd.
func checkDistance(e *dpreg.CheckEntry, v float64) float64 { return (v - e.Mean) / e.SD }

// spans are horizontal bars.
type spans struct {
	thickness vg.Length
	color     color.Color
	low, high plotter.XYs
}

func (s *spans) add(low, high, y float64) {
	s.low, s.high = append(s.low, plotter.XY{X: low, Y: y}), append(s.high, plotter.XY{X: high, Y: y})
}

// Plot implements plot.Plotter.
func (s *spans) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, low := range s.low {
		c.StrokeLine2(s.style(), x(low.X), y(low.Y), x(s.high[i].X), y(low.Y))
	}
}

// Thumbnail implements plot.Thumbnailer, for the legend.
func (s *spans) Thumbnail(c *draw.Canvas) {
	y := c.Center().Y
	c.StrokeLine2(s.style(), c.Min.X, y, c.Max.X, y)
}

func (s *spans) style() draw.LineStyle { return draw.LineStyle{Color: s.color, Width: s.thickness} }
