package nuts

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mcmc"
)

// funnel is Neal's (2003): v ~ N(0, s²), then x_i ~ N(0, eᵛ).
func funnel(dim int, s float64) Target {
	return function{dim, func(grad, x []float64) (float64, error) {
		v, w, r2 := x[0], math.Exp(-x[0]), 0.0
		for i, y := range x[1:] {
			r2 += y * y
			grad[i+1] = -w * y
		}
		n := float64(dim - 1)
		grad[0] = -v/(s*s) + 0.5*(w*r2-n)
		return -0.5*(v*v/(s*s)+n*v) - 0.5*w*r2, nil
	}}
}

// At a spread of 1 the neck is wide enough for one step size.
func TestWideFunnel(t *testing.T) {
	target := funnel(4, 1)
	checkGradient(t, target)
	d := draw(t, target, Options{TargetAccept: 0.95}, mcmc.Plan{Chains: 4, Warmup: 600, Draws: 4000, Seed: 3})
	v := d.Column(0)
	checkMoments(t, "v", v, 0, 1)
	checkQuantiles(t, "v", v, phi.Quantile)
	x := d.Column(1)
	check(t, "x", mean(x), 0, mcseMean(x))
}

// Neal's own, 10 coordinates and a spread of 3, is too narrow for any one step
// size: the sampler says so.
func TestNealsFunnelWarns(t *testing.T) {
	d := draw(t, funnel(10, 3), Options{}, mcmc.Plan{Chains: 4, Warmup: 500, Draws: 500, Seed: 4})
	must.Say(t, strings.Join(d.Warnings, "\n"), "E-BFMI")
}

// Yet no transition leads away from it: begun at exact draws, v stays N(0, 9),
// with divergences on the way.
func TestTransitionsKeepTheFunnel(t *testing.T) {
	const replicates, dim, steps = 10000, 10, 5
	rng := rand.New(rand.NewPCG(5, 5))
	s := fixed(t, funnel(dim, 3), 0.4, Options{MaxDepth: 5})
	u, w := make([]float64, replicates), make([]float64, replicates)
	divergent := 0
	for r := range replicates {
		v := 3 * rng.NormFloat64()
		x := s.Position()
		x[0] = v
		for i := 1; i < dim; i++ {
			x[i] = math.Exp(0.5*v) * rng.NormFloat64()
		}
		if !s.Moved() {
			t.Fatal(s.Err())
		}
		for range steps {
			if s.Step(rng).Divergent {
				divergent++
			}
		}
		x = s.Position()
		u[r], w[r] = phi.CDF(x[0]/3), phi.CDF(x[1]*math.Exp(-0.5*x[0]))
	}
	if !uniform(u) || !uniform(w) {
		t.Errorf("D√n is %.2f and %.2f", ks(u), ks(w))
	}
	if divergent < replicates/100 {
		t.Errorf("%d divergences: too few to test anything", divergent)
	}
}
