package nuts

import (
	"math"
	"math/rand/v2"
)

// point is a place in phase space. Momentum p and gradient g are in the
// metric's whitened coordinates, x is not.
type point struct {
	x, p, g []float64
	logp    float64
}

func newPoint(dim int) point {
	return point{x: make([]float64, dim), p: make([]float64, dim), g: make([]float64, dim)}
}

func (to *point) copy(from *point) {
	copy(to.x, from.x)
	copy(to.p, from.p)
	copy(to.g, from.g)
	to.logp = from.logp
}

// energy is H = −log density + ½|p|².
func (z *point) energy() float64 {
	k := 0.0
	for _, v := range z.p {
		k += v * v
	}
	return 0.5*k - z.logp
}

// proposal is the point that a stretch of the trajectory offers as next draw.
type proposal struct {
	x, g         []float64
	logp, energy float64
}

// span is a stretch of the trajectory: the momenta at its two ends and their
// sum ρ over all its points, the sum of its points' weights exp(H₀ − H), and one
// of its points, drawn by weight.
type span struct {
	begin, end, rho []float64
	logWeight       float64
	proposal
}

func newSpan(dim int) span {
	vec := func() []float64 { return make([]float64, dim) }
	return span{begin: vec(), end: vec(), rho: vec(), proposal: proposal{x: vec(), g: vec()}}
}

// single makes the span of one point.
func (t *span) single(z *point, energy, logWeight float64) {
	copy(t.begin, z.p)
	copy(t.end, z.p)
	copy(t.rho, z.p)
	copy(t.x, z.x)
	copy(t.g, z.g)
	t.logp, t.energy, t.logWeight = z.logp, energy, logWeight
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

// join makes t the span a·b, taking b's proposal with the probability given. It
// exchanges buffers with a and b, which are spent.
func (t *span) join(a, b *span, takeSecond bool) {
	for i, r := range a.rho {
		t.rho[i] = r + b.rho[i]
	}
	t.logWeight = logSum(a.logWeight, b.logWeight)
	t.begin, a.begin = a.begin, t.begin
	t.end, b.end = b.end, t.end
	if takeSecond {
		t.proposal, b.proposal = b.proposal, t.proposal
	} else {
		t.proposal, a.proposal = a.proposal, t.proposal
	}
}

// logSum returns log(eᵃ + eᵇ).
func logSum(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(a, -1) {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}

// accept draws an event of probability min(1, eˡ).
func accept(l float64, rng *rand.Rand) bool { return l >= 0 || rng.Float64() < math.Exp(l) }
