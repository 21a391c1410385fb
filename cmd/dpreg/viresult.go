package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/report"
	"github.com/dpreg/dpreg/vi"
)

// viResult is a fit, and what it is of.
type viResult struct {
	fit    *vi.Fit
	design *viDesign
	flags  *viFlags
	method string
	n      int64 // 0 where it is not public
}

// conclude prints, saves and draws.
func (f *viFlags) conclude(stdout, stderr io.Writer, r *viResult) error {
	draws := r.draws()
	s := r.summary(draws)
	if err := f.print(stdout, r, s); err != nil {
		return err
	}
	if f.save != "" {
		if err := f.write(r, draws, s); err != nil {
			return err
		}
		note(stderr, "draws and summary saved in %s", f.save)
	}
	if f.plot != "" {
		if err := r.draw(f.plot); err != nil {
			return err
		}
		note(stderr, "picture written to %s", f.plot)
	}
	if f.nonPrivate {
		note(stderr, "this output is NOT private: it was computed from the rows, without noise")
	} else {
		note(stderr, "this run spent ε = %v, δ = %v; another spends as much again", r.fit.Privacy.Epsilon, r.fit.Privacy.Delta)
	}
	return nil
}

// draws are in the units asked for.
func (r *viResult) draws() *posterior.Draws {
	d := r.fit.Draws(r.flags.draws, r.flags.seed)
	d.Warnings = r.warnings()
	if r.flags.units == "scaled" {
		return d
	}
	return d.Map(d.Names, r.toOriginal)
}

