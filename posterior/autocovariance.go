package posterior

import (
	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/floats"
)

// autocovariance is the mean over chains of
//
//	γ̂(t) = (1/N) Σ_i (x_i − x̄)(x_{i+t} − x̄),   0 ≤ t < N,
//
// computed when asked for. Chains that mix well are done after a few lags,
// which are plain dot products; the first lag at or above directLags brings
// in the Fourier transform for all of them.
type autocovariance struct {
	centred []float64 // chain after chain, each about its own mean
	chains  int
	n       int
	lags    []float64
	known   int // lags[:known] are computed

	transform *fourier.FFT
	padded    []float64
	spectrum  []complex128
	power     []complex128
}

// directLags is about where a dot product for each lag has cost as much as
// the transforms do, at 1,000 to 10,000 draws; so at worst twice the cheaper
// way is spent.
const directLags = 128

// reset takes over x, chains × n, centring it in place; means are the
// chains'.
func (a *autocovariance) reset(x, means []float64) {
	a.centred, a.chains, a.n = x, len(means), len(x)/len(means)
	a.lags, a.known = resize(a.lags, a.n), 0
	for c, m := range means {
		floats.AddConst(-m, x[c*a.n:(c+1)*a.n])
	}
}

// at returns γ̂(t).
func (a *autocovariance) at(t int) float64 {
	for t >= a.known {
		if a.known == directLags {
			a.fourier()
			break
		}
		a.lags[a.known] = a.direct(a.known)
		a.known++
	}
	return a.lags[t]
}

func (a *autocovariance) direct(t int) float64 {
	var sum float64
	for c := range a.chains {
		x := a.centred[c*a.n : (c+1)*a.n]
		sum += floats.Dot(x[:a.n-t], x[t:])
	}
	return sum / float64(a.chains*a.n)
}

// fourier computes the lags that are not known from the power spectrum: by
// the theorem of Wiener and Khinchin the autocovariance of the chain, padded
// with at least n−1 zeros, is the inverse transform of |x̂|². Transforms are
// linear, so spectra are summed over chains and inverted once.
func (a *autocovariance) fourier() {
	size := transformSize(2*a.n - 1)
	if a.transform == nil || a.transform.Len() != size {
		a.transform = fourier.NewFFT(size)
		a.padded = make([]float64, size)
		a.spectrum = make([]complex128, size/2+1)
		a.power = make([]complex128, size/2+1)
	}
	clear(a.power)
	for c := range a.chains {
		copy(a.padded, a.centred[c*a.n:(c+1)*a.n])
		clear(a.padded[a.n:])
		for k, z := range a.transform.Coefficients(a.spectrum, a.padded) {
			a.power[k] += complex(real(z)*real(z)+imag(z)*imag(z), 0)
		}
	}
	sums := a.transform.Sequence(a.padded, a.power)
	scale := 1 / (float64(size) * float64(a.chains) * float64(a.n))
	for t := a.known; t < a.n; t++ {
		a.lags[t] = sums[t] * scale
	}
	a.known = a.n
}

// transformSize returns the smallest 2^a or 3·2^a, even, that is at least n:
// fourier is no faster at the sizes between.
func transformSize(n int) int {
	two, three := 2, 6
	for two < n {
		two *= 2
	}
	for three < n {
		three *= 2
	}
	return min(two, three)
}
