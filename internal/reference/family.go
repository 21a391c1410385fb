package reference

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/schema"
)

// FamilyWithoutNoise is WithoutNoise of a response of a family, by the normal limit: the inverse of
// the prior's precision and of what n rows' sums tell, under the law of package exact, of levels of a factor or, without
// one, of one level,
//
//	(F_1 … F_L, h∥) ~ N((√n_l M_0l)_l, Σ_l n_lM_1l/n), C)   of η = η_l + sv,   h⊥ about N(0, Q/n) across the index,
//
// of model.Along at each (η_l, s): but for what Σv² explains C is K_l of F_l, √n_l A_l/n of F_l and h∥, and Σ_l n_lV_l/n² of
// h∥; Q = Σ_l n_lK_l/n. With T the covariance of x within levels and w = Tβ/s, ds = wᵀdβ, and h turns with β by
// M_1/s = N_0, so that
//
//	JᵀC⁻¹J + (Σ_l n_lN_0l)²/(nQ) (0, T − wwᵀ),   dF_l = √n_l (N_0 dη_l + N_1 ds),   dh∥ = Σ_l n_l(N_1 dη_l + N_2 ds)/n.
//
// That is of θ as the sampler reads it, which model.Doubt takes to the rows' own; and to the variance is added what its factor
// moves θ by.
type FamilyWithoutNoise struct {
	shape   model.Shape
	levels  *model.LevelLaw
	index   model.Index
	along   *model.Along
	mixture *model.Mixture
	rng     *rand.Rand
	doubt   *model.Doubt
	linear  []float64 // θ in the data's units over θ in scaled ones, q×q
}

// NewFamilyWithoutNoise prepares it, of which the first columns are so many dummies of a factor with a law of its own; of
// counts most is their bound.
func NewFamilyWithoutNoise(f model.Family, most float64, shape model.Shape, dummies int, doubt *model.Doubt, prior *model.Prior, frame schema.Frame) *FamilyWithoutNoise {
	linear, _ := frame.ThetaMatrix()
	return &FamilyWithoutNoise{shape: shape, doubt: doubt, levels: model.NewLevelLaw(shape, dummies, 0, nil), along: model.NewAlong(f.Moments(most), most), mixture: model.NewMixture(prior), rng: mcmc.Stream(0, 0), linear: linear}
}

// Variance writes the diagonal of Var(θ | s), s of n rows and expected at x, into dst, in the data's
// units. It reports false where rounding leaves a matrix indefinite.
func (g *FamilyWithoutNoise) Variance(dst []float64, x *model.Params, n float64) bool {
	q := g.shape.Q()
	told := make([]float64, q*q)
	if !g.information(told, x, n) {
		return false
	}
	turned := slices.Clone(x.Theta)
	_, w := g.doubt.Locate(turned, x)
	g.doubt.Inform(told)
	g.mixture.DrawRegression(x.Theta, 1, false, g.rng)
	for i, v := range g.mixture.Theta.Precision {
		told[i] += v
	}
	if !variances(dst, told, g.linear) {
		return false
	}
	located := slices.Clone(turned)
	g.doubt.Turn(turned, x.MuX, 1+w)
	floats.Sub(turned, located)
	for k := range dst {
		doubt := floats.Dot(g.linear[k*q:(k+1)*q], turned)
		dst[k] += doubt * doubt
	}
	return true
}

// information writes that of θ in scaled units.
func (g *FamilyWithoutNoise) information(dst []float64, x *model.Params, n float64) bool {
	q := g.shape.Q()
	first := q - g.shape.P
	g.levels.Set(x)
	g.levels.Index(&g.index)
	s, a := g.index.S, g.along
	a.Dispersion = x.Sigma2
	levels := len(g.index.Eta)
	size := levels + 1
	slopes, cov, on := make([]float64, q*size), make([]float64, size*size), make([]float64, size) // Jᵀ, C, of Σv²
	inner := q - len(g.index.Along)                                                               // coefficients of x behind the dummies
	w := func(i int) float64 {
		if i < inner || s == 0 {
			return 0
		}
		return g.index.Along[i-inner] / s
	}
	across, spread := 0.0, 0.0 // Σ_l n_lN_0/n; Q
	for l, share := range g.index.Share {
		a.Set(g.index.Eta[l], s)
		root := math.Sqrt(share * n)
		across, spread = across+share*a.N[0], spread+share*a.K
		for i := range q {
			byEta := 1.0
			if i >= first {
				byEta = g.levels.Column(l, i-first)
			}
			slopes[i*size+l] = root * (a.N[0]*byEta + a.N[1]*w(i))
			slopes[i*size+levels] += share * (a.N[1]*byEta + a.N[2]*w(i))
		}
		cov[l*size+l] = a.K
		cov[levels*size+l] = root / n * a.A
		cov[levels*size+levels] += share * a.V / n
		on[l], on[levels] = root/n*a.B, on[levels]+share*a.C/n
	}
	for i, u := range on {
		for j, v := range on[:i+1] {
			cov[i*size+j] -= n * u * v
		}
	}
	if !dense.Cholesky(cov, size) {
		return false
	}
	for column := range slices.Chunk(slopes, size) { // L⁻¹J
		dense.SolveLower(cov, size, column)
	}
	across *= across * n / spread
	for i := range q {
		for j := range q {
			v := 0.0
			for l := range size {
				v += slopes[i*size+l] * slopes[j*size+l]
			}
			if i >= inner && j >= inner {
				v += across * (g.levels.Within(i-inner, j-inner) - w(i)*w(j))
			}
			dst[i*q+j] = v
		}
	}
	return true
}
