package model

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

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
	v := NewMixture(p).Covariates.Scale
	for i := range v {
		v[i] /= p.Covariates.Dof - float64(k+1)
	}
	return NormalX{p.Covariates.Mean, v}.Moments(k)
}

// XMoments are the moments of degree ≤ 4 of p covariates in scaled units, as the
// moment matrix M = E uuᵀ of their monomials of degree ≤ 2,
//
//	u = (1 ; x_1 … x_p ; x_j x_k, j ≤ k row by row).
//
// M is positive semidefinite and M₀₀ = 1.
type XMoments struct {
	P int
	M []float64 // d×d row-major, symmetric, d = 1 + p + p(p+1)/2
}

// monomials is d, the length of u.
func monomials(p int) int { return 1 + p + p*(p+1)/2 }

// factors lists u's monomials, each as the indices of its factors: {} is 1,
// {j} is x_j and {j, k} is x_j x_k, indices from 0.
func factors(p int) [][]int {
	u := [][]int{{}}
	for j := range p {
		u = append(u, []int{j})
	}
	for j := range p {
		for k := j; k < p; k++ {
			u = append(u, []int{j, k})
		}
	}
	return u
}

// newXMoments builds M from the moment of each product of at most four
// covariates, whose indices it passes in ascending order.
func newXMoments(p int, moment func(product []int) float64) *XMoments {
	u := factors(p)
	d := len(u)
	x := &XMoments{P: p, M: make([]float64, d*d)}
	product := make([]int, 0, 4)
	for r := range d {
		for c := range r + 1 {
			product = append(append(product[:0], u[r]...), u[c]...)
			slices.Sort(product)
			v := moment(product)
			x.M[r*d+c], x.M[c*d+r] = v, v
		}
	}
	return x
}

// normalMoments are those of x ~ N(μ, V), V p×p row-major. With S = V + μμᵀ
//
//	E x_i x_j x_k     = μ_i S_jk + μ_j S_ik + μ_k S_ij − 2 μ_i μ_j μ_k
//	E x_i x_j x_k x_l = S_ij S_kl + S_ik S_jl + S_il S_jk − 2 μ_i μ_j μ_k μ_l.
func normalMoments(mu, v []float64) *XMoments {
	p := len(mu)
	s := func(i, j int) float64 { return v[i*p+j] + mu[i]*mu[j] }
	return newXMoments(p, func(f []int) float64 {
		switch len(f) {
		case 0:
			return 1
		case 1:
			return mu[f[0]]
		case 2:
			return s(f[0], f[1])
		case 3:
			i, j, k := f[0], f[1], f[2]
			return mu[i]*s(j, k) + mu[j]*s(i, k) + mu[k]*s(i, j) - 2*mu[i]*mu[j]*mu[k]
		}
		i, j, k, l := f[0], f[1], f[2], f[3]
		return s(i, j)*s(k, l) + s(i, k)*s(j, l) + s(i, l)*s(j, k) - 2*mu[i]*mu[j]*mu[k]*mu[l]
	})
}

// uniformMoments are those of the uniform law on [−1, 1]^p: E x^k is 1/(k+1) for
// even k and 0 for odd k, and covariates are independent.
func uniformMoments(p int) *XMoments {
	return newXMoments(p, func(f []int) float64 {
		moment := 1.0
		for len(f) > 0 {
			k := 1
			for k < len(f) && f[k] == f[0] {
				k++
			}
			if k%2 == 1 {
				return 0
			}
			moment /= float64(k + 1)
			f = f[k:]
		}
		return moment
	})
}

// sampledMoments are the means over draws of a sampler, the covariates one after
// the other in its dst: positive semidefinite whatever their number.
func sampledMoments(p, draws int, rng *rand.Rand, sample func(dst []float64, rng *rand.Rand)) (*XMoments, error) {
	d := monomials(p)
	x := &XMoments{P: p, M: make([]float64, d*d)}
	u := make([]float64, d)
	u[0] = 1
	for range draws {
		v := u[1 : p+1]
		sample(v, rng)
		at := 1 + p
		for j := range p {
			if math.IsNaN(v[j]) || math.IsInf(v[j], 0) {
				return nil, fmt.Errorf("the sampler of covariates drew %v for covariate %d", v[j], j+1)
			}
			for k := j; k < p; k++ {
				u[at] = v[j] * v[k]
				at++
			}
		}
		for r, a := range u {
			for c, b := range u[:r+1] {
				x.M[r*d+c] += a * b
			}
		}
	}
	for r := range d {
		for c := range r + 1 {
			v := x.M[r*d+c] / float64(draws)
			x.M[r*d+c], x.M[c*d+r] = v, v
		}
	}
	return x, nil
}
