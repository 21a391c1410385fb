package report

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/posterior"
)

// What is shown at most of a fit, so that pictures stay readable and their files small.
// sigma always is.
const (
	mostPanels = 40 // parameters, each in a panel
	mostPairs  = 6  // parameters, each against each
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
	title  string // of its panel
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
	all := f.Summary(o.Units, o.Level).Parameters
	short, still := titlesOf(all), 0
	for i, p := range all {
		switch {
		case !isMain(p.Name):
		case !(p.SD > 0) || math.IsInf(p.SD, 0):
			still++
		default:
			s.parameters = append(s.parameters, parameter{p, i, short[p.Label]})
		}
	}
	if n := len(s.parameters); n > mostPanels { // the last one is sigma
		s.parameters = append(s.parameters[:mostPanels-1:mostPanels-1], s.parameters[n-1])
		s.leftOut = fmt.Sprintf("Shown are the first %d of %d parameters and %s; --save writes the draws of all. ", mostPanels-1, n, s.parameters[mostPanels-1].Label)
	}
	if still > 0 {
		s.leftOut += fmt.Sprintf("Not shown: %s whose draws do not move. ", count(still, "parameter"))
	}
	return s
}

// titlesOf are short names of the coefficients and sigma.
func titlesOf(all []posterior.Parameter) map[string]string {
	var labels []string
	for _, p := range all {
		if isMain(p.Name) {
			labels = append(labels, p.Label)
		}
	}
	return titles(labels...)
}

// panelOf is an empty plot with a parameter's title on it.
func panelOf(title string) *plot.Plot {
	p := Panel(title, "", "")
	p.X.Padding = 2
	return p
}

// line joins points.
func line(points plotter.XYs, k Key) (*plotter.Line, error) {
	l, err := plotter.NewLine(points)
	if err != nil {
		return nil, err
	}
	l.LineStyle = k.LineStyle
	return l, nil
}
