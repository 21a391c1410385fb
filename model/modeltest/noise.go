package modeltest

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/release"
)

// Noise draws from a noise's law.
func Noise(kind release.Kind, scale float64, rng *rand.Rand) float64 {
	if kind == release.Laplace {
		return scale * math.Copysign(rng.ExpFloat64(), rng.Float64()-0.5)
	}
	return scale * rng.NormFloat64()
}

// wholeNoise is the noise of a count: discrete Laplace, the difference of two
// geometric variates, or rounded normal.
func wholeNoise(kind release.Kind, scale float64, rng *rand.Rand) float64 {
	if kind == release.Laplace {
		return math.Floor(scale*rng.ExpFloat64()) - math.Floor(scale*rng.ExpFloat64())
	}
	return math.Round(scale * rng.NormFloat64())
}

// SmoothNoise is the log density, up to a constant and at a residual in units of the scale,
// whose derivative model.Noise's LogDensity gives as slope, where so many statistics are
// moved together; of normal noise only as far as Noise.Reach made it the density's own.
func SmoothNoise(kind release.Kind, u float64, statistics int) float64 {
	if kind == release.Laplace {
		return -math.Sqrt(u*u + min(1, 27/float64(statistics))/16)
	}
	return -0.5 * u * u
}

// logHalfNormal draws the logarithm of |x|, x ~ N(0, sd²).
func logHalfNormal(sd float64, rng *rand.Rand) float64 {
	return math.Log(sd * math.Abs(rng.NormFloat64()))
}

// logitBeta draws ½ log(x/(1 − x)), x ~ Beta(a, a): the y with tanh y = 2x − 1.
func logitBeta(a float64, rng *rand.Rand) float64 {
	x := distuv.Beta{Alpha: a, Beta: a, Src: rng}.Rand()
	return 0.5 * (math.Log(x) - math.Log1p(-x))
}
