package individual

import (
	"math"
	"math/rand/v2"
)

// flip offers the negation of a mean or a coefficient; see flip.
func (k *sitesKernel) flip(rng *rand.Rand) {
	at := k.signs[rng.IntN(len(k.signs))]
	copy(k.proposed, k.Position())
	k.density.negate(k.proposed, at)
	after, err := k.density.LogDensity(k.grad, k.proposed)
	if err == nil && rng.Float64() < math.Exp(after-k.LogDensity()) {
		k.MoveTo(k.proposed, after, k.grad)
	}
}

// signs lists what flips negate, by coordinate: coefficients and means.
func (f *sites) signs() []int {
	signs := f.hub.Signs()
	for j := range f.all {
		for k := range f.theta - 1 { // σ_j has no sign
			signs = append(signs, f.at(j)+k)
		}
		if !f.hub.Shared() {
			for i := range f.hub.Shape.P {
				signs = append(signs, f.at(j)+f.theta+i)
			}
		}
	}
	return signs
}

// negate negates what signs has at a coordinate. Where pooling is partial, a coefficient
// of θ goes with those of all θ_j, and a coordinate of θ_j stands for its coefficient. At
// fixed Ω the coordinates of θ_j are linear in θ and θ_j, so that this is an involution of
// Jacobian 1.
func (f *sites) negate(x []float64, at int) {
	k, of := at, f.all
	if behind := at - f.lead; behind >= 0 {
		k, of = behind%f.block, f.all[behind/f.block:][:1]
	}
	if k >= f.theta {
		x[at] = -x[at]
		return
	}
	for j := range f.all {
		f.set(x, j)
	}
	for _, s := range of {
		s.pooled.Theta[k] = -s.pooled.Theta[k]
	}
	if at == k {
		x[at] = -x[at]
	}
	f.hold(x)
}
