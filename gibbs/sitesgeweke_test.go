package gibbs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/testsize"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/release"
)

// jointSites is joint for several custodians, with few rows, where the exact law of the
// statistics is far from the CLT's.
type jointSites struct {
	modeltest.Custodians
	fault func(*exactSites)             // planted before the chain starts
	sweep func(*exactSites, *rand.Rand) // Step, unless a fault
}

// newJointSites has a conjugate prior, or where covariates are shared TamePrior.
func newJointSites(t *testing.T, shared, counts bool) *jointSites {
	prior := newJoint(t, 1, 0, 0).prior
	if shared {
		prior = modeltest.TamePrior(model.Shape{P: 1, Intercept: true})
	}
	return &jointSites{
		Custodians: modeltest.Custodians{
			Shape: model.Shape{P: 1, Intercept: true}, Prior: prior, Shared: shared, Counts: counts,
			Sites: []modeltest.Custodian{{N: 6, Kind: release.Laplace, Scale: 2, Units: 1}, {N: 12, Kind: release.Gaussian, Scale: 2, Units: 0.8}, {N: 5, Kind: release.Ball, Scale: 0.7, Units: 0.9, Tilted: true}},
		},
		fault: func(*exactSites) {},
		sweep: func(k *exactSites, rng *rand.Rand) { k.Step(rng) },
	}
}

// scores compares the state after the kernel, where ω, s and z depend on one another, and
// not after z.
func (g *jointSites) scores(draws int, seed uint64) []float64 {
	return scores(draws, seed, func(rng *rand.Rand) trial {
		_, problem := g.Draw(rng)
		k := newExactSites(problem, rng)
		return trial{
			forward: func() { g.forward(k, rng) },
			plant:   func() { g.fault(k) },
			sweep: func(i, warmup int) {
				for _, s := range k.all {
					observeAnew(s.state, rng)
				}
				g.sweep(k, rng)
				if i < warmup {
					k.Adapt(i, warmup)
				}
			},
			test: func(dst []float64) []float64 { return g.test(dst, k) },
		}
	})
}

// forward draws everything from the prior on.
func (g *jointSites) forward(k *exactSites, rng *rand.Rand) {
	first := k.all[0].params
	for j, s := range k.all {
		switch {
		case j > 0 && g.Shared:
			s.params.Copy(first)
		default:
			s.conditionals.DrawPrior(s.params, rng)
			copy(s.params.Theta, first.Theta)
			s.params.Sigma2 = first.Sigma2
		}
		drawRows(s.state, rng)
		drawOmegaPrior(s.state, rng)
		s.law.Set(s.params)
		s.law.Factor()
		s.moments.RandExact(s.s, s.n, rng)
		observeAnew(s.state, rng)
	}
}

// test writes the functions of joint for each custodian, and how ω fits z − s.
func (g *jointSites) test(dst []float64, k *exactSites) []float64 {
	dst = dst[:0]
	values, from := make([]float64, len(g.Shape.Names())), 0
	for _, s := range k.all {
		written := s.params.Write(values)
		for _, v := range values[from:written] {
			u := bounded(v)
			dst = append(dst, u, u*u)
		}
		from = k.lead // the shared ones are the same in all
		if s.obs.Count.Latent() {
			dst = append(dst, s.n, s.n*s.n, s.obs.Count.Noisy)
		}
		for i, v := range s.s {
			r := s.resid[i] / s.obs.Scale[i]
			u := bounded(v / s.n)
			dst = append(dst, u, u*u, r*r, u*bounded(s.params.Theta[0]))
			if s.noise.latent() {
				dst = append(dst, math.Log(s.omega2[i]), bounded(s.resid[i]*s.resid[i]/s.omega2[i]))
			}
		}
	}
	return dst
}

// TestSitesGeweke is Geweke's test of the default kernel for several releases. The long
// form, in which n is public too: go test ./gibbs -run SitesGeweke -geweke.long -timeout 2h
func TestSitesGeweke(t *testing.T) {
	if testing.Short() {
		t.Skip("TestSitesInvariance is of the same sweeps, from independent states")
	}
	draws, latent := 10_000, []bool{true}
	if *gewekeLong {
		draws, latent = 40*draws, []bool{false, true}
	}
	for _, shared := range []bool{false, true} {
		for _, counts := range latent {
			t.Run(fmt.Sprintf("shared=%t n latent=%t", shared, counts), func(t *testing.T) {
				t.Parallel()
				z := newJointSites(t, shared, counts).scores(draws, 1)
				if worst := largest(z); !(worst < gewekeBound) {
					t.Errorf("the largest of %d scores is %.2f, beyond %g: %.2f", len(z), worst, gewekeBound, z)
				}
			})
		}
	}
}

// TestSitesGewekeFindsFaults plants faults, which the test must find.
func TestSitesGewekeFindsFaults(t *testing.T) {
	testsize.Planted(t)
	t.Parallel()
	for name, c := range map[string]struct {
		shared, counts bool
		plant          func(*jointSites)
	}{
		"s accepted whatever its exact law": {false, false, func(g *jointSites) {
			g.fault = func(k *exactSites) {
				for _, s := range k.all {
					s.correction = newCorrection(0) // of no columns: w = 1
				}
			}
		}},
		"(b) given the first release alone": {true, false, func(g *jointSites) {
			g.sweep = func(k *exactSites, rng *rand.Rand) {
				all := k.all
				k.all = all[:1]
				k.drawConjugate(rng)
				k.all = all
				for _, s := range all[1:] {
					s.params.Copy(all[0].params)
				}
				k.Step(rng)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newJointSites(t, c.shared, c.counts)
			c.plant(g)
			if worst := largest(g.scores(10_000, 2)); worst < gewekeBound {
				t.Errorf("the fault went unnoticed: largest score %.2f", worst)
			}
		})
	}
}
