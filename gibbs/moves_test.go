package gibbs

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

// TestCollapsedInvariance: each move of (a) alone leaves the law of (φ, n, ω) given z unchanged,
// s integrated out of the CLT model, and says the log density of where it ends.
func TestCollapsedInvariance(t *testing.T) {
	rng := rand.New(rand.NewPCG(57, 1))
	g := newJoint(t, 1, 12, 3)
	g.kind, g.count, g.law = release.Laplace, 3, fixedLawOf(t, g.shape, model.UniformX{})
	k := g.start(rng)
	c := k.kernel.(*clt)
	for i := range c.count.slope {
		c.count.slope[i] = 0.03 * rng.NormFloat64()
	}
	c.hmc.restart(0.3)
	draw := func() {
		k.conditionals.DrawPrior(k.params, rng)
		drawOmegaPrior(k.state, rng)
		drawRows(k.state, rng)
		k.law.Set(k.params)
		k.law.Factor()
		k.law.Rand(k.s, k.n, rng)
		observeAnew(k.state, rng)
		k.law.Unconstrain(c.phi, k.params)
	}
	for name, step := range map[string]func([]float64, *rand.Rand) transition{"hmc": c.hmc.step, "flip": c.flip, "count": c.count.step} {
		leavesUnchanged(t, name, 20_000, draw, func() {
			for range 3 {
				said := step(c.phi, rng).logDensity
				density := c.collapsed(c.phi)
				if name == "count" {
					density += k.obs.Count.LogDensity(k.n)
				}
				if !(math.Abs(said-density) < 1e-8*(1+math.Abs(density))) {
					t.Fatalf("%s: it says a log density of %g, and ends at %g", name, said, density)
				}
			}
		}, func(dst []float64) []float64 {
			dst = append(dst, bounded(k.n/g.n), bounded(k.n-k.obs.Count.Noisy), bounded(k.n-k.obs.Count.Noisy)*k.n/g.n)
			for _, v := range c.phi {
				dst = append(dst, bounded(v), bounded(v*v), bounded(v)*k.n/g.n)
			}
			for i, w := range k.omega2 {
				z := k.obs.Z[i] / g.n
				dst = append(dst, math.Log(w), bounded(k.obs.Z[i]*k.obs.Z[i]/w))
				for _, v := range c.phi {
					dst = append(dst, bounded(v)*bounded(z), bounded(v*z)*math.Log(w))
				}
			}
			return dst
		})
	}
}

// kinked is a law of two dependent variates, with a slope that is not its density's.
type kinked struct{ slope float64 }

// Dim is 2.
func (kinked) Dim() int { return 2 }

// LogDensity is that of Laplace variates x₀ + ½ and x₁ − slope·x₀.
func (k kinked) LogDensity(grad, x []float64) float64 {
	u, v := x[0]+0.5, x[1]-k.slope*x[0]
	gu, gv := -u/math.Sqrt(u*u+0.1), -v/math.Sqrt(v*v+0.1)
	grad[0], grad[1] = gu-k.slope*gv, gv
	return -math.Abs(u) - math.Abs(v)
}

// TestMoverInvariance: trajectories along slopes that are not the density's, and flips of signs,
// leave the density's law unchanged.
func TestMoverInvariance(t *testing.T) {
	rng := rand.New(rand.NewPCG(58, 1))
	law := kinked{0.7}
	m := newMover(law, law, []int{0, 1}, fewLeapfrogs)
	copy(m.fisher.factor, []float64{1.2, 0.3, -0.4, 0.8})
	m.stepSize.Restart(0.9, 0.9)
	x := make([]float64, 2)
	laplace := func() float64 { return math.Copysign(rng.ExpFloat64(), rng.Float64()-0.5) }
	leavesUnchanged(t, "mover", 100_000,
		func() {
			x[0] = laplace() - 0.5
			x[1] = laplace() + law.slope*x[0]
		},
		func() { m.step(x, rng) },
		func(dst []float64) []float64 {
			u, v := x[0]+0.5, x[1]-law.slope*x[0]
			return append(dst, bounded(x[0]), bounded(x[1]), bounded(x[0]*x[1]), math.Abs(u), math.Abs(v), bounded(u*u), bounded(v*v), math.Abs(u+v), bounded(u*v))
		})
}