// warnings are what the numbers do not say.
func (r *viResult) warnings() (all []string) {
	if r.fit.Privacy == nil {
		all = append(all, "--non-private uses the rows without noise: nothing here is private, and none of it may be published as if it were")
	} else {
		all = append(all, "the intervals are those of the fitted law: they do not account for the noise of privacy, or for the approximation")
		switch longest := r.design.longest(); {
		case !r.design.binary:
			all = append(all, "gradients are clipped, which biases estimates at any epsilon: where residuals have long tails, slopes and sigma2 come out too small")
		case r.flags.clip > 0 && r.flags.clip < longest:
			all = append(all, fmt.Sprintf("gradients longer than --clip %v are clipped, which biases estimates at any epsilon; --clip %.4g clips none", r.flags.clip, longest))
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

// toOriginal maps a draw to the data's units: coefficients by blocks, of which a
// hierarchical model has one for each group and one of their means.
func (r *viResult) toOriginal(dst, src []float64) {
	p := r.design.coefficients()
	copy(dst, src)
	for at := 0; at+p <= len(src); at += p {
		r.design.toOriginal(dst[at:at+p], src[at:at+p])
	}
	if !r.design.binary && len(src) > p { // σ²
		h := r.design.frame.Half[len(r.design.Covariates)]
		dst[p] = h * h * src[p]
	}
}

func (r *viResult) summary(d *posterior.Draws) *posterior.Summary {
	s := posterior.Summarise(d, r.flags.level)
	s.Version, s.Method, s.N, s.Units, s.Seed = posterior.Known(version()), r.method, posterior.Known(r.n), r.flags.units, r.flags.seed
	s.Formula = posterior.Known(r.design.formula())
	s.Prior = map[string]any{"units": "scaled", "theta": map[string]float64{"sd": r.flags.priorSD}}
	if p := r.fit.Privacy; p != nil {
		spent := release.Privacy{Epsilon: p.Epsilon, Delta: p.Delta, Neighbours: release.Neighbours(r.flags.neighbours)}
		s.Releases = []posterior.Release{{N: posterior.Known(r.n), Simulated: r.fit.Simulated, Privacy: spent, Noise: posterior.Known(string(release.Gaussian)), NoiseSD: math.NaN()}}
	}
	prior := r.priorVariances()
	for i, label := range r.labels() {
		q := &s.Parameters[i]
		q.Label = label
		if r.flags.model == viLogistic {
			q.Contract(posterior.NormalIQR * math.Sqrt(prior[i]))
		}
	}
	return s
}

// labels are those of all parameters: of each group's coefficients and of their means, in a
// hierarchical model; pvi knows the variance.
func (r *viResult) labels() []string {
	own := r.design.labels()
	switch {
	case r.method == "vi-"+viLinear:
		return append(own, "sigma2")
	case r.flags.model != viHierarchical:
		return own
	}
	var labels []string
	for _, level := range r.design.Factors[len(r.design.Factors)-1].Levels {
		for _, label := range own {
			labels = append(labels, level+": "+label)
		}
	}
	for _, label := range own {
		labels = append(labels, "mean of "+label)
	}
	return labels
}

// priorVariances are those of the coefficients, independent in scaled units.
func (r *viResult) priorVariances() []float64 {
	p := r.design.coefficients()
	variances, unit, column, origin := make([]float64, p), make([]float64, p), make([]float64, p), make([]float64, p)
	r.design.toOriginal(origin, unit)
	for j := range p {
		unit[j] = r.flags.priorSD
		copy(column, unit)
		if r.flags.units != "scaled" {
			r.design.toOriginal(column, unit)
			column[0] -= origin[0]
		}
		for i, v := range column {
			variances[i] += v * v
		}
		unit[j] = 0
	}
	return variances
}

func (f *viFlags) print(stdout io.Writer, r *viResult, s *posterior.Summary) error {
	return printAs(stdout, f.format, s, func(out io.Writer) error {
		return report.Variational(out, r.fit, s, r.design.statement(r.title()), f.neighbours)
	})
}

func (r *viResult) title() string {
	return map[string]string{viLinear: "Linear regression", viLogistic: "Logistic regression", viHierarchical: "Hierarchical logistic regression"}[r.flags.model]
}

// checkOutputs looks, before anything is spent, whether results can be written.
func (f *viFlags) checkOutputs(data string) error {
	keep := inputs{data, sidecar(data), f.schema, f.ledger}
	if f.plot != "" {
		if err := keep.spare(f.plot); err != nil {
			return within("--plot", err)
		}
	}
	own := []string{filepath.Join(f.save, "summary.json")}
	for chain := range 4 {
		own = append(own, f.drawsFile(chain))
	}
	_, err := checkDir(f.save, own, keep)
	return within("--save", err)
}

func (f *viFlags) drawsFile(chain int) string {
	return filepath.Join(f.save, fmt.Sprintf("draws-%d.csv", chain+1))
}

// write saves draws and summary, each file all or nothing.
func (f *viFlags) write(r *viResult, draws *posterior.Draws, s *posterior.Summary) error {
	mode, dirMode := public, public|0o111
	if f.nonPrivate {
		mode, dirMode = private, private|0o100
	}
	if err := makeDir(f.save, dirMode); err != nil {
		return within("--save", err)
	}
	comments := r.comments(s)
	for chain := range draws.NumChains() {
		err := writeFile(f.drawsFile(chain), mode, func(w io.Writer) error { return draws.WriteStanCSV(w, chain, comments) })
		if err != nil {
			return err
		}
	}
	return writeFile(filepath.Join(f.save, "summary.json"), mode, s.WriteJSON)
}

// comments say at the head of a file of draws where it comes from.
func (r *viResult) comments(s *posterior.Summary) []string {
	lines := []string{"dpreg " + version(), "dpreg_method = " + s.Method, "units = " + r.flags.units}
	if p := r.fit.Privacy; p != nil {
		lines = append(lines, fmt.Sprintf("privacy: epsilon = %v, delta = %v, %s", p.Epsilon, p.Delta, r.flags.neighbours))
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
func (r *viResult) trace() []vi.Point {
	shown := slices.Clone(r.fit.Trace)
	for i, p := range shown {
		shown[i].Mean = r.fit.Constrain(p.Mean)
		if r.flags.units != "scaled" {
			r.toOriginal(shown[i].Mean, slices.Clone(shown[i].Mean))
		}
	}
	return shown
}

// draw draws the trace.
func (r *viResult) draw(path string) error {
	var picture bytes.Buffer
	if err := report.VariationalTrace(&picture, r.trace(), r.labels(), r.flags.units, plotFormat(path)); err != nil {
		return err
	}
	mode := public
	if len(r.fit.Trace) > 0 && !math.IsNaN(r.fit.Trace[0].ELBO) {
		mode = private
	}
	return writeFile(path, mode, func(w io.Writer) error {
		_, err := picture.WriteTo(w)
		return err
	})
}
