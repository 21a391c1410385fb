// Package vi is variational inference under differential privacy, for any
// differentiable log joint density whose records are independent given the
// parameters (Jälkö, Dikmen & Honkela, UAI 2017; Prediger et al., PETS 2022).
//
// Records leave a run through one door: at each step, the sum over a random batch of
// the records' gradients, each clipped to a norm and rounded to a lattice, plus exact
// normal noise. docs/vi.md has the proof.
package vi

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
)

// Model is a log joint density
//
//	log p(θ) + Σ_i log p(record i | θ)
//
// over unconstrained parameters θ ∈ R^Dim; parameters with a support are transformed,
// as in automatic differentiation variational inference (Kucukelbir et al., JMLR 18,
// 2017). Its terms are functions that call a Tape.
type Model struct {
	Records    int
	Parameters []Parameter
	// LogLik makes log p(record | θ) of the records on a tape, by Factor and Observe.
	// Where a record's gradient is not finite, it counts as 0.
	LogLik func(*Tape)
	// LogPrior makes log p(θ) up to a constant, with the Jacobian of transformations; nil is 0.
	LogPrior func(*Tape)
	// Show writes the parameters as they are shown; nil is each by its own.
	Show func(dst, theta []float64)
}

// Parameter is a part of θ.
type Parameter struct {
	Name     string
	Size     int  // entries; 0 is a number by itself
	Columns  int  // of a matrix; 0 is none
	Positive bool // shown is e^θ
}

func (p Parameter) entries() int { return max(1, p.Size) }

// Dim is the length of θ.
func (m *Model) Dim() (dim int) {
	for _, p := range m.Parameters {
		dim += p.entries()
	}
	return dim
}

// Names are those of all entries of θ as they are shown.
func (m *Model) Names() (names []string) {
	for _, p := range m.Parameters {
		for i := range p.entries() {
			switch {
			case p.Size == 0:
				names = append(names, p.Name)
			case p.Columns == 0:
				names = append(names, fmt.Sprintf("%s[%d]", p.Name, i))
			default:
				names = append(names, fmt.Sprintf("%s[%d,%d]", p.Name, i/p.Columns, i%p.Columns))
			}
		}
	}
	return names
}

// Constrain writes the parameters as they are shown.
func (m *Model) Constrain(dst, theta []float64) {
	copy(dst, theta)
	if m.Show != nil {
		m.Show(dst, theta)
		return
	}
	for _, p := range m.Parameters {
		for i := range p.entries() {
			if p.Positive {
				dst[i] = math.Exp(dst[i])
			}
		}
		dst = dst[p.entries():]
	}
}

// Rows are the records of a regression: row i of X, of P entries, one after the other,
// and response Y[i]. A column of ones makes an intercept.
type Rows struct {
	P    int
	X, Y []float64
}

func (r *Rows) row(i int) []float64 { return r.X[i*r.P : (i+1)*r.P : (i+1)*r.P] }

// mustFit panics unless X is len(Y) × P.
func (r *Rows) mustFit() {
	if r.P < 1 || len(r.X) != r.P*len(r.Y) {
		panic(fmt.Sprintf("vi: %d entries of X for %d responses and %d covariates", len(r.X), len(r.Y), r.P))
	}
}

// LogNormal adds log N(entries; 0, sd² I) to a density, up to a constant.
func (t *Tape) LogNormal(of *Node, sd float64) {
	t.Factor(of.With(t.Constant([]float64{1 / (sd * sd)}, 1), func(x, precision float64) (float64, float64, float64) {
		return -precision * x * x / 2, -precision * x, 0
	}))
}

// LogInvGamma adds log InvGamma(e^w; shape, scale) to a density of w, up to a constant: with
// the Jacobian, −shape·w − scale·e^{−w}.
func (t *Tape) LogInvGamma(of *Node, shape, scale float64) {
	t.Factor(of.Scaled(-shape))
	t.Factor(of.With(t.Constant([]float64{scale}, 1), func(w, scale float64) (float64, float64, float64) {
		b := scale * math.Exp(-w)
		return -b, b, 0
	}))
}

const log2Pi = 1.8378770664093454835606594728112

