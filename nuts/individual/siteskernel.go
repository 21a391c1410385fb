package individual

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts"
)

// sitesKernel is one chain for several releases: NUTS moves parameters and rows, flips a
// sign among them, and where pooling is partial Ω moves with every θ_j held.
type sitesKernel struct {
	*nuts.Sampler
	density  *sites
	weave    *model.Interweave // nil unless pooling is partial
	signs    []int
	proposed []float64
	grad     []float64
}

func newSitesKernel(t *model.Joint, clamping bool, rng *rand.Rand) (*sitesKernel, error) {
	f := newSites(t, clamping)
	k := &sitesKernel{density: f, signs: f.signs(), proposed: make([]float64, f.Dim()), grad: make([]float64, f.Dim())}
	if t.Partial {
		var of []*model.Pooled
		for _, s := range f.all {
			of = append(of, s.pooled)
		}
		k.weave = model.NewInterweave(f.hub, of)
	}
	x, o := make([]float64, f.Dim()), nuts.Options{Dense: f.lead}
	for range f.all {
		o.Blocks = append(o.Blocks, f.block)
	}
	if !f.start(t, x, rng) {
		return nil, errStart
	}
	var err error
	if k.Sampler, err = nuts.New(f, x, o); err != nil {
		return nil, errStart
	}
	return k, nil
}

// Step does one transition.
func (k *sitesKernel) Step(rng *rand.Rand) nuts.Info {
	info := k.Sampler.Step(rng)
	k.flip(rng)
	if k.weave != nil {
		k.interweave(rng)
	}
	info.LogDensity = k.LogDensity()
	return info
}

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

// interweave moves Ω, and takes each site's coordinates of the same θ_j.
func (k *sitesKernel) interweave(rng *rand.Rand) {
	f, x := k.density, k.proposed
	copy(x, k.Position())
	f.hub.Constrain(x[:f.lead])
	for j := range f.all {
		f.set(x, j)
	}
	k.weave.Step(x[f.base:f.lead], rng)
	f.hold(x)
	if after, err := f.LogDensity(k.grad, x); err == nil {
		k.MoveTo(x, after, k.grad)
	}
}

// signs lists what flips negate, by coordinate: coefficients and means.
func (f *sites) signs() []int {
	signs := f.hub.Signs()
	for j := range f.all {
		for k := range f.theta {
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

// Adapt is called by the driver after each warm-up step.
func (k *sitesKernel) Adapt(iteration, warmup int) {
	if done := iteration + 1; done == warmup/20 || done == warmup/10 {
		k.Moved() // s at the chain's position
		for _, s := range k.density.all {
			s.noise.Widen(s.s)
		}
		k.Moved()
	}
	k.Sampler.Adapt(iteration, warmup)
}

// Params writes the parameters in the order of model.Joint.Names.
func (k *sitesKernel) Params(dst []float64) {
	f, x := k.density, k.Position()
	f.hub.Constrain(x[:f.lead])
	at := f.hub.Write(dst)
	for j, s := range f.all {
		if s.pooled != nil {
			f.set(x, j)
			at += copy(dst[at:], s.theta)
		}
	}
}
