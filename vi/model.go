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
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Model is a log joint density
//
//	log p(θ) + Σ_i log p(record i | θ)
//
// over unconstrained parameters θ ∈ R^Dim; parameters with a support are transformed,
// as in automatic differentiation variational inference (Kucukelbir et al., JMLR 18,
// 2017). A Model holds its records. It need not serve several goroutines at once, so it
// may keep a workspace, and no method should allocate.
type Model interface {
	// Dim is the length of θ.
	Dim() int
	// Len is the number of records.
	Len() int
	// LogLik returns log p(record i | θ) and overwrites grad, of length Dim, with its
	// gradient. Both are functions of record i and θ alone, to the last bit: that is what
	// the guarantee rests on. Where either is not finite, the record's gradient counts as 0.
	LogLik(grad, theta []float64, i int) float64
	// LogPrior returns the log density of θ, with the Jacobian of the transformations,
	// and overwrites grad with its gradient. It does not depend on records.
	LogPrior(grad, theta []float64) float64
	// Names are those of the parameters as they are shown.
	Names() []string
	// Constrain writes the parameters as they are shown, len(Names()) of them.
	Constrain(dst, theta []float64)
}

// Linear is a Model whose records bear on θ through one linear predictor each,
//
//	log p(record i | θ) = f_i(η_i),  η_i = Σ_j x_ij θ_j,
//
// the sum being over the first Predictors() parameters: the gradient is f′_i(η_i) x_i there
// and 0 elsewhere. Such a model need not write gradients out, and no noise is added where
// they are 0.
type Linear interface {
	Model
	// Predictors is the length of every x_i, whether there are records or not.
	Predictors() int
	// Covariates returns x_i, which is not to be changed.
	Covariates(i int) []float64
	// Slope returns f′_i(η).
	Slope(i int, eta float64) float64
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

func indexed(name string, n int) []string {
	names := make([]string, n)
	for j := range names {
		names[j] = fmt.Sprintf("%s[%d]", name, j)
	}
	return names
}

// normalPrior is log ∏ N(θ_j; 0, sd²) up to a constant, and writes the gradient.
func normalPrior(grad, theta []float64, sd float64) float64 {
	precision, sum := 1/(sd*sd), 0.
	for j, v := range theta {
		grad[j] = -precision * v
		sum += v * v
	}
	return -precision * sum / 2
}

// logistic is y ~ Bernoulli(1/(1 + e^{−xᵀθ})), θ ~ N(0, sd² I).
type logistic struct {
	rows *Rows
	sd   float64
}

// Logistic returns the logistic regression of responses that are 0 or 1, or between them,
// where y counts as a share y of a 1 and the rest of a 0, with prior N(0, sd² I). Slopes are between −1 and 1, so gradients are no longer than rows. It
// panics unless X is len(Y) × P.
func Logistic(rows *Rows, sd float64) Linear {
	rows.mustFit()
	return &logistic{rows, sd}
}

func (l *logistic) Dim() int                        { return l.rows.P }
func (l *logistic) Len() int                        { return len(l.rows.Y) }
func (l *logistic) Names() []string                 { return indexed("theta", l.rows.P) }
func (l *logistic) Constrain(dst, th []float64)     { copy(dst, th) }
func (l *logistic) Predictors() int                 { return l.rows.P }
func (l *logistic) Covariates(i int) []float64      { return l.rows.row(i) }
func (l *logistic) LogPrior(g, t []float64) float64 { return normalPrior(g, t, l.sd) }

func (l *logistic) Slope(i int, eta float64) float64 { return BernoulliSlope(l.rows.Y[i], eta) }

func (l *logistic) LogLik(grad, theta []float64, i int) float64 {
	return bernoulliLogLik(grad, theta, l.rows.row(i), l.rows.Y[i])
}

// BernoulliSlope is y − σ(η), the derivative of the log-likelihood yη − log(1 + e^η) of y
// from 0 to 1. Where e^{−η} overflows, σ is 0.
func BernoulliSlope(y, eta float64) float64 { return y - 1/(1+math.Exp(-eta)) }

// bernoulliLogLik is LogLik of a response with the predictor xᵀθ.
func bernoulliLogLik(grad, theta, x []float64, y float64) float64 {
	eta := floats.Dot(x, theta[:len(x)])
	slope := BernoulliSlope(y, eta)
	for j, v := range x {
		grad[j] = slope * v
	}
	clear(grad[len(x):])
	return y*eta - softplus(eta)
}

// softplus is log(1 + e^x).
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// linearRegression is y ~ N(xᵀθ, σ²), θ | σ² ~ N(0, sd² σ² I), σ² ~ InvGamma(a, b), in the
// unconstrained parameters (β, w), β = θ/σ and w = log σ²: gradients are then as long as
// rows, about, whatever σ is, and one clipping norm serves. With e = y/σ − xᵀβ,
//
//	log p(y | β, w) = −½ log 2π − w/2 − e²/2,
//
// whose gradients are e·x in β and e·y/2σ − ½ in w; the prior of w, with the Jacobian, is
// −aw − b e^{−w} up to a constant.
type linearRegression struct {
	rows         *Rows
	sd           float64
	shape, scale float64
}

// LinearRegression returns the regression with normal errors of unknown variance, with
// priors N(0, sd² σ² I) of coefficients and InvGamma(shape, scale) of σ². It panics unless X is len(Y) × P.
func LinearRegression(rows *Rows, sd, shape, scale float64) Model {
	rows.mustFit()
	return &linearRegression{rows, sd, shape, scale}
}

func (l *linearRegression) Dim() int { return l.rows.P + 1 }
func (l *linearRegression) Len() int { return len(l.rows.Y) }

func (l *linearRegression) Names() []string {
	return slices.Concat(indexed("theta", l.rows.P), []string{"sigma2"})
}

func (l *linearRegression) Constrain(dst, theta []float64) {
	p := l.rows.P
	sigma := math.Exp(theta[p] / 2)
	for j, b := range theta[:p] {
		dst[j] = sigma * b
	}
	dst[p] = sigma * sigma
}

func (l *linearRegression) LogLik(grad, theta []float64, i int) float64 {
	p, x, w := l.rows.P, l.rows.row(i), theta[l.rows.P]
	y := l.rows.Y[i] * math.Exp(-w/2)
	e := y - floats.Dot(x, theta[:p])
	for j, v := range x {
		grad[j] = e * v
	}
	grad[p] = (e*y - 1) / 2
	return -(math.Log(2*math.Pi) + w + e*e) / 2
}

func (l *linearRegression) LogPrior(grad, theta []float64) float64 {
	p := l.rows.P
	logPrior := normalPrior(grad, theta[:p], l.sd)
	w := theta[p]
	b := l.scale * math.Exp(-w)
	grad[p] = -l.shape + b
	return logPrior - l.shape*w - b
}

// hierarchical is the logistic regression of d3p (Prediger et al. 2022, section 3.3): the
// records of group l have coefficients w_l of their own, which a linear map M of the
// group's descriptors g_l explains,
//
//	y ~ Bernoulli(1/(1 + e^{−xᵀw_l})),  w_l ~ N(M g_l, I),  M_jk ~ N(0, sd²).
//
// θ is (w_1, …, w_L, rows of M). A record is linear in w, with its covariates in the
// place of its group.
type hierarchical struct {
	y           []float64
	x           []float64 // n × (groups·p)
	descriptors []float64 // groups × k
	p, groups   int
	k           int
	sd          float64
}

// Hierarchical returns the model of rows with the groups group[i] = 0, 1, … and their
// descriptors, a matrix of groups × width, row-major. It panics where sizes do not fit,
// or a group has no descriptors.
func Hierarchical(rows *Rows, group []int, descriptors []float64, width int, sd float64) Linear {
	rows.mustFit()
	if len(group) != len(rows.Y) || width < 1 || len(descriptors)%width != 0 {
		panic("vi: groups and descriptors do not fit the rows")
	}
	h := &hierarchical{y: rows.Y, descriptors: descriptors, p: rows.P, groups: len(descriptors) / width, k: width, sd: sd}
	h.x = make([]float64, len(rows.Y)*h.wide())
	for i, l := range group {
		if l < 0 || l >= h.groups {
			panic(fmt.Sprintf("vi: group %d of %d", l, h.groups))
		}
		copy(h.Covariates(i)[l*h.p:], rows.row(i))
	}
	return h
}

// wide is the number of the groups' coefficients.
func (h *hierarchical) wide() int { return h.groups * h.p }

func (h *hierarchical) Dim() int                    { return h.wide() + h.p*h.k }
func (h *hierarchical) Len() int                    { return len(h.y) }
func (h *hierarchical) Constrain(dst, th []float64) { copy(dst, th) }

func (h *hierarchical) Names() []string {
	table := func(name string, rows, columns int) (names []string) {
		for i := range rows * columns {
			names = append(names, fmt.Sprintf("%s[%d,%d]", name, i/columns, i%columns))
		}
		return names
	}
	return slices.Concat(table("w", h.groups, h.p), table("M", h.p, h.k))
}

func (h *hierarchical) Predictors() int { return h.wide() }

func (h *hierarchical) Covariates(i int) []float64 {
	return h.x[i*h.wide() : (i+1)*h.wide() : (i+1)*h.wide()]
}

func (h *hierarchical) Slope(i int, eta float64) float64 { return BernoulliSlope(h.y[i], eta) }

func (h *hierarchical) LogLik(grad, theta []float64, i int) float64 {
	return bernoulliLogLik(grad, theta, h.Covariates(i), h.y[i])
}

// LogPrior has, with e_l = w_l − M g_l, the gradients −e_l in w_l and
// Σ_l e_l g_lᵀ − M/sd² in M.
func (h *hierarchical) LogPrior(grad, theta []float64) float64 {
	w := h.wide()
	m, gradM := theta[w:], grad[w:]
	logPrior := normalPrior(gradM, m, h.sd)
	for l := range h.groups {
		g := h.descriptors[l*h.k : (l+1)*h.k]
		for j := range h.p {
			e := theta[l*h.p+j] - floats.Dot(m[j*h.k:(j+1)*h.k], g)
			grad[l*h.p+j] = -e
			logPrior -= e * e / 2
			for k, v := range g {
				gradM[j*h.k+k] += e * v
			}
		}
	}
	return logPrior
}
