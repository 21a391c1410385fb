package gibbs

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/release"
)

// unchanged bounds the scores of must.Moved. Draws are independent, so that |z| > 5.8 has probability 7e-9 for each function, and
// some 1e-5 over the 2000 of all tests here.
const unchanged = 5.8

// leavesUnchanged holds that a move leaves a law as it is. The long form has 60 times as many draws:
//
//	go test ./gibbs -run Invarian -geweke.long -timeout 4h
func leavesUnchanged(t *testing.T, name string, draws int, draw, move func(), test func(dst []float64) []float64) {
	t.Helper()
	if draws = testsize.Of(draws/12, draws); *gewekeLong {
		draws *= 60
	}
	if z := must.Moved(draws, draw, move, test); !(must.Largest(z) < unchanged) {
		t.Errorf("%s: of %d functions one has another mean after the move, by %.1f standard errors: %.1f", name, len(z), must.Largest(z), z)
	}
}

// TestSitesInvariance: sweeps from the joint law of everything, with z held, leave it as it is. Half the draws find what
// TestSitesInvarianceFindsFaults plants.
func TestSitesInvariance(t *testing.T) {
	for _, shared := range []bool{false, true} {
		for _, latent := range []bool{false, true} {
			if testing.Short() && latent != shared {
				continue
			}
			rng := rand.New(rand.NewPCG(56, 1))
			g := newJointSites(t, shared, latent)
			k := g.warm(rng)
			leavesUnchanged(t, fmt.Sprintf("shared=%t n latent=%t", shared, latent), 4000, func() { g.forward(k, rng) }, k.sweeps(6, rng), k.pivots)
		}
	}
}

// sweeps are so many in a row.
func (k *exactSites) sweeps(many int, rng *rand.Rand) func() {
	return func() {
		for range many {
			k.Step(rng)
		}
	}
}

func (k *exactSites) pivots(dst []float64) []float64 {
	for _, s := range k.all {
		dst = s.pivots(dst)
	}
	return dst
}

// TestSitesInvarianceFindsFaults plants faults, which the test must find.
func TestSitesInvarianceFindsFaults(t *testing.T) {
	testsize.Planted(t)
	rng := rand.New(rand.NewPCG(57, 1))
	g := newJointSites(t, false, false)
	k := g.warm(rng)
	for _, s := range k.all {
		s.correction = newCorrection(0) // of no columns: w = 1
	}
	if z := must.Moved(2000, func() { g.forward(k, rng) }, k.sweeps(6, rng), k.pivots); must.Largest(z) < unchanged {
		t.Errorf("s accepted whatever its exact law went unnoticed: %.2f", must.Largest(z))
	}
	g = newJointSites(t, true, false)
	k = g.warm(rng)
	if z := must.Moved(2000, func() { g.forward(k, rng) }, func() {
		all := k.all
		k.all = all[:1]
		k.drawConjugate(rng)
		k.all = all
		for _, s := range all[1:] {
			s.params.Copy(all[0].params)
		}
		k.Step(rng)
	}, k.pivots); must.Largest(z) < unchanged {
		t.Errorf("(b) given the first release alone went unnoticed: %.2f", must.Largest(z))
	}
}

// TestExactInvariance is the same of one release.
func TestExactInvariance(t *testing.T) {
	for _, kind := range []release.Kind{release.Laplace, release.Gaussian} {
		rng := rand.New(rand.NewPCG(60, 1))
		g := newJoint(t, 1, 8, 3)
		g.kind, g.count = kind, 2
		k := g.start(rng)
		const warmup = 400
		for i := range warmup {
			observeAnew(k.state, rng)
			k.kernel.Step(rng)
			k.kernel.Adapt(i, warmup)
		}
		leavesUnchanged(t, string(kind), 20_000, func() { g.forward(k, rng) },
			func() {
				for range 4 {
					k.kernel.Step(rng)
				}
			}, k.pivots)
	}
}

// TestRenewInvariance is that of (a) alone, where n takes a site's own parameters far along.
func TestRenewInvariance(t *testing.T) {
	for seed := range uint64(testsize.Of(1, 3)) {
		rng := rand.New(rand.NewPCG(59+seed, 1))
		g := newJointSites(t, false, true)
		k := g.warm(rng)
		for _, s := range k.all {
			for i := range s.count.slope[k.lead:] {
				s.count.slope[k.lead+i] = 0.1
			}
			leavesUnchanged(t, "(a)", 10_000, func() { g.forward(k, rng) },
				func() {
					for range 4 {
						s.renewExact(rng)
					}
				}, s.pivots)
		}
	}
}

