package reference

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/schema"
)

// FamilyWithoutNoise is WithoutNoise of a response of a family, by the normal limit: the inverse of
// the prior's precision and of what n rows' sums tell, under the law of package exact,
//
//	(Σy, Σvy)/n ~ N((M_0, M_1), C/n)   of η = η̄ + sv,   h⊥ about N(0, Q/n) across the index,
//
// of model.Along, Q = S_0 − M_0² − M_1². With T the covariance of x, w = Tβ/s and
// J = (N_0 N_1; N_1 N_2) that of (η̄, s), since ds = wᵀdβ and h turns with β by M_1/s = N_0,
//
//	n (1, w)ᵀ JᵀC⁻¹J (1, w) + n N_0²/Q (0, T − wwᵀ)   in (η̄, β),   η̄ = α + βᵀμ.
type FamilyWithoutNoise struct {
	shape   model.Shape
	frame   schema.Frame // with the response on the link's scale
	along   *model.Along
	mixture *model.Mixture
	rng     *rand.Rand
	linear  []float64 // θ in the data's units over θ in scaled ones, q×q
}

// NewFamilyWithoutNoise prepares it; of counts most is their bound.
func NewFamilyWithoutNoise(f model.Family, most float64, shape model.Shape, prior *model.Prior, frame schema.Frame) *FamilyWithoutNoise {
	linear, _ := frame.ThetaMatrix()
	return &FamilyWithoutNoise{shape: shape, frame: frame, along: model.NewAlong(f.Moments(most), most), mixture: model.NewMixture(prior), rng: mcmc.Stream(0, 0), linear: linear}
}

// Variance writes the diagonal of Var(θ | s), s of n rows and expected at x, into dst, in the data's
// units. It reports false where rounding leaves a matrix indefinite.
func (g *FamilyWithoutNoise) Variance(dst []float64, x *model.Params, n float64) bool {
	q := g.shape.Q()
	told := make([]float64, q*q)
	if !g.information(told, x, n) {
		return false
	}
	g.mixture.DrawRegression(x.Theta, 1, false, g.rng)
	for i, v := range g.mixture.Theta.Precision {
		told[i] += v
	}
	if !dense.Cholesky(told, q) {
		return false
	}
	row := make([]float64, q)
	for k := range dst { // |L⁻¹a|², a row k of the map to the data's units
		copy(row, g.linear[k*q:(k+1)*q])
		dense.SolveLower(told, q, row)
		dst[k] = 0
		for _, v := range row {
			dst[k] += v * v
		}
	}
	return true
}

// information writes that of θ in scaled units.
func (g *FamilyWithoutNoise) information(dst []float64, x *model.Params, n float64) bool {
	p, q := g.shape.P, g.shape.Q()
	first := q - p
	beta, w := x.Theta[first:], make([]float64, p)
	dense.SymMulVec(w, x.Tau, p, beta)
	eta, variance := 0.0, 0.0
	if first > 0 {
		eta = x.Theta[0]
	}
	for j, b := range beta {
		eta, variance = eta+b*x.MuX[j], variance+b*w[j]
	}
	s := math.Sqrt(variance)
	if s > 0 {
		for j := range w {
			w[j] /= s
		}
	}
	a := g.along
	if !a.Set(eta, s) {
		return false
	}
	spread := a.S[0] - a.M[0]*a.M[0] - a.M[1]*a.M[1] // Q
	// JᵀC⁻¹J
	inverse := func(i, j int) float64 {
		u, v := a.N[i:i+2], a.N[j:j+2]
		return n * (u[0]*v[0]*a.C11 - (u[0]*v[1]+u[1]*v[0])*a.C01 + u[1]*v[1]*a.C00) / a.Det()
	}
	middle, cross, along, across := inverse(0, 0), inverse(0, 1), inverse(1, 1), n*a.N[0]*a.N[0]/spread
	// Of (α, β): dη̄ = dα + μᵀdβ.
	at := func(i int) (byEta, byS float64) {
		if i < first {
			return 1, 0
		}
		return x.MuX[i-first], w[i-first]
	}
	for i := range q {
		for j := range q {
			ei, si := at(i)
			ej, sj := at(j)
			v := middle*ei*ej + cross*(ei*sj+ej*si) + along*si*sj
			if i >= first && j >= first {
				v += across * (x.Tau[(i-first)*p+j-first] - si*sj)
			}
			dst[i*q+j] = v
		}
	}
	return true
}
