package exact

import (
	"math/rand/v2"
	"slices"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts"
	"github.com/dpreg/dpreg/release"
)

// joint is the posterior of several releases,
//
//	p(hub) ∏_j p(s_j | hub) p(z_j | s_j),
//
// in coordinates y that a linear map (frame) takes to those of the hub and, behind
// them, of each spoke: were all normal, the map where a chain starts would make y
// standard, so that the chain need not find out by itself what z leaves open. Where
// noise is weak, that is a thin sheet along which all spokes follow the hub. That one
// release is the posterior of statistics alone, density, with θ and σ² integrated out
// too, would here tie all releases to one another; given the hub they are independent,
// and an evaluation as well as the metric cost in proportion to their number.
type joint struct {
	hub    *hub
	spokes []part
	at     []int // where the spokes begin, and the end
	frame  *arrow
	x      []float64
	levels bool    // spokes are levels of one release
	n      float64 // of these, where it is public; else 0

	kurtosis model.Kurtosis
	weave    *model.Interweave // nil unless pooling is partial
	hubSigns []int
	signs    []int // of a spoke's coordinates
}

func newJoint(t *model.Joint) *joint {
	raw := t.Sites
	if t.Family != model.Normal {
		own := *t
		own.Sites = nil
		for _, s := range raw {
			own.Sites = append(own.Sites, knowing(s))
		}
		t = &own
	}
	hub := *t
	hub.Shared = t.Shared && !leveled(t) // covariates of levels have a law in the spoke
	f := &joint{hub: newHub(&hub), kurtosis: t.Prior.Kurtosis}
	f.at = []int{f.hub.Dim()}
	if site := t.Sites[0]; site.PerLevel() {
		f.levels, t = true, levelsOf(t)
		raw = t.Sites
		if !site.Count.Latent() {
			f.n = site.N
		}
	}
	for j := range t.Sites {
		s := newPart(t, j, f.hub.Hub, raw[j])
		if first, of := s.(*spoke); of && j == 0 {
			first.rows.rest = f.n > 0
		}
		f.spokes = append(f.spokes, s)
		f.at = append(f.at, f.at[j]+s.dim())
	}
	f.frame, f.x = newArrow(f.at), vec(f.Dim())
	f.hubSigns, f.signs = f.hub.Signs(), f.spokes[0].signs()
	if t.Partial {
		var sites []*model.Pooled
		for _, s := range f.spokes {
			sites = append(sites, s.common().pooled)
		}
		f.weave = model.NewInterweave(f.hub.Hub, sites)
	}
	return f
}

func newPart(t *model.Joint, j int, hub *model.Hub, raw *model.Site) part {
	switch {
	case counted(t.Sites[j].Observation, t.Family):
		return newCountSpoke(t, j, hub, raw)
	case byFactor(t.Sites[j].Observation):
		return newLevelSpoke(t, j, hub, raw)
	}
	return newSpoke(t, j, hub, raw)
}

// Dim returns the number of coordinates.
func (f *joint) Dim() int { return f.at[len(f.spokes)] }

// blocks are the sizes of the spokes' coordinates, of those that have any.
func (f *joint) blocks() (sizes []int) {
	for j := range f.spokes {
		if size := f.at[j+1] - f.at[j]; size > 0 {
			sizes = append(sizes, size)
		}
	}
	return sizes
}

// LogDensity returns the log density up to a constant, and its gradient.
func (f *joint) LogDensity(grad, y []float64) (float64, error) {
	f.frame.toX(f.x, y)
	h := f.at[0]
	if !f.hub.Constrain(f.x[:h]) {
		return 0, nuts.ErrReject
	}
	logp := f.hub.LogPrior(grad[:h])
	f.takeRest(f.x)
	for j, s := range f.spokes {
		from, to := f.at[j], f.at[j+1]
		v, ok := s.add(grad[from:to], f.x[from:to])
		if !ok {
			return 0, nuts.ErrReject
		}
		logp += v
	}
	logp += f.hub.Pull(grad[:h])
	f.giveRest(grad)
	f.frame.pull(grad)
	return logp, nil
}

// set takes parameters and statistics of y.
func (f *joint) set(y []float64) {
	f.frame.toX(f.x, y)
	f.hub.Constrain(f.x[:f.at[0]])
	f.takeRest(f.x)
	for j, s := range f.spokes {
		s.set(f.x[f.at[j]:f.at[j+1]])
	}
}

// kinkedAccept is the acceptance to adapt to where all noise is Laplace's, of which with five covariates
// the smoothed slopes alone keep it below 0.83, however short the step.
const kinkedAccept = 0.75

