package accounting

import "math"

// knots is at how many ε AsGaussian looks.
const knots = 16

// AsGaussian returns a μ for which the composition is, up to delta, no less private than
// one release of Gaussian noise with a sensitivity of μ standard deviations: with d(ε) the
// smallest δ for which it is (ε, δ)-differentially private,
//
//	d(ε) ≤ delta + (1 − delta) g(ε),  g(ε) = δ(ε, 1/μ, 1) of (1),
//
// for every ε ≥ 0. Where Epsilon(delta) ends, d is delta: it is for smaller ε to be shown.
// Both sides are convex in z = e^ε. So between two knots a and b d is below its chord, g
// above its tangent at a point m between them,
//
//	g(m) − (z − e^m) Φ(−μ/2 − m/μ),
//
// and these are straight lines: it is enough to compare them at a and at b. For sums over
// many samples μ is about that of Gaussian noise with the same (Epsilon(delta), delta), to
// some hundredths. Errors: as of Epsilon, no μ.
func (c *Composition) AsGaussian(delta float64) (mu float64, err error) {
	end, err := c.Epsilon(delta)
	if err != nil {
		return 0, err
	}
	var epsilons, deltas [knots + 1]float64
	for i := range knots {
		epsilons[i] = end.Upper * float64(i) / knots
		d, err := c.Delta(epsilons[i])
		if err != nil {
			return 0, err
		}
		deltas[i] = d.Upper
	}
	epsilons[knots], deltas[knots] = end.Upper, delta
	return smallest("mu", func(mu float64) bool {
		for i := range knots {
			if !covered(mu, delta, epsilons[i], epsilons[i+1], deltas[i], deltas[i+1]) {
				return false
			}
		}
		return true
	})
}

// covered compares the lines at knots a and b.
func covered(mu, delta, a, b, deltaA, deltaB float64) bool {
	m := (a + b) / 2
	at, slope := math.Exp(logDelta(m, 1/mu, 1)), upperTail(mu/2+m/mu)
	above := func(z, d float64) bool {
		drop := slope * (math.Exp(z) - math.Exp(m))
		return d-delta <= (1-delta)*(at-drop-margin*(at+math.Abs(drop)))
	}
	return above(a, deltaA) && above(b, deltaB)
}
