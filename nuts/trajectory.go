package nuts

import "math/rand/v2"

// point is a place in phase space. Momentum p and gradient g are in the
// metric's whitened coordinates, x is not.
type point struct {
	x, p, g      []float64
	logp, energy float64 // energy is H = −log density + ½|p|²
}

func newPoint(dim int) point {
	return point{x: make([]float64, dim), p: make([]float64, dim), g: make([]float64, dim)}
}

func (z *point) copy(from *point) {
	copy(z.x, from.x)
	copy(z.p, from.p)
	copy(z.g, from.g)
	z.logp, z.energy = from.logp, from.energy
}

// refresh draws the momentum, and sets the energy.
func (z *point) refresh(rng *rand.Rand) {
	k := 0.0
	for i := range z.p {
		v := rng.NormFloat64()
		z.p[i] = v
		k += v * v
	}
	z.energy = 0.5*k - z.logp
}

// kick adds a times the gradient to the momentum.
func (z *point) kick(a float64) {
	p := z.p[:len(z.g)]
	for i, g := range z.g {
		p[i] += a * g
	}
}

// land is the last kick of a step, and sets the energy.
func (z *point) land(a float64) {
	p, k := z.p[:len(z.g)], 0.0
	for i, g := range z.g {
		v := p[i] + a*g
		p[i] = v
		k += v * v
	}
	z.energy = 0.5*k - z.logp
}

// proposal is the point that a stretch of the trajectory offers as next draw.
type proposal struct {
	x, g         []float64
	logp, energy float64
}

func (t *proposal) take(z *point) {
	copy(t.x, z.x)
	copy(t.g, z.g)
	t.logp, t.energy = z.logp, z.energy
}

// span is a stretch of the trajectory: the momenta at its two ends and their
// sum ρ over all its points, the sum of its points' weights exp(H₀ − H), and one of
// its points.
type span struct {
	begin, end, rho []float64
	weight          float64
	proposal
}

func newSpan(dim int) span {
	vec := func() []float64 { return make([]float64, dim) }
	return span{begin: vec(), end: vec(), rho: vec(), proposal: proposal{x: vec(), g: vec()}}
}

// single makes the span of one point.
func (t *span) single(z *point, weight float64) {
	copy(t.begin, z.p)
	copy(t.end, z.p)
	copy(t.rho, z.p)
	t.take(z)
	t.weight = weight
}

// close makes p the end of a span of two points, whose begin is there, and tells
// whether it turns.
func (t *span) close(p []float64) bool {
	var begin, end float64
	first, last, rho := t.begin[:len(p)], t.end[:len(p)], t.rho[:len(p)]
	for i, v := range p {
		f := first[i]
		r := f + v
		last[i], rho[i] = v, r
		begin += f * r
		end += v * r
	}
	return !(begin > 0 && end > 0)
}

// reverse exchanges the ends.
func (t *span) reverse() { t.begin, t.end = t.end, t.begin }

// turns tells whether the trajectory a·b, b going on where a ends, has begun to
// come back: a momentum at an end of the whole, or of either span and its
// neighbour's next point, no longer has a positive product with the sum ρ of
// momenta between (Stan's criterion, with the two checks across subtrees).
func turns(a, b *span) bool {
	var begin, end, aBegin, aNext, bLast, bEnd float64
	ab, ae, ar := a.begin, a.end, a.rho
	bb, be, br := b.begin, b.end, b.rho
	ae, ar, bb, be, br = ae[:len(ab)], ar[:len(ab)], bb[:len(ab)], be[:len(ab)], br[:len(ab)]
	for i, p := range ab {
		near, next := ar[i]+bb[i], br[i]+ae[i]
		rho := ar[i] + br[i]
		begin += p * rho
		end += be[i] * rho
		aBegin += p * near
		aNext += bb[i] * near
		bLast += ae[i] * next
		bEnd += be[i] * next
	}
	return !(begin > 0 && end > 0 && aBegin > 0 && aNext > 0 && bLast > 0 && bEnd > 0)
}

// join makes t the span a·b, with b's proposal or a's. It exchanges buffers with
// a and b, which are spent.
func (t *span) join(a, b *span, takeSecond bool) {
	rho, ar, br := t.rho, a.rho[:len(t.rho)], b.rho[:len(t.rho)]
	for i := range rho {
		rho[i] = ar[i] + br[i]
	}
	t.weight = a.weight + b.weight
	t.begin, a.begin = a.begin, t.begin
	t.end, b.end = b.end, t.end
	if takeSecond {
		t.proposal, b.proposal = b.proposal, t.proposal
	} else {
		t.proposal, a.proposal = a.proposal, t.proposal
	}
}
