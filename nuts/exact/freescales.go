package exact

import (
	"math"
	"slices"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
)

// freeScales are the free scales a ~ InvGamma(½ν, 1/A²) of a prior that the statistics are not
// freed of in closed form. Of λ = log a that is −½νλ − e^{−λ}/A², and given T those of
// columns j of Ψ₀ are InvGamma(·, 1/A² + ½Σ_j Ψ_jj (T⁻¹)_jj): they follow what spread
// these have given all others. So the coordinates are, W = DDᵀ of the covariates, K = D⁻¹,
//
//	ζ = λ − log Q,   Q = 1/A² + ½Σ_j Ψ_jj (W⁻¹)_jj,   (W⁻¹)_jj = Σ_i K_ij².
type freeScales struct {
	columns [][]int   // of each scale; none of one that is of coefficients
	rate    []float64 // 1/A²
	shape   []float64 // ½ν
	psi     []float64 // diagonal of Ψ₀
	energy  []float64 // Q at the last set

	root, up, inv    []float64 // D_x, Kᵀ and W⁻¹, p×p
	weighed, product []float64 // see pull
	p                int
}

// latentScales are those of freeScales.
func latentScales(prior *model.Prior) (free []model.Scale) {
	for _, s := range prior.Scales {
		if !s.Sigma {
			free = append(free, s)
		}
	}
	return free
}

// ofCovariates is the part of a prior that is of the covariates' law.
func ofCovariates(prior *model.Prior) *model.Prior {
	part := *prior
	part.Scales = slices.DeleteFunc(slices.Clone(prior.Scales), func(s model.Scale) bool { return len(s.Covariates) == 0 })
	return &part
}

func newFreeScales(prior *model.Prior) *freeScales {
	d := prior.Covariates
	p := d.Dim()
	f := &freeScales{p: p, root: make([]float64, p*p), up: make([]float64, p*p), inv: make([]float64, p*p),
		weighed: make([]float64, p*p), product: make([]float64, p*p)}
	for j := range p {
		f.psi = append(f.psi, d.Scale[j*p+j])
	}
	for _, s := range latentScales(prior) {
		f.columns, f.rate, f.shape = append(f.columns, s.Covariates), append(f.rate, s.Rate()), append(f.shape, s.Shape())
	}
	f.energy = make([]float64, len(f.rate))
	return f
}

// dim is the number of coordinates.
func (f *freeScales) dim() int { return len(f.rate) }

// set writes λ, given D, m×m.
func (f *freeScales) set(lambda, zeta, d []float64, m int) {
	p := f.p
	for i := range p {
		copy(f.root[i*p:i*p+i+1], d[i*m:])
	}
	dense.InvertTransposed(f.up, f.root, p)
	for i, columns := range f.columns {
		f.energy[i] = f.rate[i]
		for _, j := range columns {
			row := f.up[j*p+j : (j+1)*p]
			f.energy[i] += 0.5 * f.psi[j] * dot(row, row)
		}
		lambda[i] = zeta[i] + math.Log(f.energy[i])
	}
}

// place writes the coordinates of λ, given D, m×m.
func (f *freeScales) place(zeta, lambda, d []float64, m int) {
	clear(zeta)
	at := make([]float64, len(zeta))
	f.set(at, zeta, d, m)
	for i, v := range at {
		zeta[i] = lambda[i] - v
	}
}

// addPrior adds log p(λ) to logp, and slope writes its gradient.
func (f *freeScales) addPrior(logp float64, lambda []float64) float64 {
	for i, v := range lambda {
		logp -= f.shape[i]*v + f.rate[i]*math.Exp(-v)
	}
	return logp
}

func (f *freeScales) slope(grad, lambda []float64) {
	for i, v := range lambda {
		grad[i] = f.rate[i]*math.Exp(-v) - f.shape[i]
	}
}

// pull writes the gradient in ζ, given that in λ, and adds to that in D, m×m:
// ∂(W⁻¹)_jj/∂D_ab = −2(W⁻¹)_aj K_bj.
func (f *freeScales) pull(grad, gLambda, gD []float64, m int) {
	p := f.p
	dense.MulABtLower(f.inv, f.up, dense.Upper, f.up, dense.Upper, p)
	clear(f.weighed)
	for i, columns := range f.columns {
		grad[i] = gLambda[i]
		for _, j := range columns {
			c := gLambda[i] * f.psi[j] / f.energy[i]
			for b := j; b < p; b++ {
				f.weighed[b*p+j] = c * f.up[j*p+b]
			}
		}
	}
	dense.MulABtLower(f.product, f.inv, dense.Lower, f.weighed, dense.Lower, p)
	for a := range p {
		addScaled(gD[a*m:a*m+a+1], -1, f.product[a*p:])
	}
}
