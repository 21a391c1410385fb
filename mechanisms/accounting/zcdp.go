package accounting

import "math"

// ZCDP returns the ρ for which the composition is ρ-zero-concentrated differentially
// private: Rényi divergences of all orders α are at most ρα (Bun & Steinke,
// Concentrated Differential Privacy, TCC 2016). Noise that is (ε, 0)-differentially
// private has ρ = ε²/2. ok is false where there is none: with sampling.
func (c *Composition) ZCDP() (rho float64, ok bool) {
	for j, p := range c.pairs {
		switch p := p.(type) {
		case laplace:
			rho += c.counts[j] / (2 * p.scale * p.scale)
		case pure:
			rho += c.counts[j] * p.epsilon * p.epsilon / 2
		case sampled:
			if p.q < 1 {
				return 0, false
			}
			rho += c.counts[j] * p.renyi(1)
		default:
			return 0, false
		}
	}
	return rho * (1 + 1e-14*float64(len(c.pairs)+4)), true
}

// ZCDPEpsilon returns an ε for δ that follows from ρ: RDPEpsilon of ρα at the best of
// many orders α. It is not above ρ + 2√(ρ log(1/δ)). Errors: rho negative or not
// finite, delta not in [MinDelta, 1).
func ZCDPEpsilon(rho, delta float64) (float64, error) {
	if err := check(nonNegative("rho", rho), inRange(delta)); err != nil {
		return 0, err
	}
	// At the order 1 + √(log(1/δ)/ρ) the bound is the one above less a bit.
	best := math.Inf(1)
	start := math.Sqrt(-math.Log(delta) / math.Max(rho, 1e-300))
	for factor := 0.1; factor < 10; factor *= 1.001 {
		order := 1 + factor*start
		best = math.Min(best, RDPEpsilon(order, rho*order, delta))
	}
	return best, nil
}
