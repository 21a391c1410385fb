package model

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/internal/dense"
)

// XLaw is a stated law of the covariates: NormalX, UniformX or SampledX. Their
// moments stand in for unknown ones in the method gibbs-ss-prior.
type XLaw interface {
	// Moments returns the moments of degree ≤ 4 of p covariates, of a law stated
	// in scaled units. Errors: a law of another number of covariates, or not one.
	Moments(p int) (*XMoments, error)
	// affine returns the law of (h_j x_j + c_j): a change of units.
	affine(h, c []float64) XLaw
}

// NormalX is x ~ N(Mean, Covariance): Mean has length p, Covariance is p×p
// row-major, symmetric positive definite.
type NormalX struct{ Mean, Covariance []float64 }

// Moments are in closed form.
func (l NormalX) Moments(p int) (*XMoments, error) {
	if err := l.check(p); err != nil {
		return nil, err
	}
	return normalMoments(l.Mean, l.Covariance), nil
}

// asymmetry is what a change of units leaves by rounding.
const asymmetry = 1e-12

func (l NormalX) check(p int) error {
	if len(l.Mean) != p || len(l.Covariance) != p*p {
		return fmt.Errorf("a normal law of %d covariates with %d covariances, the model has %d covariates", len(l.Mean), len(l.Covariance), p)
	}
	a := append([]float64(nil), l.Covariance...)
	symmetric := true
	for j := range p {
		for k := range j {
			u, v := a[j*p+k], a[k*p+j]
			symmetric = symmetric && math.Abs(u-v) <= asymmetry*max(math.Abs(u), math.Abs(v))
		}
	}
	if !symmetric || !dense.Cholesky(a, p) {
		return errors.New("the covariance of the normal law of the covariates is not symmetric and positive definite")
	}
	return nil
}

func (l NormalX) affine(h, c []float64) XLaw {
	p := len(l.Mean)
	out := NormalX{make([]float64, p), make([]float64, p*p)}
	for j := range p {
		out.Mean[j] = c[j] + h[j]*l.Mean[j]
		for k := range p {
			out.Covariance[j*p+k] = h[j] * l.Covariance[j*p+k] * h[k]
		}
	}
	return out
}

// UniformX is the uniform law on the box of the public bounds, [−1, 1]^p in
// scaled units.
type UniformX struct{}

// Moments are in closed form.
func (UniformX) Moments(p int) (*XMoments, error) { return uniformMoments(p), nil }

func (u UniformX) affine(_, _ []float64) XLaw { return u }

// SampledX is any law that can be drawn from: Rand writes one x of length p.
// Its moments are the means over Draws draws from a generator seeded by Seed, so that they
// are the same whenever they are computed.
type SampledX struct {
	Draws int
	Seed  uint64
	Rand  func(dst []float64, rng *rand.Rand)
}

// Moments are by Monte Carlo.
func (l SampledX) Moments(p int) (*XMoments, error) {
	if l.Rand == nil || l.Draws < 1 {
		return nil, errors.New("a sampled law of the covariates needs a sampler and at least one draw")
	}
	return sampledMoments(p, l.Draws, rand.New(rand.NewPCG(l.Seed, 0)), l.Rand)
}

func (l SampledX) affine(h, c []float64) XLaw {
	sample := l.Rand
	l.Rand = func(dst []float64, rng *rand.Rand) {
		sample(dst, rng)
		for j := range dst {
			dst[j] = c[j] + h[j]*dst[j]
		}
	}
	return l
}

// affineInverse returns the law of which l is the affine(h, c).
func affineInverse(l XLaw, h, c []float64) XLaw {
	inverse, shift := make([]float64, len(h)), make([]float64, len(h))
	for j := range h {
		inverse[j], shift[j] = 1/h[j], -c[j]/h[j]
	}
	return l.affine(inverse, shift)
}

// XMoments returns the moments of the covariates that the prior states: those of X,
// and where that is nil of N(m₀, E T), with E T = E Ψ₀(a)/(ν₀ − p − 1), E 1/a = A²/2.
func (p *Prior) XMoments() (*XMoments, error) {
	k := p.Covariates.Dim()
	if p.X != nil {
		return p.X.Moments(k)
	}
	if p.Covariates.Dof <= float64(k)+1 {
		return nil, errors.New(`the prior of the covariates has no mean of T, since its dof are not above p + 1: state a law of the covariates, "x"`)
	}
	v := make([]float64, k*k)
	NewMixture(p).Covariates.MeanT(v)
	return NormalX{p.Covariates.Mean, v}.Moments(k)
}
