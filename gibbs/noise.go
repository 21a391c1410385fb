package gibbs

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/internal/variate"
	"github.com/dpreg/dpreg/release"
)

// noise is the law of z − s, entries independent, written as a normal law whose
// variance ω² may be latent: for Laplace noise of scale b, ω² is exponential of
// mean 2b², and given r = z − s it is GIG(½, 1/b², r²); for Gaussian noise of
// standard deviation σ it is σ², known.
type noise struct {
	kind  release.Kind
	scale []float64 // b or σ of each entry
}

// latent reports whether ω² is.
func (e *noise) latent() bool { return e.kind == release.Laplace }

// sd is the standard deviation of entry i.
func (e *noise) sd(i int) float64 {
	if e.latent() {
		return math.Sqrt2 * e.scale[i]
	}
	return e.scale[i]
}

// draw draws the noise of entry i.
func (e *noise) draw(i int, rng *rand.Rand) float64 {
	if e.latent() {
		return e.scale[i] * math.Copysign(rng.ExpFloat64(), rng.Float64()-0.5)
	}
	return e.scale[i] * rng.NormFloat64()
}

// drawVariances draws ω² given z − s.
func (e *noise) drawVariances(omega2, resid []float64, rng *rand.Rand) {
	if !e.latent() {
		for i, sd := range e.scale {
			omega2[i] = sd * sd
		}
		return
	}
	for i, b := range e.scale {
		omega2[i] = variate.LaplaceMixture(b, resid[i], rng)
	}
}
