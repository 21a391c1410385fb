package model

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/release"
)

// RandNoise draws noise in float64, for replicates of releases that no one publishes.
func RandNoise(kind release.Kind, scale float64, rng *rand.Rand) float64 {
	if kind == release.Laplace {
		return scale * math.Copysign(rng.ExpFloat64(), rng.Float64()-0.5)
	}
	return scale * rng.NormFloat64()
}

// NoiseVariance is 2b² for Laplace noise of scale b.
func NoiseVariance(kind release.Kind, scale float64) float64 {
	if kind == release.Laplace {
		return 2 * scale * scale
	}
	return scale * scale
}

// Read is the inverse of Write: it reads a draw in the order of Shape.Names, or of
// RegressionNames where x has no others.
func (x *Params) Read(row []float64) {
	q, p := len(x.Theta), len(x.MuX)
	copy(x.Theta, row)
	x.Sigma2 = row[q]
	copy(x.MuX, row[q+1:])
	at := q + 1 + p
	for j := range p {
		for k := j; k < p; k++ {
			x.Tau[j*p+k], x.Tau[k*p+j] = row[at], row[at]
			at++
		}
	}
}
