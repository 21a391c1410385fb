package posterior

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// autoregression returns draws of parameters that follow AR(1) processes of
// coefficient rho and variance 1.
func autoregression(chains, n, parameters int, rho float64, seed uint64) *Draws {
	d := &Draws{Chains: make([][]float64, chains)}
	for j := range parameters {
		d.Names = append(d.Names, fmt.Sprintf("x[%d]", j+1))
	}
	for c := range d.Chains {
		rng := rand.New(rand.NewPCG(seed, uint64(c)))
		rows := make([]float64, n*parameters)
		step := math.Sqrt(1 - rho*rho)
		for i := range rows {
			if i < parameters {
				rows[i] = rng.NormFloat64()
			} else {
				rows[i] = rho*rows[i-parameters] + step*rng.NormFloat64()
			}
		}
		d.Chains[c] = rows
	}
	return d
}

func BenchmarkMinESS(b *testing.B) {
	for _, n := range []int{500, 4000, 32000} {
		for _, rho := range []float64{0, 0.9, 0.99} {
			d := autoregression(4, n, 40, rho, 1)
			b.Run(fmt.Sprintf("draws=%d/rho=%v", n, rho), func(b *testing.B) {
				for b.Loop() {
					d.MinESS(1)
				}
			})
		}
	}
}

func BenchmarkSummarise(b *testing.B) {
	d := autoregression(4, 4000, 40, 0.5, 1)
	for b.Loop() {
		Summarise(d, DefaultLevel)
	}
}
