package gibbs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
)

// simulated draws from TamePrior a release of n rows with Laplace noise for ε.
func simulated(p int, n, epsilon float64, rng *rand.Rand) *model.Observation {
	return noised(p, n, release.Laplace, modeltest.LaplaceScale(model.Shape{P: p, Intercept: true}, epsilon), rng)
}

func noised(p int, n float64, kind release.Kind, scale float64, rng *rand.Rand) *model.Observation {
	shape := model.Shape{P: p, Intercept: true}
	_, obs := (&modeltest.Simulation{Shape: shape, Prior: modeltest.TamePrior(shape), N: n, Kind: kind, Scale: scale}).Draw(rng)
	return obs
}

// BenchmarkSweep reports the time of a sweep, 1000 rows and ε = 1 or about that by Gaussian noise,
// and the smallest over all parameters of bulk and tail ESS, a second, after warm-up.
func BenchmarkSweep(b *testing.B) {
	for _, name := range []Kernel{Plain, Exact} {
		for _, kind := range []release.Kind{release.Laplace, release.Gaussian} {
			for _, p := range []int{1, 3, 5, 7, 10, 20} {
				b.Run(fmt.Sprintf("%s/%s/p=%d", name, kind, p), func(b *testing.B) {
					rng, shape := rand.New(rand.NewPCG(1, 1)), model.Shape{P: p, Intercept: true}
					scale := modeltest.LaplaceScale(shape, 1)
					if kind == release.Gaussian {
						scale = 2 * float64(p+2)
					}
					obs := noised(p, 1000, kind, scale, rng)
					problem := alone(obs, model.DefaultPrior(shape))
					k := mcmc.Kernel[Info](newPlain(newSites(problem, rng)))
					if name == Exact {
						k = newExactSites(problem, rng)
					}
					for i := range 1000 {
						k.Step(rng)
						if a, ok := k.(mcmc.Adapter); ok {
							a.Adapt(i, 1000)
						}
					}
					now := make([]float64, len(obs.Names()))
					draws := make([][]float64, len(now))
					for b.Loop() {
						k.Step(rng)
						k.Params(now)
						for i, v := range now {
							draws[i] = append(draws[i], v)
						}
					}
					least := math.Inf(1)
					for _, x := range draws {
						least = min(least, posterior.Of([][]float64{x}).ESSBulk(), posterior.Of([][]float64{x}).ESSTail())
					}
					b.ReportMetric(least/b.Elapsed().Seconds(), "ess/s")
				})
			}
		}
	}
}

// TestSweepsDoNotAllocate holds all kernels to their promise.
func TestSweepsDoNotAllocate(t *testing.T) {
	for _, p := range []int{1, 3} {
		rng := rand.New(rand.NewPCG(1, 1))
		obs := simulated(p, 100, 1, rng)
		prior := model.DefaultPrior(obs.Shape)
		law := fixedLawOf(t, obs.Shape, model.UniformX{})
		source := newFixed(prior, law)
		exact, clt := newExactSites(alone(obs, prior), rng), newCLT(obs, prior, source, rng)
		for i := range 300 {
			exact.Step(rng)
			exact.Adapt(i, 300)
			clt.Step(rng)
			clt.Adapt(i, 300)
		}
		for name, k := range map[string]mcmc.Kernel[Info]{
			"default": exact, "CLT": clt,
			"plain":            newPlain(newSites(alone(obs, prior), rng)),
			"plain, x's fixed": Method{Kernel: Plain}.fixed(obs, prior, law).start(rng),
		} {
			if n := testing.AllocsPerRun(200, func() { k.Step(rng) }); n != 0 {
				t.Errorf("p = %d: the sweep of kernel %s allocates %g times", p, name, n)
			}
		}
	}
}

// alike is a number of custodians, all with p covariates, n rows and Laplace noise for ε.
type alike struct {
	sites, p   int
	n, epsilon float64
	shared     bool
}

func (c alike) String() string {
	return fmt.Sprintf("J=%d/p=%d/n=%g/eps=%g/shared=%t", c.sites, c.p, c.n, c.epsilon, c.shared)
}

// start starts a chain, and warms it up.
func (c alike) start(name Kernel, warmup int, rng *rand.Rand) mcmc.Kernel[Info] {
	all := &modeltest.Custodians{Shape: model.Shape{P: c.p, Intercept: true}, Shared: c.shared}
	for range c.sites {
		all.Sites = append(all.Sites, modeltest.Custodian{N: c.n, Kind: release.Laplace, Scale: modeltest.LaplaceScale(all.Shape, c.epsilon), Units: 1})
	}
	_, problem := all.Draw(rng)
	if name == Plain {
		return newPlain(newSites(problem, rng))
	}
	k := newExactSites(problem, rng)
	for i := range warmup {
		k.Step(rng)
		k.Adapt(i, warmup)
	}
	return k
}

