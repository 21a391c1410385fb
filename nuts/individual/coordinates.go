package individual

import (
	"math"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
)

// coordinates writes v̄ and P of parameters to x, whose residuals U stand there. It
// reports false where rounding forbids that.
func (f *frame) coordinates(x []float64, params *model.Params) bool {
	m, p := f.m, f.p
	lead := f.lead()
	f.rows = x[lead:]
	if !f.factor() {
		return false
	}
	tau := f.work[0]
	copy(tau, params.Tau)
	if !dense.Cholesky(tau, p) {
		return false
	}
	clear(f.l)
	for i := range p {
		copy(f.l[i*m:i*m+i+1], tau[i*p:])
	}
	beta := params.Theta[f.shape.Q()-p:]
	f.mu[p] = 0
	if f.shape.Intercept {
		f.mu[p] = params.Theta[0]
	}
	for j := range p {
		f.mu[p] += beta[j] * params.MuX[j]
		for i := j; i < p; i++ {
			f.l[p*m+j] += f.l[i*m+j] * beta[i]
		}
	}
	copy(f.mu, params.MuX)
	f.l[m*m-1] = math.Sqrt(params.Sigma2)
	root := math.Sqrt(float64(f.n))
	first := f.means()
	for i := range first {
		x[i] = f.mu[i]
		for j := range i + 1 {
			x[i] += f.l[i*m+j] * x[lead-m+j] / root
		}
		x[i] /= f.unit
	}
	mulLower(f.d, f.l, f.r, m)
	f.writeTriangle(x[first:])
	return true
}

// writeTriangle writes P of D.
func (f *frame) writeTriangle(p []float64) {
	m, at := f.m, 0
	for i := range m {
		for j := range i {
			p[at] = f.d[i*m+j] / (f.d[i*m+i] * f.d[j*m+j] * f.unit)
			at++
		}
		p[at] = math.Log(f.d[i*m+i]) / f.unit
		at++
	}
}
