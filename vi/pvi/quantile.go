package pvi

import (
	"fmt"
	"math"
)

// Quantile moves a Guard's C to where a share Target of clients is not clipped (Andrew,
// Thakkar, McMahan & Ramaswamy, Differentially Private Learning with Adaptive Clipping,
// NeurIPS 2021). With b_m = 1 where a client's length is at most C, each round
//
//	C ← C exp(−Rate (b̃ − Target)),  b̃ = ½ + (Σ (b_m − ½) + noise)/M,
//
// the noise, of standard deviation Noise, being shared as the Guard's is. A client moves
// Σ(b_m − ½) by ½ and the sum of clipped ways by C; so that both together are as private as
// one release of multiplier σ, the latter's is
//
//	(σ⁻² − (2 Noise)⁻²)^(−½).
type Quantile struct {
	Target float64 // in (0, 1)
	Rate   float64 // 0.2 in the paper
	Noise  float64 // σ_b; above σ/2
}

func (q *Quantile) check(multiplier float64) error {
	switch {
	case q == nil:
		return nil
	case !(q.Target > 0 && q.Target < 1) || !(q.Rate > 0) || math.IsInf(q.Rate, 0):
		return fmt.Errorf("a clip that follows a quantile needs a target in (0, 1) and a positive rate, not %v and %v", q.Target, q.Rate)
	case !(2*q.Noise > multiplier) && multiplier > 0, math.IsInf(q.Noise, 0) || math.IsNaN(q.Noise):
		return fmt.Errorf("counts with noise %v leave nothing of a multiplier of %v: more than half of it is needed", q.Noise, multiplier)
	}
	return nil
}

// rest is the multiplier that is left for the ways.
func (q *Quantile) rest(multiplier float64) float64 {
	if q == nil || multiplier == 0 {
		return multiplier
	}
	return 1 / math.Sqrt(1/(multiplier*multiplier)-1/(4*q.Noise*q.Noise))
}

// bit is a client's noisy b − ½.
func (g *Guard) bit(below bool) float64 {
	b := []float64{-0.5}
	if below {
		b[0] = 0.5
	}
	multiplier := 0.
	if g.Multiplier > 0 {
		multiplier = 2 * g.Quantile.Noise
	}
	g.release(b, 0.5, multiplier)
	return b[0]
}

// adapt moves C at the end of a round of so many clients.
func (g *Guard) adapt(clients int) {
	if q := g.Quantile; q != nil {
		g.Clip *= math.Exp(-q.Rate * (0.5 + g.bits/float64(clients) - q.Target))
		g.bits = 0
	}
}
