package model

import "math/rand/v2"

// Law is the mean μ_t and the covariance Σ_t of one row's statistics
// t(v) = (v_j ; v_j v_k, j ≤ k), canonical order, given the parameters: all that
// the CLT's law N(nμ_t, nΣ_t) of s needs. Moments takes the moments of x from
// the parameters, FixedMoments has them from elsewhere. A Law holds a workspace,
// so each chain needs its own; none of its methods allocates.
type Law interface {
	// Set takes the parameters that the other methods speak of.
	Set(x *Params)
	// Factor prepares Rand; it reports false where rounding leaves a covariance
	// indefinite.
	Factor() bool
	// Expect writes nμ_t.
	Expect(dst []float64, n float64)
	// Covariance writes the lower triangle of nΣ_t, row-major; what stands above
	// the diagonal is left as it is.
	Covariance(dst []float64, n float64)
	// Rand draws N(nμ_t, nΣ_t), after Factor.
	Rand(dst []float64, n float64, rng *rand.Rand)
}
