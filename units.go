package dpreg

import (
	"fmt"
	"math"

	"github.com/dpreg/dpreg/model"
)

// converter maps a draw of the method (θ, σ², where it has them μ_x and the
// upper triangle of T, and n where that is latent, in scaled units) to a row of Draws.
func (f *Fit) converter(u Units, whole bool) func(dst, src []float64) {
	u.check()
	q, p, covariates := f.shape().Q(), f.shape().P, f.hasCovariates()
	tau := make([]float64, p*p)
	more, count := f.jointConverter(u, whole), f.hasCount()
	return func(dst, src []float64) {
		more(dst, src)
		sigma2 := src[q]
		copy(dst, src[:q])
		if u == Original {
			f.frame.ThetaToOriginal(dst[:q], src[:q])
			sigma2 = f.frame.Sigma2ToOriginal(sigma2)
		}
		dst[q], dst[q+1] = sigma2, math.Sqrt(sigma2)
		dst, src = dst[q+2:], src[q+1:]
		if count {
			dst[len(dst)-1] = src[len(src)-1]
		}
		if !covariates {
			return
		}
		copy(dst, src[:p])
		model.Expand(tau, src[p:], p)
		if u == Original {
			f.frame.MuXToOriginal(dst[:p], src[:p])
			f.frame.TauToOriginal(tau, tau)
		}
		at := p
		eachPair(p, whole, func(j, k int) {
			dst[at] = tau[j*p+k]
			at++
		})
	}
}

func (u Units) check() {
	if u != Original && u != Scaled {
		panic(fmt.Sprintf("dpreg: units %q are neither %q nor %q", string(u), Original, Scaled))
	}
}

// priorIn returns the prior in the units.
func (f *Fit) priorIn(u Units) *model.Prior {
	if u == Original {
		return f.original
	}
	return f.Prior
}
