package accounting

import "math"

const (
	unit       = 0x1p-53
	negligible = -90
)

// fftError bounds the error of each coefficient of a transform of n points, relative
// to the sum of the points' absolute values: of log₂ n levels each adds a few
// rounding errors to what it sums (docs/accounting.md).
func fftError(n int) float64 { return 32 * unit * (math.Log2(float64(n)) + 1) }

// power is the law of the sum L of count losses, tilted by e^{λℓ} and wrapped around a circle
// of n points, as its discrete Fourier transform:
//
//	ẑ_k = ŷ_k^count,  y the tilted law of a step, summing to 1,
//
// for 0 ≤ k < len(transform); what is beyond is below e^negligible altogether. fault bounds
// the error of each point of the wrapped law. It overwrites ŷ.
func power(transform []complex128, count float64, n int) (_ []complex128, fault float64) {
	rounding := 16 * unit * count // of the exponents
	e := fftError(n)
	least := math.Max(0, math.Exp(negligible/count)-e) // whose power is negligible
	length, total := 0, 0.
	for k, y := range transform {
		transform[k] = 0
		if real(y)*real(y)+imag(y)*imag(y) < least*least {
			fault += math.Exp(negligible + 1)
			continue
		}
		size := math.Hypot(real(y), imag(y))
		bound := count * math.Log(size+e)
		if bound < negligible {
			fault += math.Exp(negligible + 1)
			continue
		}
		sin, cos := math.Sincos(count * math.Atan2(imag(y), real(y)))
		modulus := math.Exp(count * math.Log(size))
		fault += math.Exp(bound+rounding) - modulus
		total += modulus
		transform[k] = complex(modulus*cos, modulus*sin)
		length = k + 1
	}
	// Coefficients k and n − k are conjugate, and each but the first counts twice.
	return transform[:max(1, length)], 2 * (fault + 32*unit*total) / float64(n)
}

// wrap writes the law tilted by e^{λℓ} and divided by its sum, whose logarithm it
// returns, around a circle that begins at its middle: near the mean, so that the
// transform turns slowly.
func (l *lattice) wrap(circle []float64, lambda float64) (log float64, middle int) {
	top := math.Inf(-1)
	for i, p := range l.mass {
		if p > 0 {
			top = math.Max(top, math.Log(p)+float64(lambda*l.loss(i)))
		}
	}
	weights := make([]float64, len(l.mass))
	var sum, mean float64
	for i, p := range l.mass {
		if p == 0 {
			continue
		}
		weights[i] = p * math.Exp(lambda*l.loss(i)-top)
		sum += weights[i]
		mean += weights[i] * float64(i)
	}
	middle = int(math.Round(mean / sum))
	clear(circle)
	n := len(circle)
	for i, w := range weights {
		at := (i - middle) % n
		if at < 0 {
			at += n
		}
		circle[at] += w / sum
	}
	return top + math.Log(sum), middle
}

// logMoment is log Σ mass·e^{λℓ}.
func (l *lattice) logMoment(lambda float64) float64 {
	return logMoment(lambda, len(l.mass), func(i int) (mass, loss float64) { return l.mass[i], l.loss(i) })
}
