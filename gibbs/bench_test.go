package gibbs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

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
			"plain, x's fixed": fixedRun(obs, prior, law).plain(rng),
		} {
			if n := testing.AllocsPerRun(200, func() { k.Step(rng) }); n != 0 {
				t.Errorf("p = %d: the sweep of kernel %s allocates %g times", p, name, n)
			}
		}
	}
}
