package model

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dpreg/dpreg/internal/dense"
)

// XLaw is a stated law of the covariates: NormalX or UniformX. Their
// moments stand in for unknown ones in the method gibbs-ss-prior.
type XLaw interface {
	// Moments returns the moments of degree ≤ 4 of p covariates, of a law stated
	// in scaled units. Errors: a law of another number of covariates, or not one.
	Moments(p int) (*XMoments, error)
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
	a := slices.Clone(l.Covariance)
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

// changed returns the law of (c_j + h_j x_j), by power −1 the one of which l is that.
func (l NormalX) changed(h, c []float64, power float64) NormalX {
	p := len(l.Mean)
	out := NormalX{make([]float64, p), make([]float64, p*p)}
	unit := func(j int) (h1, c1 float64) {
		if power < 0 {
			return 1 / h[j], -c[j] / h[j]
		}
		return h[j], c[j]
	}
	for j := range p {
		hj, cj := unit(j)
		out.Mean[j] = cj + hj*l.Mean[j]
		for k := range p {
			hk, _ := unit(k)
			out.Covariance[j*p+k] = hj * l.Covariance[j*p+k] * hk
		}
	}
	return out
}

// UniformX is the uniform law on the box of the public bounds, [−1, 1]^p in
// scaled units.
type UniformX struct{}

// Moments are in closed form.
func (UniformX) Moments(p int) (*XMoments, error) { return uniformMoments(p), nil }

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
