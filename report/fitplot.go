package report

import (
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/posterior"
)

// What is shown at most of a fit, so that pictures stay readable and their files small.
const (
	mostPanels = 12 // parameters, each in a panel
	mostPairs  = 5  // parameters, each against each
)

// FitPlotNames are those of the figures of FitPlots, in their order.
var FitPlotNames = []string{"posterior", "trace", "ranks", "pairs"}

// shown is a fit's coefficients and sigma, those that move, in one kind of units.
type shown struct {
	fit        *dpreg.Fit
	units      dpreg.Units
	level      float64 // of intervals
	parameters []parameter
	draws      *posterior.Draws
	leftOut    string // in words; empty: nothing
}

// parameter is one of them, and where among the draws it is.
type parameter struct {
	posterior.Parameter
	column int
}

// FitPlots draws a fit: posterior against prior and, where it is not nil, against
// naive, a fit of the same release that takes its noise for none; under partial pooling
// each custodian's coefficients; traces; ranks; pairs.
// There is none where no parameter moves. It panics on units or a level that do not
// exist.
func FitPlots(f, naive *dpreg.Fit, o Options) ([]*Figure, error) {
	o.fill()
	s := show(f, o)
	if len(s.parameters) == 0 {
		return nil, nil
	}
	var figures []*Figure
	for _, draw := range []func() (*Figure, error){
		func() (*Figure, error) { return s.posterior(naive) }, s.custodians, s.traces, s.ranks, s.pairs,
	} {
		figure, err := draw()
		if err != nil {
			return nil, fmt.Errorf("plot: %w", err)
		}
		if figure != nil {
			figures = append(figures, figure)
		}
	}
	return figures, nil
}

func show(f *dpreg.Fit, o Options) *shown {
	s := &shown{fit: f, units: o.Units, level: o.Level, draws: f.Draws(o.Units)}
	still, main := 0, 0
	for i, p := range f.Summary(o.Units, o.Level).Parameters {
		switch {
		case !isMain(p.Name):
			continue
		case !(p.SD > 0) || math.IsInf(p.SD, 0):
			still++
		case len(s.parameters) < mostPanels:
			s.parameters = append(s.parameters, parameter{p, i})
		}
		main++
	}
	if more := main - still - len(s.parameters); more > 0 {
		s.leftOut += fmt.Sprintf(" Shown are the first %d of %d parameters.", len(s.parameters), main)
	}
	if still > 0 {
		s.leftOut += fmt.Sprintf(" Not shown: %s whose draws do not move.", count(still, "parameter"))
	}
	return s
}

// panelOf is an empty plot with a parameter's name on it.
func panelOf(parameter *posterior.Parameter) *plot.Plot {
	p := newPlot()
	p.Title.Text, p.Title.Padding, p.Title.TextStyle.Font = truncate(parameter.Label, 34), 3, sans(10)
	p.X.Tick.Marker, p.X.Padding = fewTicks{}, 2
	p.Y.Tick.Marker, p.Y.Padding = fewTicks{}, 0
	p.Add(room{})
	return p
}

// room keeps the labels of the X axis inside the panel on the left, as plot does on
// the right.
type room struct{}

// Plot implements plot.Plotter, and draws nothing.
func (room) Plot(draw.Canvas, *plot.Plot) {}

// GlyphBoxes implements plot.GlyphBoxer.
func (room) GlyphBoxes(p *plot.Plot) []plot.GlyphBox {
	var boxes []plot.GlyphBox
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if !t.IsMinor() {
			boxes = append(boxes, plot.GlyphBox{X: p.X.Norm(t.Value), Rectangle: vg.Rectangle{
				Min: vg.Point{X: -p.X.Tick.Label.Width(t.Label) / 2}, Max: vg.Point{X: p.X.Tick.Label.Width(t.Label) / 2},
			}})
		}
	}
	return boxes
}

// fewTicks marks what plot.DefaultTicks does, with labels as short as they can be.
type fewTicks struct{}

func (fewTicks) Ticks(low, high float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(low, high)
	for i, t := range ticks {
		if t.Label == "" {
			continue
		}
		// Twelve digits leave out the rounding of the ticks' sums.
		v, _ := strconv.ParseFloat(strconv.FormatFloat(t.Value, 'g', 12, 64), 64)
		if math.Abs(v) < 1e-9*(high-low) {
			v = 0
		}
		ticks[i].Label = exactly(v)
	}
	return ticks
}

// line joins points.
func line(points plotter.XYs, k key) (*plotter.Line, error) {
	l, err := plotter.NewLine(points)
	if err != nil {
		return nil, err
	}
	l.LineStyle = k.LineStyle
	return l, nil
}