// pivots appends functions of a state with one covariate: its parameters and n; what of its
// statistics has a law that knows of no parameter; ω; and products of these.
func (s *state) pivots(dst []float64) []float64 {
	x, n, c := s.params, s.n, s.statistics() // Σx, Σy, Σx², Σxy, Σy²
	a, b, first := x.Theta[0], x.Theta[1], len(dst)
	sigma, tau := math.Sqrt(x.Sigma2), math.Sqrt(x.Tau[0])
	e, d := (c[1]-n*a-b*c[0])/sigma, (c[0]-n*x.MuX[0])/tau // Σe and Σd, of variance n
	ee := (c[4] - 2*a*c[1] - 2*b*c[3] + n*a*a + 2*a*b*c[0] + b*b*c[2]) / x.Sigma2
	dd := (c[2] - 2*x.MuX[0]*c[0] + n*x.MuX[0]*x.MuX[0]) / x.Tau[0]
	de := (c[3]-a*c[0]-b*c[2])/(sigma*tau) - x.MuX[0]*e/tau
	det := (ee-e*e/n)*(dd-d*d/n) - (de-d*e/n)*(de-d*e/n)
	dst = append(dst, bounded(a), bounded(b), math.Log(x.Sigma2), bounded(x.MuX[0]), math.Log(x.Tau[0]), math.Log(n),
		e/math.Sqrt(n), d/math.Sqrt(n), bounded(ee/n), bounded(dd/n), de/math.Sqrt(n), math.Log(det))
	for i, v := range dst[first:] {
		for _, u := range dst[first : first+i+1] {
			dst = append(dst, bounded(u*v))
		}
	}
	noise := make([]float64, 5) // of all statistics together, which one fault would move one way
	for i, r := range s.resid {
		u, w := r/s.obs.Scale[i], s.omega2[i]/(s.obs.Scale[i]*s.obs.Scale[i])
		for k, v := range []float64{bounded(u), bounded(u * u), bounded(u * u / w), math.Log(w), bounded(u*u) * bounded(w)} {
			noise[k] += v
		}
	}
	return append(dst, noise...)
}

var gewekeLong = flag.Bool("geweke.long", false, "run Geweke's test on 40 times as many draws")

// gewekeBound: |z| > 5.5 has probability 4e-8 for a normal score, some 5e-6
// over all functions and cases here.
const gewekeBound = 5.5

// TestGeweke is Geweke's joint-distribution test of the default kernel against
// the exact model. The long form: go test ./gibbs -run Geweke -geweke.long -timeout 2h
func TestGeweke(t *testing.T) {
	draws := testsize.Of(2000, 10_000)
	if *gewekeLong {
		draws *= 40
	}
	for _, c := range []struct {
		p     int
		n, b  float64
		kind  release.Kind
		count float64
		free  bool // the prior is TamePrior
	}{{1, 12, 6, release.Laplace, 0, false}, {3, 25, 10, release.Laplace, 0, true}, {1, 12, 6, release.Gaussian, 0, true},
		{1, 12, 6, release.Laplace, 4, true}, {3, 25, 10, release.Gaussian, 8, false}} {
		t.Run(fmt.Sprintf("p=%d %s n%+g free scales=%t", c.p, c.kind, c.count, c.free), func(t *testing.T) {
			if testing.Short() && c.p > 1 {
				t.Skip("the cases of one covariate are the faster ones")
			}
			t.Parallel()
			g := newJoint(t, c.p, c.n, c.b)
			g.kind, g.count = c.kind, c.count
			if c.free {
				g.prior = modeltest.TamePrior(g.shape)
			}
			z := g.scores(draws, 1)
			if worst := must.Largest(z); !(worst < gewekeBound) {
				t.Errorf("the largest of %d scores is %.2f, beyond %g: %.2f", len(z), worst, gewekeBound, z)
			}
		})
	}
}

// TestGewekeFindsFaults plants faults, which the test must find.
func TestGewekeFindsFaults(t *testing.T) {
	testsize.Planted(t)
	t.Parallel()
	for name, c := range map[string]struct {
		draws int
		plant func(*joint)
	}{
		"statistics drawn of more rows": {10_000, func(g *joint) {
			g.fault = func(k *subject) {
				more := *k.state
				more.n *= 1.1
				k.site.latent.state = &more
			}
		}},
		"omega scaled": {2000, func(g *joint) { g.omega = 1.5 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newJoint(t, 1, 40, 4)
			c.plant(g)
			if worst := must.Largest(g.scores(c.draws, 1)); worst < gewekeBound {
				t.Errorf("the fault went unnoticed: largest score %.2f", worst)
			}
		})
	}
}
