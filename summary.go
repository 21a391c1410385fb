package dpreg

import (
	"slices"

	"github.com/dpreg/dpreg/gibbs"
	"github.com/dpreg/dpreg/posterior"
)

// Summary summarises Draws(u), with equal-tailed intervals at a level between 0
// and 1 (else it panics). Labels are the columns' names: (Intercept), x, sigma,
// mean(x), var(x), cov(x, w). Contraction is the posterior's against
// the prior, see findPriorWidths; nil for n, whose prior is flat. Where Converged says no, the last warning says why.
func (f *Fit) Summary(u Units, level float64) *posterior.Summary {
	s := posterior.Summarise(f.Draws(u), level)
	s.Method, s.Kernel, s.ModelClamping, s.Formula = f.Method, posterior.Known(f.kernel()), f.ModelClamping, posterior.Known(f.Design.Formula().String())
	s.N, s.Units, s.Seed, s.Prior, s.Releases = posterior.Known(f.N), string(u), f.Plan.Seed, f.Prior, f.releases()
	covariates, pooling := f.Sharing()
	s.Covariates, s.Pooling = posterior.Known(covariates), posterior.Known(pooling)
	s.SameRows, s.Family = f.sameRows, posterior.Known(string(f.Family))
	ok, reason := f.Converged()
	if f.Method != nonPrivate {
		s.Converged, s.Checked = &ok, f.checked()
	}
	if !ok {
		s.Warnings = append(s.Warnings, "not converged: "+reason)
	}
	labels, prior := f.labels(false), f.priorWidths(u)
	for i := range s.Parameters {
		p := &s.Parameters[i]
		p.Label = labels[i]
		p.Contract(prior[i])
	}
	for k, price := range f.PriceOfPrivacy() {
		s.Parameters[k].Price = &price
	}
	for k, share := range f.Shrinkage(u) {
		s.Parameters[k].Shrinkage = &share
	}
	return s
}

// kernel is the one that the method has run, empty where it has no choice.
func (f *Fit) kernel() string {
	if f.Kernel == "" && Traits(f.Method).Kernels {
		return string(gibbs.Exact)
	}
	return f.Kernel
}

// releases are what the fit is of, for its summary; none where it is of rows.
func (f *Fit) releases() (of []posterior.Release) {
	for _, c := range f.Custodians {
		r := posterior.Release{Name: posterior.Known(c.Name), N: posterior.Known(c.Release.N), Simulated: c.Release.Simulated, Noise: posterior.Known(string(c.Release.Noise.Kind)), NoiseSD: c.Release.Noise.SD(), Contradicts: slices.Contains(f.contradicting, c.Name)}
		if c.Release.Privacy != nil {
			r.Privacy = c.Release.Privacy
		}
		of = append(of, r)
	}
	return of
}

// labels are in the order of Draws, or of StanDraws, which has the whole of matrices.
func (f *Fit) labels(whole bool) []string {
	var x, custodians, labels []string
	for _, c := range f.Design.Covariates {
		x = append(x, c.Name)
	}
	for _, c := range f.Custodians {
		custodians = append(custodians, c.Name)
	}
	for _, p := range f.layout().Shown(whole) {
		labels = append(labels, p.Label(x, custodians))
	}
	return labels
}
