package dpreg

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// The spread of custodians' residual sds, and one's own.
const (
	spreadLogSigma = "spread_log_sigma"
	sigmaAt        = "sigma_at[%d]"
)

// custodianName is the name in Draws of coefficient k at custodian j.
func (f *Fit) custodianName(j, k int) string {
	return fmt.Sprintf("theta_at[%d,%d]", j+1, k+f.firstIndex())
}

// sigmaName is the name in Draws of σ_j at custodian j.
func sigmaName(j int) string { return fmt.Sprintf(sigmaAt, j+1) }

// firstIndex is the index in names of the first coefficient: 0 for an intercept.
func (f *Fit) firstIndex() int { return f.shape().P + 1 - f.shape().Q() }

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

// jointColumns lists names and labels of what only several releases have, behind what
// one has: the whole of Ω or else none of it, the spread between custodians, √Ω_kk and υ,
// and each one's coefficients and σ_j, where pooling is partial; and each latent n.
func (f *Fit) jointColumns(whole bool) (names, labels []string) {
	if f.partial {
		if whole {
			eachPair(f.shape().Q(), true, func(k, l int) {
				names = append(names, fmt.Sprintf("omega[%d,%d]", k+f.firstIndex(), l+f.firstIndex()))
				labels = append(labels, fmt.Sprintf("omega(%s, %s)", f.coefficients()[k], f.coefficients()[l]))
			})
		}
		for k, label := range f.coefficients() {
			names = append(names, fmt.Sprintf("spread[%d]", k+f.firstIndex()))
			labels = append(labels, fmt.Sprintf("spread(%s)", label))
		}
		names, labels = append(names, spreadLogSigma), append(labels, "spread(log sigma)")
		for j, c := range f.Custodians {
			for k, label := range f.coefficients() {
				names, labels = append(names, f.custodianName(j, k)), append(labels, label+" @ "+c.Name)
			}
			names, labels = append(names, sigmaName(j)), append(labels, "sigma @ "+c.Name)
		}
	}
	for j := range f.Custodians {
		if name := fmt.Sprintf("n[%d]", j+1); f.draws.Index(name) >= 0 {
			names, labels = append(names, name), append(labels, "n @ "+f.Custodians[j].Name)
		}
	}
	return names, labels
}

// jointConverter maps the columns of jointColumns, which are the last of a draw.
func (f *Fit) jointConverter(u Units, whole bool) func(dst, src []float64) {
	q := f.shape().Q()
	triangle := q * (q + 1) / 2
	columns, _ := f.jointColumns(whole)
	own, _ := f.jointColumns(false)
	behind := len(own) // in a draw of the method: Ω in place of the spreads
	if f.partial {
		behind += triangle - q
	}
	a, _ := f.frame.ThetaMatrix()
	omega := make([]float64, q*q)
	return func(dst, src []float64) {
		dst, src = dst[len(dst)-len(columns):], src[len(src)-behind:]
		if f.partial {
			expand(omega, src, q)
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

// affine replaces Ω of θ, q×q, by aΩaᵀ, that of aθ + b.
func affine(omega, a []float64, q int) {
	var half mat.Dense
	linear, dst := mat.NewDense(q, q, a), mat.NewDense(q, q, omega)
	half.Mul(linear, dst)
	dst.Mul(&half, linear.T())
}
