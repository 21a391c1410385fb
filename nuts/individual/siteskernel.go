package individual

import (
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

// Adapt is called by the driver after each warm-up step.
func (k *sitesKernel) Adapt(iteration, warmup int) {
	if done := iteration + 1; done == warmup/20 || done == warmup/10 {
		k.Moved() // s at the chain's position
		for _, s := range k.density.all {
			s.noise.Reach(s.s)
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
