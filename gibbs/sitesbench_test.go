package gibbs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
)

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
