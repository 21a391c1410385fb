package individual

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

// invented is a release of nothing in particular.
func invented(s model.Shape, n, scale float64, kind release.Kind) *model.Observation {
	q := s.Statistics()
	obs := &model.Observation{Shape: s, N: n, Kind: kind, Z: make([]float64, q), Scale: make([]float64, q)}
	for i := range obs.Scale {
		obs.Scale[i], obs.Z[i] = scale, 0.1*n
	}
	return obs
}

func BenchmarkGradient(b *testing.B) {
	for _, clamping := range []bool{false, true} {
		for _, p := range []int{1, 3} {
			for _, n := range []float64{100, 1000, 10_000} {
				b.Run(fmt.Sprintf("clamping=%v/p=%d/n=%g", clamping, p, n), func(b *testing.B) {
					s := model.Shape{P: p, Intercept: true}
					rng := rand.New(rand.NewPCG(1, 1))
					k := must.Get(newKernel(invented(s, n, 24, release.Laplace), model.DefaultPrior(s), clamping, rng))(b)
					grad := make([]float64, k.Chain.Dim())
					b.ReportAllocs()
					for b.Loop() {
						k.Chain.LogDensity(grad, k.Position())
					}
				})
			}
		}
	}
}