// target is the acceptance to adapt to; 0, the default, where some noise is normal.
func (f *joint) target() float64 {
	if slices.ContainsFunc(f.spokes, func(s part) bool { return s.common().Kind != release.Laplace }) {
		return 0
	}
	return kinkedAccept
}

// newJointKernel starts a chain of joint. Its moves flip signs and, where pooling is
// partial, interweave the spread of coefficients.
func newJointKernel(t *model.Joint, rng *rand.Rand) (*nuts.Sampler, error) {
	f := newJoint(t)
	start := func(y []float64, rng *rand.Rand) bool { return f.start(t, y, rng) }
	return startAt(f, start, nuts.Options{Dense: f.hub.Dim(), Blocks: f.blocks(), TargetAccept: f.target(), LearnLength: true}, rng)
}

// Reach makes the noise's slopes the derivative about y.
func (f *joint) Reach(y []float64) {
	f.set(y)
	for _, s := range f.spokes {
		s.reach()
	}
}

func (s *spoke) reach() {
	if s.ok {
		s.noise.Reach(s.noisy.s)
	}
}

// signs lists the coordinates of a spoke to negate, those of x̄ and of D_x below its
// diagonal; Bartlett's rows have the signs of the hub's.
func (s *spoke) signs() (at []int) {
	if s.x == nil {
		return nil
	}
	for _, i := range signs(s.p) {
		at = append(at, s.lead()+i)
	}
	return at
}

// signs lists the coordinates to negate: of m means, and of a lower triangle behind them
// the entries below the diagonal.
func signs(m int) (at []int) {
	for i := range m {
		at = append(at, i)
		for j := range i {
			at = append(at, diagonal(m, i)-i+j)
		}
	}
	return at
}

// Move flips, moves what has no coordinates, renews w, and interweaves.
func (f *joint) Move(k *nuts.Sampler, rng *rand.Rand) {
	f.flip(k, rng)
	f.moveParts(k, rng)
	f.kurtosis.Renew(&f.hub.Params.LogW, k, rng)
	if f.weave != nil {
		f.interweave(k, rng)
	}
}

// flip negates one coordinate, as of one release: one of the hub, or half of
// the time, where they have such, one of a spoke.
func (f *joint) flip(k *nuts.Sampler, rng *rand.Rand) {
	at := f.hubSigns[rng.IntN(len(f.hubSigns))]
	if len(f.signs) > 0 && rng.IntN(2) == 0 {
		at = f.at[rng.IntN(len(f.spokes))] + f.signs[rng.IntN(len(f.signs))]
	}
	y, _ := k.Proposal()
	f.frame.toX(f.x, y)
	f.x[at] = -f.x[at]
	f.frame.toY(y, f.x)
	k.Try(y, rng)
}

// interweave moves the spread and its centre, and takes each spoke's coordinates of the same (θ_j, σ_j).
func (f *joint) interweave(k *nuts.Sampler, rng *rand.Rand) {
	y, _ := k.Proposal()
	f.set(y)
	hub := f.x[:f.at[0]]
	f.weave.Step(hub, rng)
	f.hub.placeSigma(hub)
	for j, s := range f.spokes {
		s.common().pooled.Coordinates(f.x[f.at[j]:])
	}
	f.frame.toY(y, f.x)
	k.Put(y)
}

// moveParts moves what parts have beside coordinates, and these with it.
func (f *joint) moveParts(k *nuts.Sampler, rng *rand.Rand) {
	y, _ := k.Proposal()
	f.set(y)
	moved := false
	for j, s := range f.spokes {
		moved = s.move(f.x[f.at[j]:f.at[j+1]], rng) || moved
	}
	if !moved {
		return
	}
	f.frame.toY(y, f.x)
	put(k, y)
}

// move moves nothing: all of a spoke has coordinates.
func (s *spoke) move([]float64, *rand.Rand) bool { return false }

// Write writes the parameters in the order of model.Joint.Names.
func (f *joint) Write(dst, y []float64) {
	f.set(y)
	at := f.hub.Write(dst)
	for _, s := range f.spokes {
		if own := s.common().pooled; own != nil {
			at += own.Write(dst[at:])
		}
	}
	if f.levels {
		f.writeLevels(dst, at)
		return
	}
	for _, s := range f.spokes {
		at += s.write(dst[at:])
	}
}

// write writes the dispersion of counts, and n where it is latent.
func (s *spoke) write(dst []float64) (at int) {
	at = s.dispersion.write(dst)
	if s.rows.dim() > 0 {
		dst[at] = s.n
	}
	return at + s.rows.dim()
}
