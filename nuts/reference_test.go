package nuts

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"gonum.org/v1/gonum/mat"
)

// reference is the transition as Stan's base_nuts has it: momenta and gradients in
// the target's own coordinates, p♯ = M⁻¹p, weights in log space, a recursion down
// to single steps, nothing shared. It takes its randomness in the order of Sampler.
type reference struct {
	target      Target
	inverseMass *mat.SymDense
	epsilon, h0 float64
	z           place
	leapfrogs   int
	divergent   bool
}

type place struct {
	q, p, g []float64
	logp    float64
}

// tree is a stretch of the trajectory, from left to right in its own direction.
type tree struct {
	pLeft, pRight, rho []float64
	logWeight          float64
	sample             place
}

func (r *reference) sharp(p []float64) []float64 {
	dst := mat.NewVecDense(len(p), nil)
	dst.MulVec(r.inverseMass, mat.NewVecDense(len(p), p))
	return dst.RawVector().Data
}

func product(a, b []float64) float64 {
	return mat.Dot(mat.NewVecDense(len(a), a), mat.NewVecDense(len(b), b))
}

func plus(a []float64, f float64, b []float64) []float64 {
	dst := make([]float64, len(a))
	for i := range a {
		dst[i] = a[i] + f*b[i]
	}
	return dst
}

func (r *reference) energy(z place) float64 { return 0.5*product(z.p, r.sharp(z.p)) - z.logp }

func (r *reference) leap(epsilon float64) {
	z := &r.z
	p := plus(z.p, 0.5*epsilon, z.g)
	q := plus(z.q, epsilon, r.sharp(p))
	g := make([]float64, len(q))
	logp, err := r.target.LogDensity(g, q)
	if err != nil {
		logp = math.Inf(-1)
	}
	*z = place{q, plus(p, 0.5*epsilon, g), g, logp}
}

func (r *reference) persists(left, right, rho []float64) bool {
	return product(r.sharp(left), rho) > 0 && product(r.sharp(right), rho) > 0
}

func (r *reference) joined(a, b *tree) (*tree, bool) {
	rho := plus(a.rho, 1, b.rho)
	goes := r.persists(a.pLeft, b.pRight, rho) &&
		r.persists(a.pLeft, b.pLeft, plus(a.rho, 1, b.pLeft)) &&
		r.persists(a.pRight, b.pRight, plus(b.rho, 1, a.pRight))
	sum := math.Max(a.logWeight, b.logWeight) + math.Log1p(math.Exp(-math.Abs(a.logWeight-b.logWeight)))
	return &tree{a.pLeft, b.pRight, rho, sum, a.sample}, goes
}

func (r *reference) build(depth int, epsilon float64, rng *rand.Rand) *tree {
	if depth == 0 {
		r.leap(epsilon)
		r.leapfrogs++
		gain := r.h0 - r.energy(r.z)
		if !(gain >= -1000) {
			r.divergent = true
			return nil
		}
		return &tree{r.z.p, r.z.p, r.z.p, gain, r.z}
	}
	a := r.build(depth-1, epsilon, rng)
	if a == nil {
		return nil
	}
	b := r.build(depth-1, epsilon, rng)
	if b == nil {
		return nil
	}
	t, goes := r.joined(a, b)
	if !goes {
		return nil
	}
	if rng.Float64() < math.Exp(b.logWeight-t.logWeight) {
		t.sample = b.sample
	}
	return t
}

func (r *reference) transition(start place, maxDepth int, rng *rand.Rand) (place, int) {
	r.h0, r.leapfrogs, r.divergent = r.energy(start), 0, false
	whole := &tree{start.p, start.p, start.p, 0, start}
	ends := [2]place{start, start} // backward, forward
	depth, direction := 0, 1
	for depth < maxDepth {
		to, epsilon := 1, r.epsilon
		if rng.Uint64()&1 == 0 {
			to, epsilon = 0, -epsilon
		}
		if to != direction {
			whole.pLeft, whole.pRight, direction = whole.pRight, whole.pLeft, to
		}
		r.z = ends[to]
		part := r.build(depth, epsilon, rng)
		ends[to] = r.z
		if part == nil {
			break
		}
		depth++
		t, goes := r.joined(whole, part)
		if rng.Float64() < math.Exp(part.logWeight-whole.logWeight) {
			t.sample = part.sample
		}
		if whole = t; !goes {
			break
		}
	}
	return whole.sample, depth
}

// Two transitions in many thousands may differ, where a product of momenta or a
// random number lies within rounding of its threshold.
func TestTransitionIsStans(t *testing.T) {
	testsize.Full(t, "TestTransitionIsInvariant has the transition")
	const dim, steps = 4, 4000
	for _, c := range []struct {
		target      Target
		epsilon     float64
		lead, depth int
	}{
		{funnel(dim, 2), 0.3, 0, 10}, {funnel(dim, 2), 0.7, dim, 10}, {studentT(dim, 3), 0.15, 2, 10},
		{standard(dim), 0.9, dim, 2}, {newAutoregressive(dim, 0.9, 2), 0.3, 1, 4},
	} {
		s := fixed(t, c.target, c.epsilon, Options{Dense: c.lead, MaxDepth: c.depth})
		window(s.metric, 30, rand.New(rand.NewPCG(4, 4)), false)
		if !s.metric.Update() || !s.Moved() {
			t.Fatal("no metric")
		}
		r := &reference{target: c.target, inverseMass: matrix(s.metric), epsilon: c.epsilon}
		var inverse mat.Dense
		must.Do(t, inverse.Inverse(factor(s.metric).T()))
		differ, broken, divergent := 0, 0, 0
		for i := range steps {
			source, copied := rand.NewPCG(uint64(i), 5), rand.NewPCG(uint64(i), 5)
			rng := rand.New(copied)
			u := make([]float64, dim)
			for j := range u {
				u[j] = rng.NormFloat64()
			}
			start := place{q: append([]float64(nil), s.Position()...), p: make([]float64, dim), g: make([]float64, dim)}
			mat.NewVecDense(dim, start.p).MulVec(&inverse, mat.NewVecDense(dim, u)) // p = F⁻ᵀu
			start.logp, _ = c.target.LogDensity(start.g, start.q)
			want, depth := r.transition(start, c.depth, rng)
			info := s.Step(rand.New(source))
			same := info.Depth == depth && info.Leapfrogs == r.leapfrogs && info.Divergent == r.divergent &&
				math.Abs(info.Energy-r.energy(want)) < 1e-6*(1+math.Abs(info.Energy))
			for j, x := range s.Position() {
				same = same && math.Abs(x-want.q[j]) < 1e-6*(1+math.Abs(x))
			}
			if !same {
				differ++
			}
			if info.Leapfrogs != 1<<info.Depth-1 {
				broken++
			}
			if info.Divergent {
				divergent++
			}
		}
		t.Logf("%d differ, %d broken, %d divergent", differ, broken, divergent)
		if differ > 2 {
			t.Errorf("%T: %d of %d transitions differ from Stan's", c.target, differ, steps)
		}
		if c.depth > 3 && broken < steps/20 {
			t.Errorf("%T: %d trajectories broken inside: nothing was tested", c.target, broken)
		}
	}
}
