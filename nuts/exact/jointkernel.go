package exact

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts"
	"github.com/dpreg/dpreg/release"
)

// jointKernel is one chain for several releases: NUTS and flips move the shared
// parameters and all statistics.
type jointKernel struct {
	*nuts.Sampler
	density  *joint
	weave    *model.Interweave // nil unless pooling is partial
	hubSigns []int
	signs    []int // of a spoke's coordinates
	x        []float64
	proposed []float64
	grad     []float64
}

// accept is the acceptance to adapt to. Where noises differ normal ones are too steep for
// that of Laplace's alone.
func (f *joint) accept() float64 {
	laplace := 0
	for _, s := range f.spokes {
		if s.Kind == release.Laplace {
			laplace++
		}
	}
	switch laplace {
	case 0:
		return steepAccept
	case len(f.spokes):
		return kinkedAccept
	}
	return 0 // the default
}

func newJointKernel(t *model.Joint, rng *rand.Rand) (*jointKernel, error) {
	f := newJoint(t)
	k := &jointKernel{density: f, hubSigns: f.hub.Signs(), signs: f.spokes[0].signs(),
		x: make([]float64, f.Dim()), proposed: make([]float64, f.Dim()), grad: make([]float64, f.Dim())}
	if t.Partial {
		var sites []*model.Pooled
		for _, s := range f.spokes {
			sites = append(sites, s.pooled)
		}
		k.weave = model.NewInterweave(f.hub.Hub, sites)
	}
	y := make([]float64, f.Dim())
	if err := f.start(t, y, rng); err != nil {
		return nil, err
	}
	o := nuts.Options{Dense: f.hub.Dim(), Blocks: f.blocks(), TargetAccept: f.accept()}
	var err error
	if k.Sampler, err = nuts.New(f, y, o); err != nil {
		return nil, errRounding
	}
	return k, nil
}

// signs lists the coordinates of a spoke to negate, those of x̄ and P below its
// diagonal; Bartlett's rows have the signs of the hub's.
func (s *spoke) signs() (at []int) {
	if s.covariates == nil {
		return nil
	}
	for _, i := range signs(s.p) {
		at = append(at, s.lead()+i)
	}
	return at
}

// Step does one transition.
func (k *jointKernel) Step(rng *rand.Rand) nuts.Info {
	info := k.Sampler.Step(rng)
	k.flip(rng)
	if k.weave != nil {
		k.interweave(rng)
	}
	info.LogDensity = k.LogDensity()
	return info
}

// interweave moves the spread, and takes each spoke's coordinates of the same (θ_j, σ_j).
func (k *jointKernel) interweave(rng *rand.Rand) {
	f := k.density
	f.set(k.Position())
	copy(k.x, f.x)
	k.weave.Step(k.x[f.at[0]-f.hub.Spread.Dim():f.at[0]], rng)
	for j, s := range f.spokes {
		s.pooled.Coordinates(k.x[f.at[j]:])
	}
	f.frame.toY(k.proposed, k.x)
	if after, err := f.LogDensity(k.grad, k.proposed); err == nil {
		k.MoveTo(k.proposed, after, k.grad)
	}
}

// flip negates one coordinate, as flip does for one release: one of the hub, or half of
// the time, where they have such, one of a spoke.
func (k *jointKernel) flip(rng *rand.Rand) {
	at := k.hubSigns[rng.IntN(len(k.hubSigns))]
	if len(k.signs) > 0 && rng.IntN(2) == 0 {
		at = k.density.at[rng.IntN(len(k.density.spokes))] + k.signs[rng.IntN(len(k.signs))]
	}
	k.density.frame.toX(k.x, k.Position())
	k.x[at] = -k.x[at]
	k.density.frame.toY(k.proposed, k.x)
	after, err := k.density.LogDensity(k.grad, k.proposed)
	if err == nil && rng.Float64() < math.Exp(after-k.LogDensity()) {
		k.MoveTo(k.proposed, after, k.grad)
	}
}

// Adapt is called by the driver after each warm-up step.
func (k *jointKernel) Adapt(iteration, warmup int) {
	if done := iteration + 1; done == warmup/20 || done == warmup/10 {
		k.density.set(k.Position())
		for _, s := range k.density.spokes {
			s.vector(k.density.s)
			s.noise.Reach(k.density.s)
		}
		k.Moved()
	}
	k.Sampler.Adapt(iteration, warmup)
}

// Params writes the parameters in the order of model.Joint.Names.
func (k *jointKernel) Params(dst []float64) {
	f := k.density
	f.set(k.Position())
	at := f.hub.Write(dst)
	for _, s := range f.spokes {
		if s.pooled != nil {
			at += s.pooled.Write(dst[at:])
		}
	}
	for _, s := range f.spokes {
		if s.Count.Latent() {
			dst[at] = s.n
			at++
		}
	}
}
