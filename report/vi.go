package report

import (
	"fmt"
	"io"
	"math"

	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/vi"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
)

// Variational writes the result of variational inference: what was promised and spent,
// what was modelled, and the table.
func Variational(w io.Writer, f *vi.Fit, s *posterior.Summary, model, neighbours string) error {
	promised := say("Privacy: none. This was computed from the rows, without noise.")
	if f.Privacy != nil {
		first := ""
		if f.Simulated {
			first = simulatedRelease
		}
		r := &release.Release{Privacy: &release.Privacy{Epsilon: f.Privacy.Epsilon, Delta: f.Privacy.Delta, Neighbours: release.Neighbours(neighbours)}}
		t := f.Training
		promised = say(first, promise(r), fmt.Sprintf("Released: the fitted law, after %s on batches of %s of the rows, the sum of clipped gradients with Gaussian noise of %s clipping norms each.",
			count(t.Steps, "step"), exactly(t.Rate), general(t.Multiplier)))
	}
	if s.N > 0 {
		model += fmt.Sprintf(", n = %d", s.N)
	}
	return write(w, promised, blank, say(fmt.Sprintf("%s, %s units", model, s.Units)), show(summaryTable(s, true)),
		say(fmt.Sprintf("%s of the fitted law.", count(s.Chains*s.Draws, "independent draw"))), warn(s.Warnings))
}

// VariationalTrace draws the means over the steps, which are in the units named and have labels, of as many parameters as
// fit, and the ELBO where the trace has one. A format that is none of PlotFormats is an error.
func VariationalTrace(w io.Writer, trace []vi.Point, labels []string, units, format string) error {
	f := &Figure{Name: "trace", title: fmt.Sprintf("The fitted law's centre over the steps, %s units", units)}
	shown := labels[:min(len(labels), mostPanels)]
	short := titles(append([]string{"ELBO"}, shown...)...)
	if len(labels) > mostPanels {
		f.note = fmt.Sprintf("Shown are the first %d of %d parameters.", mostPanels, len(labels))
	}
	add := func(name string, value func(vi.Point) float64) {
		p, points := Panel(name, "step", ""), make(plotter.XYs, len(trace))
		for i, at := range trace {
			points[i] = plotter.XY{X: float64(at.Step), Y: value(at)}
		}
		traceKey.Add(p, points)
		f.panels = append(f.panels, newPanel(p))
	}
	if len(trace) > 0 && !math.IsNaN(trace[0].ELBO) {
		add("ELBO", func(p vi.Point) float64 { return p.ELBO })
	}
	for j, label := range shown {
		add(short[label], func(p vi.Point) float64 { return p.Mean[j] })
	}
	return f.Write(w, format)
}

var traceKey = Key{LineStyle: draw.LineStyle{Color: blue, Width: 1}}
