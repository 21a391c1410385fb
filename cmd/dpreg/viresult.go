package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/report"
	"github.com/dpreg/dpreg/saved"
	"github.com/dpreg/dpreg/signature"
	"github.com/dpreg/dpreg/vi"
)

func (r *viFit) conclude() error {
	draws := r.drawn()
	s := r.summary(draws)
	err := r.print(s, func(out io.Writer) error {
		return report.Variational(out, r.fit, s, r.design.Statement(), r.neighbours)
	})
	if err != nil {
		return err
	}
	mode := public
	if r.nonPrivate {
		mode = private
	}
	if r.save != "" {
		if err := within("--save", saved.Dir(r.save).Write(draws, s, r.comments(s), mode, r.parquet)); err != nil {
			return err
		}
		r.note("draws and summary saved in %s", r.save)
	}
	if err := r.writePlot(mode, report.VariationalTrace(r.trace(), r.labels(), r.units).Write); err != nil {
		return err
	}
	if r.nonPrivate {
		r.note("this output is NOT private: it was computed from the rows, without noise")
	} else {
		r.note("this run spent ε = %v, δ = %v; another spends as much again", r.fit.Privacy.Epsilon, r.fit.Privacy.Delta)
	}
	return nil
}

// drawn are draws in the units asked for.
func (r *viFit) drawn() *posterior.Draws {
	d := r.fit.Draws(r.draws, r.seed)
	d.Warnings = r.warnings()
	if r.units == "scaled" {
		return d
	}
	return d.Map(d.Names, r.design.ToOriginal)
}

// warnings are what the numbers do not say.
func (r *viFit) warnings() (all []string) {
	if r.fit.Privacy == nil {
		all = append(all, "--non-private uses the rows without noise: nothing here is private, and none of it may be published as if it were")
	} else {
		all = append(all, "the intervals are those of the fitted law: they do not account for the noise of privacy, or for the approximation")
		switch longest := r.design.Longest(); {
		case !r.design.Binary:
			all = append(all, "gradients are clipped, which biases estimates at any epsilon: where residuals have long tails, slopes and sigma2 come out too small")
		case r.clip > 0 && r.clip < longest:
			all = append(all, fmt.Sprintf("gradients longer than --clip %v are clipped, which biases estimates at any epsilon; --clip %.4g clips none", r.clip, longest))
		}
	}
	var moving []string
	most := 0.
	for j, label := range r.labels() {
		if r.fit.Moved != nil && math.Abs(r.fit.Moved[j]) > 2 {
			moving, most = append(moving, label), max(most, math.Abs(r.fit.Moved[j]))
		}
	}
	if moving != nil {
		all = append(all, fmt.Sprintf("not settled: while steps were averaged, means moved by up to %.1f of their standard deviations (%s), by the noise, which a larger epsilon makes smaller, or for want of --steps or of a larger --learning-rate",
			most, strings.Join(moving, ", ")))
	}
	return all
}

func (r *viFit) summary(d *posterior.Draws) *posterior.Summary {
	s := posterior.Summarise(d, r.level)
	s.Version, s.Method, s.N, s.Units, s.Seed = posterior.Known(signature.Version()), r.method, posterior.Known(r.n), r.units, r.seed
	s.Formula = posterior.Known(r.design.Model())
	s.Prior = map[string]any{"units": "scaled", "theta": map[string]float64{"sd": r.priorSD}}
	if p := r.fit.Privacy; p != nil {
		spent := release.Privacy{Epsilon: p.Epsilon, Delta: p.Delta, Neighbours: release.Neighbours(r.neighbours)}
		s.Releases = []posterior.Release{{N: posterior.Known(r.n), Simulated: r.fit.Simulated, Privacy: spent, Noise: posterior.Known(string(release.Gaussian)), NoiseSD: math.NaN()}}
	}
	linear, _ := r.design.Units.ThetaMatrix()
	p := r.design.Coefficients()
	for i, label := range r.labels() {
		q := &s.Parameters[i]
		q.Label = label
		if r.model == vi.LogisticKind {
			sd := r.priorSD // of coefficients that are independent in scaled units
			if r.units != "scaled" {
				sd *= floats.Norm(linear[i*p:(i+1)*p], 2)
			}
			q.Contract(posterior.NormalIQR * sd)
		}
	}
	return s
}

// labels are those of all parameters; pvi knows the variance.
func (r *viFit) labels() []string {
	labels := r.design.ParameterLabels()
	if r.method == "vi-"+vi.LinearKind {
		labels = append(labels, "sigma2")
	}
	return labels
}

// checkOutputs looks, before anything is spent, whether results can be written.
func (r *viFit) checkOutputs(data string) error {
	keep := inputs{data, sidecar(data), r.schema, r.ledgerOf(data).Path}
	r.chains = 4 // as vi.Fit.Draws makes
	return errors.Join(r.checkPlot(keep...), r.checkSave(keep))
}

// comments say at the head of a file of draws where it comes from.
func (r *viFit) comments(s *posterior.Summary) []string {
	lines := []string{"dpreg " + signature.Version(), "dpreg_method = " + s.Method, "units = " + r.units}
	if p := r.fit.Privacy; p != nil {
		lines = append(lines, fmt.Sprintf("privacy: epsilon = %v, delta = %v, %s", p.Epsilon, p.Delta, r.neighbours))
	}
	var names, labels []string
	for _, p := range s.Parameters {
		names, labels = append(names, p.Name), append(labels, p.Label)
	}
	lines = append(lines, posterior.StanLabels(names, labels)...)
	for _, w := range s.Warnings {
		lines = append(lines, "warning: "+w)
	}
	return lines
}

// trace is the fit's as the table has it: the parameters that it shows, in its units, at the
// law's mean.
func (r *viFit) trace() []vi.Point {
	shown := slices.Clone(r.fit.Trace)
	for i, p := range shown {
		shown[i].Mean = r.fit.Constrain(p.Mean)
		if r.units != "scaled" {
			r.design.ToOriginal(shown[i].Mean, slices.Clone(shown[i].Mean))
		}
	}
	return shown
}
