package conjugate

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// statistics returns a prior of p covariates and the sums of 100 rows.
func statistics(p int, rng *rand.Rand) (nig *NIG, niw *NIW, xx, xy []float64, yy float64, sx, sxx []float64) {
	q := p + 1
	precision, scale, f := make([]float64, q*q), make([]float64, p*p), make([]float64, p*p)
	for i := range q {
		precision[i*q+i] = 1
	}
	for i := range p {
		scale[i*p+i], f[i*p+i] = 1, 1
	}
	nig = must(NewNIG(make([]float64, q), precision, 2, 1))
	niw = must(NewNIW(make([]float64, p), 1, scale, float64(p+4)))
	_, _, xx, xy, yy = regression(make([]float64, q), 1, 100, rng.NormFloat64)
	_, sx, sxx = rows(make([]float64, p), f, 100, rng.NormFloat64)
	return
}

func BenchmarkNIG(b *testing.B) {
	for _, p := range []int{1, 5, 10} {
		rng := source()
		prior, _, xx, xy, yy, _, _ := statistics(p, rng)
		s, post, theta := NewNIGSampler(p+1), prior.Clone(), make([]float64, p+1)
		b.Run(fmt.Sprint("Update/p=", p), func(b *testing.B) {
			for b.Loop() {
				s.Update(post, prior, xx, xy, yy, 100)
			}
		})
		b.Run(fmt.Sprint("Rand/p=", p), func(b *testing.B) {
			for b.Loop() {
				s.Rand(theta, rng)
			}
		})
	}
}

func BenchmarkNIW(b *testing.B) {
	for _, p := range []int{1, 5, 10} {
		rng := source()
		_, prior, _, _, _, sx, sxx := statistics(p, rng)
		s, post, mu, tau := NewNIWSampler(p), prior.Clone(), make([]float64, p), make([]float64, p*p)
		b.Run(fmt.Sprint("Update/p=", p), func(b *testing.B) {
			for b.Loop() {
				s.Update(post, prior, 100, sx, sxx)
			}
		})
		b.Run(fmt.Sprint("Rand/p=", p), func(b *testing.B) {
			for b.Loop() {
				s.Rand(mu, tau, rng)
			}
		})
	}
}
