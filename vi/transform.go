package vi

import "math"

// Transformations of parameters with a support to R, as in Stan: a Model's LogPrior adds
// the logarithm of their Jacobians.
//
// A positive parameter is e^u, and its log Jacobian is u.

// simplex is x on the simplex of K parts, by breaking K−1 times a part off a stick:
//
//	x_k = z_k ∏_{j<k} (1 − z_j),  z_k = 1/(1 + (K−k) e^{−u_k}),  z_K = 1,
//
// k = 1, …, K; u = 0 is the middle. log x_k has the gradient 1 − z_k in u_k and −z_j in
// u_j, j < k. The log Jacobian is Σ_k log x_k, so the Dirichlet law of parameters α has
// the density Π x_k^α_k in u, up to a constant.
type simplex struct {
	log []float64 // log x_k, length K
	z   []float64 // length K−1
}

func newSimplex(parts int) simplex {
	return simplex{log: make([]float64, parts), z: make([]float64, parts-1)}
}

// set finds log x and z from u, length K−1.
func (s simplex) set(u []float64) {
	rest := 0. // log of what is left of the stick
	for k, v := range u {
		v -= math.Log(float64(len(u) - k))
		s.z[k] = 1 / (1 + math.Exp(-v))
		s.log[k] = rest - softplus(-v)
		rest -= softplus(v)
	}
	s.log[len(u)] = rest
}

// pull writes the gradient in u of a function with gradient f in log x.
func (s simplex) pull(dst, f []float64) {
	after := f[len(s.z)]
	for k := len(s.z) - 1; k >= 0; k-- {
		dst[k] = f[k]*(1-s.z[k]) - s.z[k]*after
		after += f[k]
	}
}

// softplus is log(1 + e^x).
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }
