package accounting

import (
	"fmt"
	"math"
)

// DefaultMoments is how many moments Abadi et al. (2016) take.
const DefaultMoments = 32

// Moments returns the ε of the moments accountant for δ: with α(λ) the log moment
// log E_P e^{λℓ} of all steps,
//
//	ε = min over λ = 1, …, most of (α(λ) + log(1/δ))/λ
//
// (Abadi et al., Deep Learning with Differential Privacy, CCS 2016, Theorem 2). α(λ) is
// λ times the Rényi divergence of order λ + 1. Errors: delta not in [MinDelta, 1), most
// below 1, nothing composed.
func (c *Composition) Moments(delta float64, most int) (float64, error) {
	if err := inRange(delta); err != nil {
		return 0, err
	}
	switch {
	case most < 1:
		return 0, fmt.Errorf("the moments accountant needs at least 1 moment, not %d", most)
	case len(c.pairs) == 0:
		return 0, errEmpty
	}
	return momentsEpsilon(c.moments(most), delta), nil
}

// moments are α(λ)/λ.
func (c *Composition) moments(most int) []float64 {
	all := make([]float64, most)
	for i := range all {
		all[i] = c.RDP(float64(i + 2))
	}
	return all
}

func momentsEpsilon(moments []float64, delta float64) float64 {
	best := math.Inf(1)
	for i, m := range moments {
		best = math.Min(best, m-math.Log(delta)/float64(i+1))
	}
	return best
}
