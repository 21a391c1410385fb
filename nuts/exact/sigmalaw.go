package exact

import (
	"math"

	"github.com/dpreg/dpreg/model"
)

// sigmaLaw is the prior of σ² ~ InvGamma(a₀, b₀/a), of which a is integrated out where it is free, in
// ℓ = ½ log σ²w of the rows, given w (model.Kurtosis):
//
//	log p(ℓ) = −2a₀λ − b₀e^{−2λ},  or  −2a₀λ − (½ + a₀) log(1/A² + b₀e^{−2λ}),   λ = log σ = ℓ − ½ log w.
type sigmaLaw struct {
	shape    float64 // a₀
	scale    float64 // b₀
	spread   float64 // 1/A²; 0: not free
	kurtosis model.Kurtosis
	logW     float64
}

func newSigmaLaw(prior *model.Prior) sigmaLaw {
	l := sigmaLaw{shape: prior.Theta.Shape, scale: prior.Theta.Scale, kurtosis: prior.Kurtosis}
	for _, f := range prior.Scales {
		if f.Sigma {
			l.spread = 1 / (f.SD * f.SD)
		}
	}
	return l
}

// value is log p(ℓ), and inverse e^{−2ℓ}.
func (l *sigmaLaw) value(ell, inverse float64) float64 {
	logp, energy := -2*l.shape*(ell-0.5*l.logW), l.scale*inverse*math.Exp(l.logW)
	if l.spread > 0 {
		return logp - (0.5+l.shape)*math.Log(l.spread+energy)
	}
	return logp - energy
}

// slope adds that in ℓ to byEll.
func (l *sigmaLaw) slope(byEll, inverse float64) float64 {
	byEll -= 2 * l.shape
	weight, energy := 1.0, l.scale*inverse*math.Exp(l.logW)
	if l.spread > 0 {
		weight = (0.5 + l.shape) / (l.spread + energy)
	}
	return byEll + 2*weight*energy
}
