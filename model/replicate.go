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
