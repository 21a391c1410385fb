package posterior

import "math"

// covariances gives γ̂(t), the mean over chains of their autocovariances at
// lag t.
type covariances interface{ at(t int) float64 }

// effectiveSize returns the effective sample size of chains of length n with
// the given means (Vehtari et al. 2021, section 3.2). With W the mean within-chain
// variance and V the pooled estimate of the posterior variance,
//
//	ρ̂(t) = 1 − (W − γ̂(t)) / V,   τ̂ = −1 + 2 Σ_t P(t),   ESS = S / τ̂,
//
// where P(t) = ρ̂(2t) + ρ̂(2t+1) is summed while positive and made monotone
// (Geyer 1992, Statistical Science 7(4)). τ̂ is not let below 1/log₁₀ S.
// Pairs and the last, single lag are treated as R's posterior treats them.
// It is NaN for chains of fewer than three draws, for constants, and where
// a variance overflows.
func effectiveSize(a covariances, length int, means []float64) float64 {
	if length < 3 {
		return math.NaN()
	}
	n := float64(length)
	within := a.at(0) * n / (n - 1)
	pooled := a.at(0)
	if len(means) > 1 {
		pooled += variance(means, mean(means))
	}
	if !(pooled > 0) || math.IsInf(pooled, 0) {
		return math.NaN()
	}
	rho := func(t int) float64 { return 1 - (within-a.at(t))/pooled }
	size := float64(len(means)) * n
	return size / max(integratedTime(rho, length), 1/math.Log10(size))
}

// integratedTime sums ρ over Geyer's initial monotone sequence of pairs.
func integratedTime(rho func(t int) float64, n int) float64 {
	even, odd := 1.0, rho(1)
	previous := math.Inf(1) // the last pair's sum, made monotone
	pair := even + odd
	sum := 0.0
	t := 0
	for ; t < n-5 && even+odd > 0; t += 2 {
		// The pair at t is final once the one after it has been looked at.
		previous = min(previous, pair)
		sum += previous
		even, odd = rho(t+2), rho(t+3)
		pair = even + odd
	}
	if t == 0 {
		// No pair at all: R's rho[1:0] takes ρ(0) twice.
		return 2
	}
	if even <= 0 && pair < 0 {
		even = 0
	}
	return -1 + 2*sum + even
}