// BenchmarkSites: a sweep costs in proportion to the number of custodians, and no more
// where they have more rows.
//
//	go test ./gibbs -run xxx -bench 'Sites/' -benchtime 100x
func BenchmarkSites(b *testing.B) {
	for _, name := range []Kernel{Plain, Exact} {
		for _, c := range []alike{{10, 5, 1000, 1, false}, {100, 5, 1000, 1, false}, {1000, 5, 1000, 1, false}, {100, 5, 1e5, 1, false}, {100, 5, 1000, 1, true}} {
			b.Run(fmt.Sprintf("%s/%v", name, c), func(b *testing.B) {
				rng := rand.New(rand.NewPCG(51, 4))
				k := c.start(name, 200, rng)
				for b.Loop() {
					k.Step(rng)
				}
			})
		}
	}
}

// BenchmarkSitesEffective reports effective draws of the default kernel, the smallest over
// all parameters of bulk and tail ESS, to a sweep and to a second of one core.
//
//	go test ./gibbs -run xxx -bench SitesEffective -benchtime 1x
func BenchmarkSitesEffective(b *testing.B) {
	for _, sites := range []int{3, 10, 100} {
		for _, p := range []int{1, 5} {
			for _, n := range []float64{100, 10_000} {
				for _, epsilon := range []float64{0.1, 1, 10} {
					for _, shared := range []bool{false, true} {
						c := alike{sites, p, n, epsilon, shared}
						b.Run(c.String(), func(b *testing.B) {
							for b.Loop() {
								c.effective(b)
							}
						})
					}
				}
			}
		}
	}
}

func (c alike) effective(b *testing.B) {
	const draws = 2000
	rng := rand.New(rand.NewPCG(51, 3))
	k := c.start(Exact, 1000, rng).(*exactSites)
	now := make([]float64, len(k.problem.Names()))
	x := make([][]float64, len(now))
	leapfrogs, begin := 0, time.Now()
	for range draws {
		leapfrogs += k.Step(rng).leapfrogs
		k.Params(now)
		for i, v := range now {
			x[i] = append(x[i], v)
		}
	}
	seconds, least := time.Since(begin).Seconds(), math.Inf(1)
	for _, v := range x {
		least = min(least, posterior.Of([][]float64{v}).ESSBulk(), posterior.Of([][]float64{v}).ESSTail())
	}
	b.ReportMetric(least/seconds, "ess/s")
	b.ReportMetric(least/draws, "ess/sweep")
	b.ReportMetric(float64(leapfrogs)/draws, "leapfrogs/sweep")
}

// TestSweepsHaveNoMemory: a sweep depends on where the chain stands and on chance alone. From
// the same place by the same random numbers it comes to the same end, whatever was between.
func TestSweepsHaveNoMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(53, 1))
	for _, latent := range []bool{false, true} {
		for _, shared := range []bool{false, true} {
			k := newJointSites(t, shared, latent).warm(rng)
			var states []*state
			for _, s := range k.all {
				states = append(states, s.state)
			}
			hasNoMemory(t, fmt.Sprintf("sites, shared=%t n latent=%t", shared, latent), func(rng *rand.Rand) { k.Step(rng) }, states, rng)
		}
		g := newJoint(t, 2, 12, 3)
		if g.kind = release.Laplace; latent {
			g.count = 3
		}
		k := g.start(rng)
		hasNoMemory(t, fmt.Sprintf("one release, n latent=%t", latent), func(rng *rand.Rand) { k.kernel.Step(rng) }, []*state{k.state}, rng)
	}
}

func hasNoMemory(t *testing.T, name string, sweep func(*rand.Rand), states []*state, rng *rand.Rand) {
	t.Helper()
	stand := func() (all []standing) {
		for _, c := range states {
			all = append(all, c.standing())
		}
		return all
	}
	for seed := range uint64(100) {
		before := stand()
		sweep(rand.New(rand.NewPCG(seed, 53)))
		after := stand()
		for range 3 {
			sweep(rng)
		}
		for j, c := range states {
			c.stand(before[j])
		}
		sweep(rand.New(rand.NewPCG(seed, 53)))
		if again := stand(); !reflect.DeepEqual(after, again) {
			t.Fatalf("%s: sweep %d from one place ends at\n%+v, and later at\n%+v", name, seed, after, again)
		}
	}
}
