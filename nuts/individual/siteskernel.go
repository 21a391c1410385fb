package individual

import (
	"math/rand/v2"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts"
)

// newSitesKernel starts a chain of sites. Its moves flip signs and, where pooling is partial,
// move Ω with every θ_j held.
func newSitesKernel(t *model.Joint, clamping bool, rng *rand.Rand) (*nuts.Kernel, error) {
	f := newSites(t, clamping)
	x, o := make([]float64, f.Dim()), nuts.Options{Dense: f.lead}
	for range f.all {
		o.Blocks = append(o.Blocks, f.block)
	}
	if !f.start(t, x, rng) {
		return nil, errStart
	}
	return begin(f, x, o)
}

// Move flips, and interweaves.
func (f *sites) Move(k *nuts.Kernel, rng *rand.Rand) {
	f.flip(k, rng)
	if f.weave != nil {
		f.interweave(k, rng)
	}
}

// flip negates a mean or a coefficient; see density.Move.
func (f *sites) flip(k *nuts.Kernel, rng *rand.Rand) {
	at := f.signs[rng.IntN(len(f.signs))]
	x, _ := k.Proposal()
	f.negate(x, at)
	k.Try(x, rng)
}

// interweave moves the spread, and takes each site's coordinates of the same (θ_j, σ_j).
func (f *sites) interweave(k *nuts.Kernel, rng *rand.Rand) {
	x, _ := k.Proposal()
	f.hub.Constrain(x[:f.lead])
	for j := range f.all {
		f.set(x, j)
	}
	f.weave.Step(x[f.base:f.lead], rng)
	f.hold(x)
	k.Put(x)
}

// Reach makes the noise's slopes the derivative about x.
func (f *sites) Reach(x []float64) {
	f.LogDensity(make([]float64, len(x)), x) // the statistics at x
	for _, s := range f.all {
		s.noise.Reach(s.s)
	}
}

// Write writes the parameters in the order of model.Joint.Names.
func (f *sites) Write(dst, x []float64) {
	f.hub.Constrain(x[:f.lead])
	at := f.hub.Write(dst)
	for j, s := range f.all {
		if s.pooled != nil {
			f.set(x, j)
			at += s.pooled.Write(dst[at:])
		}
	}
}

// allSigns lists what flips negate, by coordinate: coefficients and means.
func (f *sites) allSigns() []int {
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
