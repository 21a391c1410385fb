package exact

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/release"
)

// simulated is a release of n rows with Laplace noise for ε, the parameters from
// the default prior.
func simulated(p int, n, epsilon float64) *modeltest.Simulation {
	s := model.Shape{P: p, Intercept: true}
	return &modeltest.Simulation{Shape: s, Prior: model.DefaultPrior(s), N: n, Kind: release.Laplace, Scale: modeltest.LaplaceScale(s, epsilon)}
}

func (c sized) problem() *model.Problem {
	s := simulated(c.p, c.n, c.epsilon)
	_, obs := s.Draw(rand.New(rand.NewPCG(uint64(c.p), 1)))
	return modeltest.Problem(obs, s.Prior)
}

// sized names a simulated release.
type sized struct {
	p          int
	n, epsilon float64
}

func (c sized) String() string { return fmt.Sprintf("p%d_n%g_eps%g", c.p, c.n, c.epsilon) }

// started returns a kernel after a warm-up.
func started(t testing.TB, c *modeltest.Simulation, rng *rand.Rand) *kernel {
	t.Helper()
	_, obs := c.Draw(rng)
	k, err := newKernel(obs, c.Prior, rng)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		k.Step(rng)
		k.Adapt(i, 300)
	}
	return k
}

// TestNoAllocation: neither the density nor a transition allocates.
func TestNoAllocation(t *testing.T) {
	for _, p := range []int{1, 3} {
		for _, count := range []float64{0, 5} {
			rng := rand.New(rand.NewPCG(1, 1))
			c := simulated(p, 100, 1)
			c.Count = count
			k := started(t, c, rng)
			grad := make([]float64, k.density.Dim())
			if n := testing.AllocsPerRun(100, func() { k.density.LogDensity(grad, k.Position()) }); n != 0 {
				t.Errorf("p = %d: the density allocates %g times", p, n)
			}
			if n := testing.AllocsPerRun(200, func() { k.Step(rng) }); n != 0 {
				t.Errorf("p = %d: a step allocates %g times", p, n)
			}
		}
	}
}

func BenchmarkLogDensity(b *testing.B) {
	for _, p := range []int{1, 2, 3, 5, 10, 20} {
		b.Run(fmt.Sprintf("p=%d", p), func(b *testing.B) {
			k := started(b, simulated(p, 1000, 1), rand.New(rand.NewPCG(1, 1)))
			grad := make([]float64, k.density.Dim())
			b.ReportAllocs()
			for b.Loop() {
				k.density.LogDensity(grad, k.Position())
			}
		})
	}
}

// BenchmarkEffectiveDraws reports, for one chain on one core, the smallest over
// all parameters of bulk and tail ESS, a second of the whole run, warm-up
// included; and leapfrog steps a draw.
func BenchmarkEffectiveDraws(b *testing.B) {
	for _, g := range modeltest.Goldens(b) {
		b.Run(g.Name, func(b *testing.B) { effective(b, g.Problem, 20_000) })
	}
	for _, p := range []int{5, 10, 20} {
		for _, epsilon := range []float64{0.1, 1} {
			c := sized{p, 1000, epsilon}
			b.Run(c.String(), func(b *testing.B) { effective(b, c.problem(), 20_000/p) })
		}
	}
}

func effective(b *testing.B, problem *model.Problem, draws int) {
	for b.Loop() {
		d, err := Method{}.Sample(context.Background(), problem, mcmc.Plan{Chains: 1, Warmup: 1000, Draws: draws, Seed: 1, Workers: 1})
		if err != nil {
			b.Fatal(err)
		}
		least, _ := d.MinESS(1)
		b.ReportMetric(math.Round(least/d.Seconds), "ess/s")
		b.ReportMetric(infoSum(d, "n_leapfrog__")/float64(draws), "leapfrogs/draw")
	}
}
