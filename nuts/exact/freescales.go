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
	of      []int     // see scaleOf
	energy  []float64 // Q at the last set

	lambda, gLambda []float64 // λ, and the gradient in it

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

// scaleOf is of each covariate the place of its λ, −1 of none.
func scaleOf(prior *model.Prior) []int {
	of := slices.Repeat([]int{-1}, prior.Covariates.Dim())
	for at, s := range latentScales(prior) {
		for _, j := range s.Covariates {
			of[j] = at
		}
	}
	return of
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
	f := &freeScales{p: p, of: scaleOf(prior), root: vec(p * p), up: vec(p * p), inv: vec(p * p),
		weighed: vec(p * p), product: vec(p * p)}
	for j := range p {
		f.psi = append(f.psi, d.Scale[j*p+j])
	}
	for _, s := range latentScales(prior) {
		f.columns, f.rate, f.shape = append(f.columns, s.Covariates), append(f.rate, s.Rate()), append(f.shape, s.Shape())
	}
	f.energy, f.lambda, f.gLambda = vec(len(f.rate)), vec(len(f.rate)), vec(len(f.rate))
	return f
}

// dim is the number of coordinates.
func (f *freeScales) dim() int { return len(f.rate) }

// follow takes Q of D.
func (f *freeScales) follow(t *statistics) {
	p := f.p
	for i := range p {
		copy(f.root[i*p:i*p+i+1], t.d[i*t.m:])
	}
	dense.InvertTransposed(f.up, f.root, p)
	for i, columns := range f.columns {
		f.energy[i] = f.rate[i]
		for _, j := range columns {
			row := f.up[j*p+j : (j+1)*p]
			f.energy[i] += 0.5 * f.psi[j] * dot(row, row)
		}
	}
}

// set takes λ of ζ, given D.
func (f *freeScales) set(zeta []float64, t *statistics) {
	f.follow(t)
	for i, q := range f.energy {
		f.lambda[i] = zeta[i] + math.Log(q)
	}
}

// place writes the coordinates of λ, given D.
func (f *freeScales) place(zeta []float64, t *statistics) {
	f.follow(t)
	for i, q := range f.energy {
		zeta[i] = f.lambda[i] - math.Log(q)
	}
}

// addPrior adds log p(λ) to logp, and slope writes its gradient.
func (f *freeScales) addPrior(logp float64) float64 {
	for i, v := range f.lambda {
		logp -= f.shape[i]*v + f.rate[i]*math.Exp(-v)
	}
	return logp
}

func (f *freeScales) slope() {
	for i, v := range f.lambda {
		f.gLambda[i] = f.rate[i]*math.Exp(-v) - f.shape[i]
	}
}

// pull writes the gradient in ζ, given that in λ, and adds to that in D:
// ∂(W⁻¹)_jj/∂D_ab = −2(W⁻¹)_aj K_bj.
func (f *freeScales) pull(grad []float64, t *statistics) {
	p := f.p
	dense.MulABtLower(f.inv, f.up, dense.Upper, f.up, dense.Upper, p)
	clear(f.weighed)
	for i, columns := range f.columns {
		grad[i] = f.gLambda[i]
		for _, j := range columns {
			c := f.gLambda[i] * f.psi[j] / f.energy[i]
			for b := j; b < p; b++ {
				f.weighed[b*p+j] = c * f.up[j*p+b]
			}
		}
	}
	dense.MulABtLower(f.product, f.inv, dense.Lower, f.weighed, dense.Lower, p)
	for a := range p {
		addScaled(t.gD[a*t.m:a*t.m+a+1], -1, f.product[a*p:])
	}
}
