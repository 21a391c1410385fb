package exact

import (
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/release"
)

// BenchmarkLevels is a gradient at ten and at fifty levels, with one covariate: it grows as their number.
func BenchmarkLevels(b *testing.B) {
	for _, levels := range []int{10, 50} {
		s := model.Shape{P: levels, Intercept: true}
		c := leveledRows{s, levels, 3000, release.Laplace, 8, modeltest.TamePrior(s), false, 0, 0}
		b.Run(c.String(), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			_, obs := c.draw(rng)
			f := newByLevel(alone(obs), c.prior)
			k, err := newKernel(f, rng)
			must.Do(b, err)
			x, grad := k.Proposal()
			for b.Loop() {
				f.LogDensity(grad, x)
			}
		})
	}
}
