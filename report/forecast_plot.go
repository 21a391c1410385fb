package report

import (
	"fmt"
	"io"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/dpreg/dpreg"
)

var seriesMarks = []draw.GlyphDrawer{
	draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, draw.RingGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.CrossGlyph{},
}

var (
	priorDashes     = []vg.Length{2, 3}
	noiselessDashes = []vg.Length{6, 4}
)

// The size of the picture.
const (
	forecastWidth  = 7 * vg.Inch
	forecastHeight = 4.5 * vg.Inch
)

// ForecastPlot draws the expected width of one slope's interval against ε, a line
// for each n (against n, a line for each ε, where ε has but one value), in a
// format of PlotFormats. Bars are ± 2 Monte Carlo errors, broken lines are
// the widths from the same rows without noise, the grey one is the prior's. It panics
// where the forecast has no such slope.
func ForecastPlot(w io.Writer, f *dpreg.Forecast, o ForecastOptions, format string) error {
	picture, err := drawForecast(f, o)
	if err != nil {
		return err
	}
	return picture.write(w, format)
}

func drawForecast(f *dpreg.Forecast, o ForecastOptions) (drawing, error) {
	byEpsilon, series := seriesOf(f, o.Slope)
	t := titles{
		title: "What a release will tell of " + slopeName(f, o.Slope),
		x:     "number of records n",
		y:     fmt.Sprintf("expected width of the %s%% interval", exactly(percent(f.Level))),
	}
	if byEpsilon {
		t.x = "privacy budget ε (more private to the left)"
	}
	p := newPlot()
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	lines := plotter.NewGrid()
	lines.Horizontal.Color, lines.Vertical.Color = lightGrey, lightGrey
	p.Add(lines)
	p.Legend.Top, p.Legend.Left, p.Legend.Padding = true, true, 3
	p.Legend.ThumbnailWidth = 26
	if err := addPrior(p, f, o.Slope, series); err != nil {
		return drawing{}, err
	}
	for i, s := range series {
		if err := s.add(p, i); err != nil {
			return drawing{}, err
		}
	}
	example := &plotter.Line{LineStyle: draw.LineStyle{Color: grey, Width: 1.2, Dashes: noiselessDashes}}
	p.Legend.Add("without noise", example)
	frame(p, series, f.Alone[o.Slope].Width)
	return drawing{forecastWidth, forecastHeight, func(c draw.Canvas) { t.draw(c, p) }}, nil
}

// curve is one line of the picture.
type curve struct {
	name      string
	width     plotter.XYs
	errors    plotter.YErrors
	noiseless plotter.XYs
}

func (c *curve) Len() int                         { return len(c.width) }
func (c *curve) XY(i int) (x, y float64)          { return c.width[i].X, c.width[i].Y }
func (c *curve) YError(i int) (low, high float64) { return c.errors[i].Low, c.errors[i].High }

func (c *curve) append(x float64, s dpreg.SlopeForecast, level float64) {
	bar := 2 * s.WidthError
	if math.IsNaN(bar) {
		bar = 0
	}
	c.width = append(c.width, plotter.XY{X: x, Y: s.Width})
	// On a logarithmic scale a bar cannot go down to 0.
	c.errors = append(c.errors, struct{ Low, High float64 }{min(bar, 0.9*s.Width), bar})
	c.noiseless = append(c.noiseless, plotter.XY{X: x, Y: 2 * s.NoiselessSD * distuv.UnitNormal.Quantile((1+level)/2)})
}

// seriesOf sorts the grid into lines.
func seriesOf(f *dpreg.Forecast, slope int) (byEpsilon bool, series []*curve) {
	for _, p := range f.Points {
		byEpsilon = byEpsilon || p.Epsilon != f.Points[0].Epsilon
	}
	named := make(map[string]*curve)
	for _, p := range f.Points {
		name, x := fmt.Sprintf("ε = %s", exactly(p.Epsilon)), float64(p.N)
		if byEpsilon {
			name, x = fmt.Sprintf("n = %d", p.N), p.Epsilon
		}
		if named[name] == nil {
			named[name] = &curve{name: name}
			series = append(series, named[name])
		}
		named[name].append(x, p.Slopes[slope], f.Level)
	}
	return byEpsilon, series
}