// Logistic returns the logistic regression of responses that are 0 or 1, or between them,
// where y counts as a share y of a 1 and the rest of a 0, with prior θ ~ N(0, sd² I). Slopes
// are between −1 and 1, so gradients are no longer than rows. It panics unless X is len(Y) × P.
func Logistic(rows *Rows, sd float64) *Model {
	rows.mustFit()
	return &Model{
		Records: len(rows.Y), Parameters: []Parameter{{Name: "theta", Size: rows.P}},
		LogLik:   func(t *Tape) { t.Observe(t.Dense(t.Rows(rows.X, rows.P), 0), rows.Y, bernoulli, BernoulliSlope) },
		LogPrior: func(t *Tape) { t.LogNormal(t.Param(0), sd) },
	}
}

// BernoulliSlope is y − σ(η), the derivative of the log-likelihood yη − log(1 + e^η) of y
// from 0 to 1. Where e^{−η} overflows, σ is 0.
func BernoulliSlope(y, eta float64) float64 { return y - 1/(1+math.Exp(-eta)) }

func bernoulli(y, eta float64) float64 {
	return y*eta - max(eta, 0) - math.Log1p(math.Exp(-math.Abs(eta)))
}

// LinearRegression returns y ~ N(xᵀθ, σ²), with priors θ | σ² ~ N(0, sd² σ² I) and σ² ~
// InvGamma(shape, scale), in the unconstrained parameters β = θ/σ and w = log σ²: gradients are
// then as long as rows, about, whatever σ is, and one clipping norm serves. With
// e = y/σ − xᵀβ,
//
//	log p(y | β, w) = −½ log 2π − w/2 − e²/2.
//
// It panics unless X is len(Y) × P.
func LinearRegression(rows *Rows, sd, shape, scale float64) *Model {
	rows.mustFit()
	p := rows.P
	return &Model{
		Records: len(rows.Y), Parameters: []Parameter{{Name: "theta", Size: p}, {Name: "sigma2"}},
		LogLik: func(t *Tape) {
			w := t.Param(1)
			scale := w.Map(func(w float64) (float64, float64) { s := math.Exp(-w / 2); return s, -s / 2 })
			t.Factor(t.Rows(rows.Y, 1).Times(scale).With(t.Dense(t.Rows(rows.X, p), 0), func(y, eta float64) (float64, float64, float64) {
				e := y - eta
				return -e * e / 2, -e, e
			}))
			t.Factor(w.Map(func(w float64) (float64, float64) { return -(log2Pi + w) / 2, -0.5 }))
		},
		LogPrior: func(t *Tape) {
			t.LogNormal(t.Param(0), sd)
			t.LogInvGamma(t.Param(1), shape, scale)
		},
		Show: func(dst, theta []float64) {
			sigma := math.Exp(theta[p] / 2)
			floats.ScaleTo(dst[:p], sigma, theta[:p])
			dst[p] = sigma * sigma
		},
	}
}

// Hierarchical returns the logistic regression of d3p (Prediger et al. 2022, section 3.3): the
// records of group l = 0, 1, … have coefficients w_l of their own, which a linear map M of the
// group's descriptors g_l, of which there are so many, explains,
//
//	y ~ Bernoulli(1/(1 + e^{−xᵀw_l})),  w_l ~ N(M g_l, I),  M_jk ~ N(0, sd²).
//
// A record is linear in w, with its covariates in the place of its group. It panics where sizes
// do not fit, or a group has no descriptors.
func Hierarchical(rows *Rows, group []int, descriptors []float64, width int, sd float64) *Model {
	rows.mustFit()
	if len(group) != len(rows.Y) || width < 1 || len(descriptors)%width != 0 {
		panic("vi: groups and descriptors do not fit the rows")
	}
	p, groups := rows.P, len(descriptors)/width
	wide := &Rows{P: groups * p, X: make([]float64, len(group)*groups*p), Y: rows.Y}
	for i, l := range group {
		if l < 0 || l >= groups {
			panic(fmt.Sprintf("vi: group %d of %d", l, groups))
		}
		copy(wide.row(i)[l*p:], rows.row(i))
	}
	m := Logistic(wide, 1)
	m.Parameters = []Parameter{{Name: "w", Size: groups * p, Columns: p}, {Name: "M", Size: p * width, Columns: width}}
	m.LogPrior = func(t *Tape) {
		t.LogNormal(t.Param(1), sd)
		t.LogNormal(t.Matrix(0, p).Minus(t.Dense(t.Constant(descriptors, width), 1)), 1)
	}
	return m
}
