package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

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
