package report

import (
	"fmt"
	"io"
	"maps"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/dpreg/dpreg/check"
	"github.com/dpreg/dpreg/schema"
)

// The height of an entry in a picture, and of the rest; the width of a release's name, and
// of a column's, of which a product has two.
const (
	checkRow     = 0.6 * vg.Centimeter
	checkMargins = 2.2 * vg.Centimeter
	checkName    = 6 * vg.Centimeter
	checkFactor  = (checkName - 12) / 2
)

var (
	releasedMark = draw.GlyphStyle{Color: vermilion, Radius: 3.5, Shape: draw.CircleGlyph{}}
	checkKeys    = []Key{
		{Name: "released", mark: releasedMark},
		{Name: "half of the replicates", LineStyle: draw.LineStyle{Color: blue, Width: 9}},
		{Name: "95 % of the replicates", LineStyle: draw.LineStyle{Color: lightBlue, Width: 3}},
	}
)

// PlotCheck draws each released sum against the law of replicated ones, a row each,
// in units of their standard deviation from their mean: a thin bar for 95 % of the
// replicates, a thick one for half of them, a point for the release. A format that
// is none of PlotFormats is an error. Several releases stand each below its name.
func PlotCheck(w io.Writer, c *check.Result, d *schema.Design, format string) error {
	f, err := drawCheck(d, leastLikely(c)...)
	if err != nil {
		return err
	}
	return f.Write(w, format)
}

// checkLine is a row of the picture: a release's name, or one of its sums.
type checkLine struct {
	label string
	entry *check.Entry // nil: a name
}

func checkLines(checks []*check.Release) (rows []checkLine) {
	var names []string
	for _, c := range checks {
		names = append(names, c.Name)
	}
	short, sums := shortNames(newPlot().Y.Tick.Label, checkName, names...), sumLabels(checks)
	for _, c := range checks {
		if len(checks) > 1 {
			rows = append(rows, checkLine{label: short[c.Name]})
		}
		for i := range c.Entries {
			rows = append(rows, checkLine{sums[c.Entries[i].Label], &c.Entries[i]})
		}
	}
	return rows
}

// sumLabels gives the label of each sum the one that a picture shows: short names of columns,
// joined as the label joins those.
func sumLabels(checks []*check.Release) map[string]string {
	var names []string
	for _, c := range checks {
		for _, column := range c.Columns {
			names = append(names, column.Label)
		}
	}
	short := shortNames(newPlot().Y.Tick.Label, checkFactor, names...)
	shown := maps.Clone(short)
	for a := range short {
		shown[a+"²"] = short[a] + "²"
		for b := range short {
			shown[a+" × "+b] = short[a] + " × " + short[b]
		}
	}
	return shown
}

func drawCheck(d *schema.Design, checks ...*check.Release) (*Figure, error) {
	p := newPlot()
	p.X.Label.Text = "distance from the replicates' mean, in standard deviations"
	p.Y.Label.Text = "sum of"
	p.X.Label.Padding, p.X.Tick.Marker = 4, linearTicks{pageRoom, 1}
	all := checkLines(checks)
	rows := len(all)
	wide, half := &spans{LineStyle: checkKeys[2].LineStyle}, &spans{LineStyle: checkKeys[1].LineStyle}
	points, ticks, reach := make(plotter.XYs, 0, rows), make(plot.ConstantTicks, rows), 2.5
	for i, row := range all {
		y, e := float64(rows-1-i), row.entry // the first one on top
		ticks[i] = plot.Tick{Value: y, Label: row.label}
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
		return nil, fmt.Errorf("plot: %w", err)
	}
	released.GlyphStyle = releasedMark
	zero, err := plotter.NewLine(plotter.XYs{{X: 0, Y: -0.6}, {X: 0, Y: float64(rows) - 0.4}})
	if err != nil {
		return nil, fmt.Errorf("plot: %w", err)
	}
	zero.Color = middleGrey
	p.Add(zero, wide, half, released)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -reach, reach, -0.6, float64(rows)-0.4
	p.Y.Tick.Marker, p.Y.Tick.Length = ticks, 0
	f := alone("check", "Posterior predictive check: "+Formula(d), p, checkMargins+vg.Length(rows)*checkRow, checkKeys...)
	f.caption = "Each released sum against those of replicated releases, in their standard deviations: a point outside the thin bar is one that the fitted model makes less than one time in twenty."
	return f, nil
}

// checkDistance is that of a value from the mean of the replicates, in their sd.
func checkDistance(e *check.Entry, v float64) float64 { return (v - e.Mean) / e.SD }

// spans are horizontal bars.
type spans struct {
	draw.LineStyle
	low, high plotter.XYs
}

func (s *spans) add(low, high, y float64) {
	s.low, s.high = append(s.low, plotter.XY{X: low, Y: y}), append(s.high, plotter.XY{X: high, Y: y})
}

// Plot implements plot.Plotter.
func (s *spans) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, low := range s.low {
		c.StrokeLine2(s.LineStyle, x(low.X), y(low.Y), x(s.high[i].X), y(low.Y))
	}
}
