package accounting

import (
	"math"

	"gonum.org/v1/gonum/dsp/fourier"
)

// composed is the law of the sum L of all losses, tilted by e^{λℓ} and wrapped
// around a circle of n points, as its discrete Fourier transform:
//
//	ẑ_k = ŷ_k^count,  y the tilted law of a step, summing to 1,
//
// for 0 ≤ k < len(transform); what is beyond is below e^negligible altogether.
type composed struct {
	n            int
	step, lambda float64
	k            float64 // K(λ) of the lattices
	origin       float64 // the loss at index 0
	transform    []complex128
	// fault bounds the error of each point of the wrapped law.
	fault float64
	// infinite bounds the mass at an infinite loss.
	infinite float64
	// rounding bounds the error of k.
	rounding     float64
	above, below chernoff
}

const (
	unit       = 0x1p-53
	negligible = -90
)

// fftError bounds the error of each coefficient of a transform of n points, relative
// to the sum of the points' absolute values: of log₂ n levels each adds a few
// rounding errors to what it sums (docs/accounting.md).
func fftError(n int) float64 { return 32 * unit * (math.Log2(float64(n)) + 1) }

// compose transforms a lattice's tilted law and takes the power, and remakes the window's
// bounds on tails, of which only θ is taken, for the lattice.
func compose(l *lattice, count float64, w window, fft *fourier.FFT, rounding float64) *composed {
	n := fft.Len()
	circle := make([]float64, n)
	log, middle := l.wrap(circle, w.lambda)
	c := &composed{n: n, step: l.step, lambda: w.lambda, k: count * log, origin: count * l.loss(middle), infinite: count * l.infinite, rounding: rounding}
	difference := func(theta float64) float64 { return -c.k + count*l.logMoment(c.lambda+theta) }
	c.above = chernoff{w.above.theta, difference(w.above.theta)}
	c.below = chernoff{w.below.theta, difference(w.below.theta)}
	size := n/2 + 1
	modulus, argument, bound := make([]float64, size), make([]float64, size), make([]float64, size)
	e := fftError(n)
	least := math.Max(0, math.Exp(negligible/count)-e) // whose power is negligible
	for k, y := range fft.Coefficients(nil, circle) {
		if real(y)*real(y)+imag(y)*imag(y) < least*least {
			bound[k] = math.Inf(-1)
			continue
		}
		size := math.Hypot(real(y), imag(y))
		bound[k] = count * math.Log(size+e)
		modulus[k] = count * math.Log(size)
		argument[k] = count * math.Atan2(imag(y), real(y))
	}
	c.collect(modulus, argument, bound, count)
	return c
}

// collect keeps the coefficients that matter, and adds up the errors of all.
func (c *composed) collect(modulus, argument, bound []float64, count float64) {
	rounding := 16 * unit * count // of the exponents
	last, sum := 0, 0.
	for k, b := range bound {
		if b < negligible {
			sum += math.Exp(negligible + 1)
			continue
		}
		last = k
		sum += math.Exp(b+rounding) - math.Exp(modulus[k])
	}
	c.transform = make([]complex128, last+1)
	total := 0.
	for k := range c.transform {
		if bound[k] < negligible {
			continue
		}
		sin, cos := math.Sincos(argument[k])
		size := math.Exp(modulus[k])
		total += size
		c.transform[k] = complex(size*cos, size*sin)
	}
	// Coefficients k and n − k are conjugate, and each but the first counts twice.
	c.fault = 2 * (sum + 32*unit*total) / float64(c.n)
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
