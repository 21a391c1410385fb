package exact

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/nuts"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
)

// alike is a problem of j custodians of 1000 rows and p covariates, at ε = 1.
func alike(j, p int) *model.Joint {
	c := &modeltest.Custodians{Shape: model.Shape{P: p, Intercept: true}}
	for range j {
		c.Sites = append(c.Sites, modeltest.Custodian{N: 1000, Kind: release.Laplace, Scale: modeltest.LaplaceScale(c.Shape, 1), Units: 1})
	}
	_, problem := c.Draw(rand.New(rand.NewPCG(42, 1)))
	return problem
}

// BenchmarkJointLogDensity: a gradient costs in proportion to the number of custodians.
func BenchmarkJointLogDensity(b *testing.B) {
	for _, j := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("p=5/J=%d", j), func(b *testing.B) {
			problem := alike(j, 5)
			f := newJoint(problem)
			y, grad := make([]float64, f.Dim()), make([]float64, f.Dim())
			if !f.start(problem, y, rand.New(rand.NewPCG(42, 2))) {
				b.Fatal("no start")
			}
			b.ReportAllocs()
			for b.Loop() {
				must.Get(f.LogDensity(grad, y))(b)
			}
		})
	}
}

// BenchmarkJointStep is a transition after warm-up, and its leapfrog steps.
//
//	go test ./nuts/exact -run xxx -bench JointStep -benchtime 100x
func BenchmarkJointStep(b *testing.B) {
	for _, j := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("p=5/J=%d", j), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(42, 3))
			k := must.Get(newJointKernel(alike(j, 5), rng))(b)
			for i := range 400 {
				k.Step(rng)
				k.Adapt(i, 400)
			}
			steps, n := 0, 0
			for b.Loop() {
				steps += k.Step(rng).Leapfrogs
				n++
			}
			b.ReportMetric(float64(steps)/float64(n), "leapfrogs/op")
		})
	}
}

// BenchmarkInterweave is the least bulk ESS of a thousand draws of five custodians' partially
// pooled coefficients at ε = 20, with the step that moves Ω alone and without: the mean of
// four data sets.
//
//	go test ./nuts/exact -run xxx -bench Interweave -benchtime 1x
func BenchmarkInterweave(b *testing.B) {
	c := &modeltest.Custodians{Shape: model.Shape{P: 2, Intercept: true}, Partial: true}
	for range 5 {
		c.Sites = append(c.Sites, modeltest.Custodian{N: 1000, Kind: release.Laplace, Scale: modeltest.LaplaceScale(c.Shape, 20), Units: 1})
	}
	for _, woven := range []bool{true, false} {
		b.Run(fmt.Sprint(woven), func(b *testing.B) {
			const sets = 4
			for b.Loop() {
				mean, leapfrogs := 0.0, 0.0
				for seed := range uint64(sets) {
					rng := rand.New(rand.NewPCG(43, seed))
					_, problem := c.Draw(rng)
					start := func(_ int, rng *rand.Rand) (mcmc.Kernel[nuts.Info], error) {
						k, err := newJointKernel(problem, rng)
						if err == nil && !woven {
							k.Chain.(*joint).weave = nil
						}
						return k, err
					}
					d := must.Get(mcmc.Run(context.Background(), mcmc.Columns{Params: problem.Names(), Info: nuts.InfoNames}, start, nuts.Keep, mcmc.Plan{Chains: 1, Warmup: 500, Draws: 1000, Seed: seed}))(b)
					least := math.Inf(1)
					for j := range d.Names {
						least = min(least, posterior.Of(d.Column(j)).ESSBulk())
					}
					mean += least / sets
					leapfrogs += infoSum(d, "n_leapfrog__") / (1000 * sets)
				}
				b.ReportMetric(mean, "ESS")
				b.ReportMetric(leapfrogs, "leapfrogs/draw")
			}
		})
	}
}