// addPrior draws the width under the prior alone.
func addPrior(p *plot.Plot, f *dpreg.Forecast, slope int, series []*curve) error {
	low, high := math.Inf(1), math.Inf(-1)
	for _, s := range series {
		for _, at := range s.width {
			low, high = min(low, at.X), max(high, at.X)
		}
	}
	width := f.Alone[slope].Width
	line, err := plotter.NewLine(plotter.XYs{{X: low, Y: width}, {X: high, Y: width}})
	if err != nil {
		return err
	}
	line.Color, line.Width, line.Dashes = grey, 1.5, priorDashes
	p.Add(line)
	p.Legend.Add("prior alone", line)
	return nil
}

// add draws the i-th line, its bars, and what it would be without noise.
func (c *curve) add(p *plot.Plot, i int) error {
	colour := seriesColours[i%len(seriesColours)]
	line, points, err := plotter.NewLinePoints(c.width)
	if err != nil {
		return err
	}
	line.Color, line.Width = colour, 1.8
	points.GlyphStyle = draw.GlyphStyle{Color: colour, Radius: 3.5, Shape: seriesMarks[i%len(seriesMarks)]}
	bars, err := plotter.NewYErrorBars(c)
	if err != nil {
		return err
	}
	bars.Color, bars.Width = colour, 1
	without, err := plotter.NewLine(c.noiseless)
	if err != nil {
		return err
	}
	without.Color, without.Width, without.Dashes = colour, 1.2, noiselessDashes
	p.Add(without, line, bars, points)
	p.Legend.Add(c.name, line, points)
	return nil
}

// frame sets the axes' ranges and marks.
func frame(p *plot.Plot, series []*curve, prior float64) {
	low, high := prior, prior
	xs := make(map[float64]bool)
	for _, s := range series {
		for i, at := range s.width {
			xs[at.X] = true
			low, high = min(low, s.noiseless[i].Y, at.Y-s.errors[i].Low), max(high, at.Y+s.errors[i].High)
		}
	}
	p.Y.Min, p.Y.Max = low/1.15, high*1.15
	p.Y.Tick.Marker = niceTicks{}
	marks := make(plot.ConstantTicks, 0, len(xs))
	p.X.Min, p.X.Max = math.Inf(1), math.Inf(-1)
	for x := range xs {
		marks = append(marks, plot.Tick{Value: x, Label: exactly(x)})
		p.X.Min, p.X.Max = min(p.X.Min, x), max(p.X.Max, x)
	}
	p.X.Tick.Marker = marks
	p.X.Min, p.X.Max = p.X.Min/1.1, p.X.Max*1.1
}

// niceTicks marks 1, 2 and 5 times the powers of ten.
type niceTicks struct{}

func (niceTicks) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for e := math.Floor(math.Log10(low)); e <= math.Ceil(math.Log10(high)); e++ {
		for _, m := range []float64{1, 2, 5} {
			if v := m * math.Pow(10, e); v >= low && v <= high {
				ticks = append(ticks, plot.Tick{Value: v, Label: general(v)})
			}
		}
	}
	return ticks
}

// titles are drawn beside the plot: gonum makes room for an axis's label as if it
// began at the middle of the axis.
type titles struct{ title, x, y string }

// draw draws the plot with the legend beside it, where it hides nothing.
func (t titles) draw(all draw.Canvas, p *plot.Plot) {
	legend := p.Legend
	p.Legend = plot.NewLegend()
	side := legend.Rectangle(all).Size().X
	area := draw.Crop(all, 26, -side-20, 24, -32)
	p.Draw(area)
	legend.Draw(draw.Crop(all, all.Size().X-side-12, 0, 0, -34))
	p.Legend = legend

	style := p.X.Label.TextStyle
	style.XAlign, style.YAlign = draw.XCenter, draw.YCenter
	middle := area.Center()
	all.FillText(style, vg.Point{X: middle.X, Y: 13}, t.x)
	heading := style
	heading.Font = p.Title.TextStyle.Font
	all.FillText(heading, vg.Point{X: middle.X, Y: all.Max.Y - 16}, t.title)
	style.Rotation = math.Pi / 2
	all.FillText(style, vg.Point{X: 14, Y: middle.Y}, t.y)
}
