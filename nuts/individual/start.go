package individual

import (
	"math/rand/v2"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
)

// start writes a point for a chain to start from: parameters from their laws given z with
// noise drawn anew, projected; residuals from theirs; and a mean and scatter that z
// allows. They are those of s = w s_z + (1 − w) s₀, s₀ of these parameters and residuals, s_z
// that with z and its noise, each weighed by its precision, and w the first of 1, 0.7,
// 0.7², … of which the scatter is positive definite. It reports false where rounding
// forbids that.
func (f *density) start(x []float64, prior *model.Prior, rng *rand.Rand) bool {
	near, s := make([]float64, len(f.s)), make([]float64, len(f.s))
	for i, z := range f.obs.Z {
		near[i] = z + f.obs.Scale[i]*rng.NormFloat64()
	}
	copy(s, near)
	model.NewProjection(f.m).Apply(s, f.obs.N)
	params := model.NewParams(f.shape)
	if !model.NewConditionals(f.shape, prior, true).Draw(params, s, f.obs.N, rng) {
		return false
	}
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	if !f.coordinates(x, params) || !f.set(x) {
		return false
	}
	f.sums.write(f.s)
	for i, v := range f.s {
		ratio := f.obs.Scale[i] / f.obs.N
		near[i] = (near[i] + ratio*ratio*v) / (1 + ratio*ratio)
	}
	for w := 1.0; w > leastStart; w *= 0.7 {
		for i, v := range f.s {
			s[i] = w*near[i] + (1-w)*v
		}
		if f.place(x, s) {
			break
		}
	}
	return true
}

// leastStart is the w below which a chain starts from s₀.
const leastStart = 1e-3

// place writes the v̄ and P of rows whose mean and scatter n DDᵀ have statistics s.
// It reports false, and writes nothing, where no rows have these.
func (f *density) place(x, s []float64) bool {
	m, n := f.m, float64(f.n)
	at := m
	for j := range m {
		for k := j; k < m; k++ {
			f.d[k*m+j] = s[at]/n - s[j]*s[k]/(n*n)
			at++
		}
	}
	if !dense.Cholesky(f.d, m) {
		return false
	}
	for j := range f.means() {
		x[j] = s[j] / (n * f.unit)
	}
	f.writeTriangle(x[f.means():])
	return true
}
