package exact

import (
	"math"

	"github.com/dpreg/dpreg/model"
)

// sigmaLaw is the prior of σ² ~ InvGamma(a₀, b₀/a), ℓ = log σ, of which a is integrated out where it is free:
//
//	log p(ℓ) = −2a₀ℓ − b₀e^{−2ℓ},  or  −2a₀ℓ − (½ + a₀) log(1/A² + b₀e^{−2ℓ}).
type sigmaLaw struct {
	shape  float64 // a₀
	scale  float64 // b₀
	spread float64 // 1/A²; 0: not free
}

func newSigmaLaw(prior *model.Prior) sigmaLaw {
	l := sigmaLaw{shape: prior.Theta.Shape, scale: prior.Theta.Scale}
	for _, f := range prior.Scales {
		if f.Sigma {
			l.spread = 1 / (f.SD * f.SD)
		}
	}
	return l
}

// value is log p(ℓ), and inverse e^{−2ℓ}.
func (l *sigmaLaw) value(ell, inverse float64) float64 {
	logp := -2 * l.shape * ell
	if l.spread > 0 {
		return logp - (0.5+l.shape)*math.Log(l.spread+l.scale*inverse)
	}
	return logp - l.scale*inverse
}

// slope adds that in ℓ to byEll.
func (l *sigmaLaw) slope(byEll, inverse float64) float64 {
	byEll -= 2 * l.shape
	weight := 1.0
	if l.spread > 0 {
		weight = (0.5 + l.shape) / (l.spread + l.scale*inverse)
	}
	return byEll + 2*weight*l.scale*inverse
}
