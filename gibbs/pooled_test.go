package gibbs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/release"
)

// TestPooledGradient is TestSitesGradient where pooling is partial.
func TestPooledGradient(t *testing.T) {
	for _, c := range []modeltest.Custodians{
		{Shape: model.Shape{P: 2, Intercept: true}}, {Shape: model.Shape{P: 2, Intercept: true}, Shared: true}, {Shape: model.Shape{P: 3}},
	} {
		c.Sites, c.Partial = modeltest.Unequal(3), true
		rng := rand.New(rand.NewPCG(72, 1))
		_, problem := c.Draw(rng)
		k := newExactSites(problem, rng)
		for j, s := range k.all {
			before := slices.Clone(s.params.Theta)
			restores(t, c.Shared, s)
			for i, v := range before {
				if d := k.hierarchy.At[j][i] - v; !(math.Abs(d) < 1e-12*(1+math.Abs(v))) {
					t.Errorf("shared=%t: coefficient %d is off by %g", c.Shared, i, d)
				}
			}
			for i := range s.regression.slope {
				s.regression.slope[i] = 0.3 * rng.NormFloat64()
			}
			q := s.rough.q
			for i := range q {
				s.rough.guess.Mean[i], s.rough.guess.Precision[i*q+i] = rng.NormFloat64(), rng.ExpFloat64()
			}
			if !s.rough.at(k.hierarchy) {
				t.Fatal("no coordinates of w_j")
			}
			x := slices.Clone(s.phi[k.lead:])
			s.rough.toC(x[:q])
			copy(s.ancillary.phi, s.phi)
			checkSlope(t, s.own.target, x, s)
			s.rough.toOwn(x[:q])
			for i, v := range x {
				if d := s.phi[k.lead+i] - v; !(math.Abs(d) < 1e-12) {
					t.Errorf("shared=%t: own coordinate %d is off by %g", c.Shared, i, d)
				}
			}
		}
		if c.Shared {
			checkSlope(t, k.target, k.all[0].phi[:k.lead], k.all...)
			checkSlope(t, k.target.leaving(), k.all[0].phi[:k.lead], k.all...)
		}
		k.spread.hold()
		checkSlope(t, k.spread, k.spread.now, k.all...)
	}
}

// pooledSites is jointSites where pooling is partial.
type pooledSites struct{ *jointSites }

func newPooledSites(t *testing.T, shared, counts bool) pooledSites {
	g := pooledSites{newJointSites(t, shared, counts)}
	g.Partial = true
	return g
}

// forward draws everything from the prior on.
func (g pooledSites) forward(k *exactSites, rng *rand.Rand) {
	first := k.all[0]
	first.conditionals.DrawPrior(first.params, rng)
	centre, phi := append(slices.Clone(first.params.Theta), math.Log(first.params.Sigma2)), make([]float64, 4)
	for i, sd := range []float64{model.SpreadSD, model.SpreadSD, 2 * model.SpreadLogSigmaSD} {
		phi[i] = math.Log(sd * math.Abs(rng.NormFloat64()))
	}
	u := []float64{rng.Float64(), rng.Float64(), rng.Float64()} // the median is Beta(2, 2)
	slices.Sort(u)
	phi[3] = math.Atanh(2*u[1] - 1)
	k.hierarchy.Take(centre, phi)
	own := make([]float64, len(centre))
	for j, s := range k.all {
		switch {
		case j > 0 && g.Shared:
			s.params.Copy(first.params)
		case j > 0:
			s.conditionals.DrawPrior(s.params, rng)
		}
		k.hierarchy.Spread.Draw(own, centre, rng)
		s.params.Sigma2 = math.Exp(own[copy(s.params.Theta, own)])
		drawRows(s.state, rng)
		drawOmegaPrior(s.state, rng)
		s.law.Set(s.params)
		s.law.Factor()
		s.moments.RandExact(s.s, s.n, rng)
		observeAnew(s.state, rng)
	}
}

