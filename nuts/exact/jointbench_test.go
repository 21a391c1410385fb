package exact

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
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
			if err := f.start(problem, y, rand.New(rand.NewPCG(42, 2))); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.LogDensity(grad, y); err != nil {
					b.Fatal(err)
				}
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
			k, err := newJointKernel(alike(j, 5), rng)
			if err != nil {
				b.Fatal(err)
			}
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
