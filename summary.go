package dpreg

import (
	"fmt"
	"math"

	"github.com/dpreg/dpreg/posterior"
)

// Summary summarises Draws(u), with equal-tailed intervals at a level between 0
// and 1 (else it panics). Labels are the columns' names: (Intercept), x, sigma,
// mean(x), var(x), cov(x, w). Learned is 1 − posterior variance / prior
// variance, both in these units, and nil where the prior variance is infinite, and
// for n, whose prior is flat.
func (f *Fit) Summary(u Units, level float64) *posterior.Summary {
	s := posterior.Summarise(f.Draws(u), level)
	s.Method, s.N, s.Units = f.Method, f.N, string(u)
	if f.Custodians != nil {
		s.Custodians = f.joint(u)
	}
	labels, prior := f.labels(), f.priorVariances(u)
	for i := range s.Parameters {
		p := &s.Parameters[i]
		p.Label = labels[i]
		if v := prior[i]; v > 0 && !math.IsInf(v, 1) {
			learned := 1 - p.SD*p.SD/v
			p.Learned = &learned
		}
	}
	return s
}

// labels are in the order of Draws.
func (f *Fit) labels() []string {
	x := f.Design.Covariates
	labels := append(f.coefficients(), "sigma2", "sigma")
	if f.hasCovariates() {
		for _, c := range x {
			labels = append(labels, fmt.Sprintf("mean(%s)", c.Name))
		}
		eachPair(len(x), false, func(j, k int) {
			if j == k {
				labels = append(labels, fmt.Sprintf("var(%s)", x[j].Name))
				return
			}
			labels = append(labels, fmt.Sprintf("cov(%s, %s)", x[j].Name, x[k].Name))
		})
	}
	if f.hasCount() {
		labels = append(labels, "n")
	}
	_, more := f.jointColumns(false)
	return append(labels, more...)
}

// priorVariances are the marginal ones, in the order of Draws.
func (f *Fit) priorVariances(u Units) []float64 {
	prior, p, q := f.priorIn(u), f.shape().P, f.shape().Q()
	v := make([]float64, q, q+2+p+p*(p+1)/2)
	prior.Theta.VarTheta(v)
	v = append(v, prior.Theta.VarSigma2(), prior.Theta.VarSigma())
	if f.hasCovariates() {
		mu, tau := make([]float64, p), make([]float64, p*p)
		prior.Covariates.VarMu(mu)
		prior.Covariates.VarT(tau)
		v = append(v, mu...)
		eachPair(p, false, func(j, k int) { v = append(v, tau[j*p+k]) })
	}
	if f.hasCount() {
		v = append(v, math.Inf(1)) // a flat prior: learned has no meaning
	}
	return append(v, f.jointPriorVariances(u, v[:q])...)
}
