package individual

import (
	"math"
	"math/rand/v2"
)

// flip negates one coordinate of v̄ or one of P below its diagonal: the noisier
// linear statistics may leave a sign open that the quadratic ones tell nothing of,
// so that the posterior has mirrored modes which no trajectory joins. The residuals
// stay. The negation is an involution of Jacobian 1, so Metropolis' test leaves
// the posterior invariant.
type flip struct {
	density  *density
	signs    []int
	proposed []float64
	grad     []float64
}

func newFlip(f *density) *flip {
	k := &flip{density: f, proposed: make([]float64, f.Dim()), grad: make([]float64, f.Dim())}
	for i := range f.means() {
		k.signs = append(k.signs, i)
	}
	for i := range f.m {
		for j := range i {
			k.signs = append(k.signs, f.means()+diagonal(i)-i+j)
		}
	}
	return k
}

// step moves x, at which the log density is known; it reports whether it did.
func (f *flip) step(x []float64, logp float64, rng *rand.Rand) bool {
	at := f.signs[rng.IntN(len(f.signs))]
	copy(f.proposed, x)
	f.proposed[at] = -x[at]
	after, err := f.density.LogDensity(f.grad, f.proposed)
	if err != nil || !(rng.Float64() < math.Exp(after-logp)) {
		return false
	}
	x[at] = -x[at]
	return true
}
