package report

import (
	"fmt"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/vi"
)

// Variational writes the result of variational inference: what was promised and spent,
// what was modelled, and the table.
func Variational(w io.Writer, f *vi.Fit, s *posterior.Summary, model, neighbours string) error {
	p := &printer{w: w}
	if f.Privacy != nil {
		if f.Simulated {
			p.paragraph(simulatedRelease)
		}
		r := &release.Release{Privacy: &release.Privacy{Epsilon: f.Privacy.Epsilon, Delta: f.Privacy.Delta, Neighbours: release.Neighbours(neighbours)}}
		p.paragraph(promise(r))
		t := f.Training
		p.paragraph(fmt.Sprintf("Released: the fitted law, after %s on batches of %s of the rows, the sum of clipped gradients with Gaussian noise of %s clipping norms each.",
			count(t.Steps, "step"), exactly(t.Rate), general(t.Multiplier)))
	} else {
		p.paragraph("Privacy: none. This was computed from the rows, without noise.")
	}
	p.printf("\n")
	text := model
	if s.N != nil {
		text += fmt.Sprintf(", n = %d", *s.N)
	}
	p.paragraph(text + fmt.Sprintf(", %s units", s.Units))
	p.printf("\n")
	p.do(func(w io.Writer) error { return Table(w, s, true) })
	p.printf("\n")
	p.paragraph(fmt.Sprintf("%s of the fitted law.", count(s.Chains*s.Draws, "independent draw")))
	p.do(func(w io.Writer) error { return Warnings(w, s.Warnings) })
	return p.err
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
	if len(trace) > 0 && !math.IsNaN(trace[0].ELBO) {
		if err := f.addTrace("ELBO", trace, func(p vi.Point) float64 { return p.ELBO }); err != nil {
			return err
		}
	}
	for j, label := range shown {
		if err := f.addTrace(short[label], trace, func(p vi.Point) float64 { return p.Mean[j] }); err != nil {
			return err
		}
	}
	return f.Write(w, format)
}

func (f *Figure) addTrace(name string, trace []vi.Point, value func(vi.Point) float64) error {
	points := make(plotter.XYs, len(trace))
	for i, p := range trace {
		points[i] = plotter.XY{X: float64(p.Step), Y: value(p)}
	}
	points = slices.DeleteFunc(points, func(p plotter.XY) bool { return math.IsNaN(p.Y) || math.IsInf(p.Y, 0) })
	l, err := plotter.NewLine(points)
	if err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	l.Color, l.Width = blue, vg.Points(1)
	p := Panel(name, "step", "")
	p.Add(l)
	f.panels = append(f.panels, newPanel(p))
	return nil
}
