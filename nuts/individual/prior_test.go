package individual

import (
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/model"
)

// randomPrior has no zero in it.
func randomPrior(t testing.TB, s model.Shape, rng *rand.Rand) *model.Prior {
	t.Helper()
	definite := func(k int) []float64 {
		a, b := make([]float64, k*k), make([]float64, k*k)
		for i := range b {
			b[i] = rng.NormFloat64()
		}
		for i := range k {
			for j := range k {
				for l := range k {
					a[i*k+j] += b[i*k+l] * b[j*k+l]
				}
			}
			a[i*k+i]++
		}
		return a
	}
	vec := func(k int) []float64 {
		v := make([]float64, k)
		for i := range v {
			v[i] = rng.NormFloat64()
		}
		return v
	}
	nig := must.Get(conjugate.NewNIG(vec(s.Q()), definite(s.Q()), 2+rng.Float64(), 1+rng.Float64()))(t)
	niw := must.Get(conjugate.NewNIW(vec(s.P), 0.5+rng.Float64(), definite(s.P), float64(s.P)+3+rng.Float64()))(t)
	return &model.Prior{Theta: nig, Covariates: niw}
}
