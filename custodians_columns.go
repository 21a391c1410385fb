package dpreg

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/dpreg/dpreg/model"
)

// coefficients are the labels of θ.
func (f *Fit) coefficients() []string {
	var labels []string
	if f.Design.Intercept {
		labels = append(labels, "(Intercept)")
	}
	for _, c := range f.Design.Covariates {
		labels = append(labels, c.Name)
	}
	return labels
}

// jointConverter maps what only several releases have, which are the last columns of a draw.
func (f *Fit) jointConverter(u Units, whole bool) func(dst, src []float64) {
	q := f.shape().Q()
	triangle := q * (q + 1) / 2
	columns, behind := several(f.layout().Shown(whole)), several(f.layout().Drawn())
	a, _ := f.frame.ThetaMatrix()
	omega := make([]float64, q*q)
	return func(dst, src []float64) {
		dst, src = dst[len(dst)-columns:], src[len(src)-behind:]
		if f.partial {
			model.Expand(omega, src, q)
			if u == Original {
				affine(omega, a, q)
			}
			if whole {
				dst = dst[copy(dst, omega):]
			}
			for k := range q {
				dst[k] = math.Sqrt(omega[k*q+k])
			}
			dst[q] = src[triangle]
			dst, src = dst[q+1:], src[triangle+1:]
			for range f.Custodians {
				copy(dst, src[:q+1])
				if u == Original {
					f.frame.ThetaToOriginal(dst[:q], src[:q])
					dst[q] *= f.frame.Half[len(f.frame.Half)-1]
				}
				dst, src = dst[q+1:], src[q+1:]
			}
		}
		copy(dst, src)
	}
}

// several counts the parameters that only several releases have.
func several(all []model.Parameter) (n int) {
	for _, p := range all {
		if p.Several() {
			n++
		}
	}
	return n
}

// affine replaces Ω of θ, q×q, by aΩaᵀ, that of aθ + b.
func affine(omega, a []float64, q int) {
	var half mat.Dense
	linear, dst := mat.NewDense(q, q, a), mat.NewDense(q, q, omega)
	half.Mul(linear, dst)
	dst.Mul(&half, linear.T())
}