// test appends functions of what all share, of how w_j lies about its centre, and of each custodian's own.
func (g pooledSites) test(dst []float64, k *exactSites) []float64 {
	for _, v := range slices.Concat(k.hierarchy.Centre, k.hierarchy.Phi) {
		dst = append(dst, v, v*v)
	}
	for j, s := range k.all {
		p := s.params
		for i, v := range append(slices.Clone(p.Theta), math.Log(p.Sigma2)) {
			d := bounded(v - k.hierarchy.Centre[i])
			dst = append(dst, v, v*v, d*d, d*k.hierarchy.Phi[i])
		}
		if j == 0 || !g.Shared {
			dst = append(dst, p.MuX[0], p.MuX[0]*p.MuX[0], p.Tau[0], p.Tau[0]*p.Tau[0])
		}
		if s.obs.Count.Latent() {
			dst = append(dst, s.n, s.n*s.n, s.obs.Count.Noisy)
		}
		for i, v := range s.s {
			r, u := s.resid[i]/s.obs.Scale[i], bounded(v/s.n)
			dst = append(dst, u, u*u, r*r, u*bounded(p.Theta[0]), u*bounded(k.hierarchy.Theta[0]))
			if s.obs.Kind != release.Gaussian {
				dst = append(dst, math.Log(s.omega2[i]), bounded(s.resid[i]*s.resid[i]/s.omega2[i]))
			}
		}
	}
	return dst
}

// pooledDraws give the faults planted below scores of 9.5 and more, each of which is missed with probability 1e-4.
const pooledDraws = 3000

// TestPooledInvariant: the default kernel leaves the joint law invariant where pooling is
// partial.
func TestPooledInvariant(t *testing.T) {
	for _, shared := range []bool{false, true} {
		for _, counts := range []bool{false, true} {
			rng := rand.New(rand.NewPCG(3, 2))
			g := newPooledSites(t, shared, counts)
			k := g.warm(rng)
			leavesUnchanged(t, fmt.Sprintf("shared=%t n latent=%t", shared, counts), pooledDraws, func() { g.forward(k, rng) }, k.sweeps(3, rng),
				func(dst []float64) []float64 { return g.test(dst, k) })
		}
	}
}

// flat leaves out the prior of w_j.
type flat struct{ *pooled }

func (f flat) LogPrior(grad []float64, x *model.Params) float64 {
	logp := f.pooled.LogPrior(grad, x)
	for k, g := range f.slope {
		logp -= 0.5 * g * (f.phi[k] - f.hierarchy.Centre[k])
		grad[f.lead+k] = 0
	}
	return logp
}

// TestPooledInvariantFindsFaults plants faults, which the test must find.
func TestPooledInvariantFindsFaults(t *testing.T) {
	testsize.Planted(t)
	t.Parallel()
	for name, fault := range map[string]func(*exactSites){
		"(c) without the prior of w_j": func(k *exactSites) {
			for _, s := range k.all {
				s.ancillary.law = flat{s.law.(*pooled)}
			}
		},
		"Ω left behind where η is held": func(k *exactSites) {
			k.spread.hierarchy = model.NewHierarchy(k.problem.Shape, k.problem.Prior, len(k.all))
		},
	} {
		rng := rand.New(rand.NewPCG(4, 2))
		g := newPooledSites(t, false, false)
		k := g.warm(rng)
		fault(k)
		z := must.Moved(pooledDraws, func() { g.forward(k, rng) }, k.sweeps(3, rng), func(dst []float64) []float64 { return g.test(dst, k) })
		if must.Largest(z) < unchanged {
			t.Errorf("%s went unnoticed: largest score %.2f", name, must.Largest(z))
		}
	}
}

// TestPooledAllocates: no sweep does.
func TestPooledAllocates(t *testing.T) {
	for _, shared := range []bool{false, true} {
		rng := rand.New(rand.NewPCG(72, 5))
		_, problem := newPooledSites(t, shared, true).Draw(rng)
		k := newExactSites(problem, rng)
		for i := range 100 {
			k.Step(rng)
			k.Adapt(i, 100)
		}
		if n := testing.AllocsPerRun(20, func() { k.Step(rng) }); n != 0 {
			t.Errorf("shared=%t: %g allocations a sweep", shared, n)
		}
		plain := newPlain(newSites(problem, rng))
		if n := testing.AllocsPerRun(20, func() { plain.Step(rng) }); n != 0 {
			t.Errorf("shared=%t, plain: %g allocations a sweep", shared, n)
		}
	}
}
