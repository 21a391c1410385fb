package accounting

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// upperTail is Q(z), the probability that a standard normal variate exceeds z.
func upperTail(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }

// upperQuantile is the z with Q(z) = tail, for tail from 1e-300 to ½.
func upperQuantile(tail float64) float64 {
	return -mathext.NormalQuantile(tail)
}
