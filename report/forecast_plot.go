package report

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/dpreg/dpreg/plan"
)

// The lines that are not of a series.
var (
	priorAlone   = Key{Name: "prior alone", LineStyle: draw.LineStyle{Color: grey, Width: 1.5, Dashes: []vg.Length{2, 3}}}
	withoutNoise = Key{Name: "without noise", LineStyle: draw.LineStyle{Color: grey, Width: 1.2, Dashes: []vg.Length{6, 4}}}
)

// ForecastPlot draws the expected width of one slope's interval against ε, a line
// for each n (against n, a line for each ε, where ε has but one value), in a
// format of PlotFormats. Bars are ± 2 Monte Carlo errors, broken lines (a
// ring where there is but one) are the widths from the same rows without noise, the grey one is the prior's. It panics
// where the forecast has no such slope.
func ForecastPlot(w io.Writer, f *plan.Forecast, o ForecastOptions, format string) error {
	figure, err := drawForecast(f, o)
	if err != nil {
		return err
	}
	return figure.Write(w, format)
}

func drawForecast(f *plan.Forecast, o ForecastOptions) (*Figure, error) {
	byEpsilon, series := seriesOf(f, o.Slope)
	p := newPlot()
	p.X.Label.Text = "number of records n"
	if byEpsilon {
		p.X.Label.Text = "privacy budget ε (more private to the left)"
	}
	lines := plotter.NewGrid()
	lines.Horizontal.Color, lines.Vertical.Color = lightGrey, lightGrey
	p.Add(lines)
	frame(p, series, f.Alone[o.Slope].Width)
	width := f.Alone[o.Slope].Width
	if err := priorAlone.Add(p, plotter.XYs{{X: p.X.Min, Y: width}, {X: p.X.Max, Y: width}}); err != nil {
		return nil, err
	}
	var names []string
	for _, s := range series {
		names = append(names, s.name)
	}
	keys := SeriesKeys(names...)
	for i, s := range series {
		if err := s.add(p, keys[i]); err != nil {
			return nil, err
		}
	}
	p.Y.Label.Text = fmt.Sprintf("expected width of the %s%% interval", exactly(percent(f.Level)))
	figure := alone("plan", "What a release will tell of "+slopeName(f, o.Slope), p, aloneHeight, slices.Concat([]Key{priorAlone}, keys, []Key{series[0].without(withoutNoise.Color)})...)
	figure.caption = "Expected width of the interval, and that from the same rows without noise; bars are two Monte Carlo errors to either side."
	return figure, nil
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

func (c *curve) append(x float64, s plan.SlopeForecast, level float64) {
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
func seriesOf(f *plan.Forecast, slope int) (byEpsilon bool, series []*curve) {
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

// without is the key of the widths without noise: a broken line, or a ring where there is but
// one of them.
func (c *curve) without(colour color.Color) Key {
	k := withoutNoise
	k.Color = colour
	if len(c.noiseless) == 1 {
		k.LineStyle, k.mark = draw.LineStyle{}, draw.GlyphStyle{Color: colour, Radius: 3, Shape: draw.RingGlyph{}}
	}
	return k
}

// add draws a line, its bars, and what it would be without noise.
func (c *curve) add(p *plot.Plot, k Key) error {
	bars, err := plotter.NewYErrorBars(c)
	if err != nil {
		return err
	}
	bars.Color, bars.Width = k.Color, 1
	if err := c.without(k.Color).Add(p, c.noiseless); err != nil {
		return err
	}
	p.Add(bars)
	return k.Add(p, c.width)
}

// frame sets the axes' scales, ranges and marks.
func frame(p *plot.Plot, series []*curve, prior float64) {
	low, high := prior, prior
	var xs []float64
	for _, s := range series {
		for i, at := range s.width {
			xs = append(xs, at.X)
			low, high = min(low, s.noiseless[i].Y, at.Y-s.errors[i].Low), max(high, at.Y+s.errors[i].High)
		}
	}
	slices.Sort(xs)
	markValues(p, slices.Compact(xs), pageRoom, 1.1)
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, logTicks{pageRoom}
	p.Y.Min, p.Y.Max = low/1.15, high*1.15
}
