package dpreg

import (
	"errors"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// Outlook foretells roughly and in milliseconds what Foresee simulates: how much of a
// model's slopes a release will tell. It knows the model's prior and nothing of the rows.
//
// With x a row and its constant, let S = Σxxᵀ; a release has R = S + N, and z = Σxy + e, N
// and e noise of variance v in each entry. Then z = Rθ + u,
//
//	u = Σx(y − xᵀθ) + e − Nθ,   Cov u ≈ C = σ²S + v(1 + |θ|²)I,
//
// a regression of z on R. N is no design: S alone counts as one, and
//
//	Cov(θ | R, z) ≈ (Λ₀/σ² + S C⁻¹ S)⁻¹.
//
// Its diagonal is averaged over draws of σ², μ_x and T from the prior, with the expectations
// of S, n E[xxᵀ | μ_x, T], and of |θ|², given these.
//
// Of more than m = outlookCovariates, the first m stand for all, which are in |θ|² alone. A
// block of T ~ InvWishart(Ψ, ν), p×p, has Ψ's block and ν' = ν − p + m; most eigenvalues of T
// are near Ψ/ν, but those of the block are near Ψ/ν', as if the other columns were known. What
// is learned hangs on them: the block's Ψ is taken times ν'/ν.
type Outlook struct {
	first, q int       // the first slope, and how many coefficients there are
	prior    []float64 // Λ₀
	variance []float64 // the diagonal of Λ₀⁻¹
	square   float64   // |E θ|²
	others   float64   // the sum of the variances, as above, of the slopes that are left out
	draws    []outlookDraw
}

type outlookDraw struct {
	sigma2 float64
	gram   []float64 // E[xxᵀ | μ_x, T], q×q
}

// outlookCovariates bounds the time that a wide release takes.
const outlookCovariates = 30

// outlookWork bounds the number of draws by the cubes of coefficients that they cost.
const outlookWork, minOutlookDraws, maxOutlookDraws = 3_000_000, 4, 400

// NewOutlook prepares an outlook on a design; prior is in scaled units, nil for
// model.DefaultPrior. Errors: a prior of another model, or one that is not proper.
func NewOutlook(d *schema.Design, prior *model.Prior) (*Outlook, error) {
	return newOutlook(d, prior, outlookCovariates)
}

func newOutlook(d *schema.Design, prior *model.Prior, most int) (*Outlook, error) {
	shape := model.Shape{P: len(d.Covariates), Intercept: d.Intercept}
	prior, err := Options{Prior: prior}.prior(shape)
	if err != nil {
		return nil, err
	}
	o := &Outlook{}
	for _, m := range prior.Theta.Mean {
		o.square += m * m
	}
	if extra := shape.P - most; extra > 0 {
		all := shape.Q()
		shape.P = most
		for k := shape.Q(); k < all; k++ {
			o.others += 1 / prior.Theta.Precision[k*all+k]
		}
		prior = leading(prior, shape, extra)
	}
	q := shape.Q()
	o.first, o.q, o.prior, o.variance = q-shape.P, q, prior.Theta.Precision, make([]float64, q)
	inverse := make([]float64, q*q)
	if !invert(inverse, append([]float64(nil), o.prior...), q) {
		return nil, errors.New("the prior is not proper in float64")
	}
	for k := range q {
		o.variance[k] = inverse[k*q+k]
	}
	s := simulation{forecast: &Forecast{Prior: prior}}
	for k := range min(max(outlookWork/(q*q*q), minOutlookDraws), maxOutlookDraws) {
		x, err := s.parameters(shape, mcmc.Stream(0, k))
		if err != nil {
			return nil, err
		}
		o.draws = append(o.draws, outlookDraw{x.Sigma2, gram(x, shape)})
	}
	return o, nil
}

// leading is the prior of the first columns of a model, which stand for extra ones after them.
func leading(of *model.Prior, shape model.Shape, extra int) *model.Prior {
	theta, x := *of.Theta, *of.Covariates
	block := func(a []float64, n int) []float64 {
		b := make([]float64, 0, n*n)
		for i := range n {
			b = append(b, a[i*(n+extra):][:n]...)
		}
		return b
	}
	theta.Mean, theta.Precision = theta.Mean[:shape.Q()], block(theta.Precision, shape.Q())
	x.Mean, x.Scale, x.Dof = x.Mean[:shape.P], block(x.Scale, shape.P), x.Dof-float64(extra)
	for i := range x.Scale {
		x.Scale[i] *= x.Dof / of.Covariates.Dof
	}
	return &model.Prior{Theta: &theta, Covariates: &x}
}

// gram is E[xxᵀ | μ_x, T] of a row with its constant, if there is one.
func gram(x *model.Params, shape model.Shape) []float64 {
	mean := append([]float64(nil), x.MuX...)
	if shape.Intercept {
		mean = append([]float64{1}, mean...)
	}
	q, first := shape.Q(), shape.Q()-shape.P
	g := make([]float64, q*q)
	for i := range q {
		for j := range q {
			g[i*q+j] = mean[i] * mean[j]
			if i >= first && j >= first {
				g[i*q+j] += x.Tau[(i-first)*shape.P+j-first]
			}
		}
	}
	return g
}

// Learned is 1 − expected posterior variance / prior variance, the mean over slopes, of a
// release of n rows with some noise: between 0 and 1.
func (o *Outlook) Learned(n float64, noise release.Noise) float64 {
	q := o.q
	s, c, w, precision := make([]float64, q*q), make([]float64, q*q), make([]float64, q*q), make([]float64, q*q)
	left, before := make([]float64, q), make([]float64, q)
	for _, d := range o.draws {
		spread := 1 + o.square + d.sigma2*o.others
		for k, v := range o.variance {
			before[k] += d.sigma2 * v
			spread += d.sigma2 * v
		}
		for i, g := range d.gram {
			s[i] = n * g
			c[i] = d.sigma2 * s[i]
		}
		for k := range q {
			c[k*q+k] += noise.SD() * noise.SD() * spread
		}
		if !dense.Cholesky(c, q) {
			return 0
		}
		copy(w, s)
		for k := range q {
			dense.SolveLower(c, q, w[k*q:])
		}
		dense.MulABt(precision, w, w, q, q, q)
		for i, v := range o.prior {
			precision[i] += v / d.sigma2
		}
		if !invert(c, precision, q) {
			return 0
		}
		for k := range q {
			left[k] += c[k*q+k]
		}
	}
	learned := 0.0
	for k := o.first; k < q; k++ {
		learned += (1 - left[k]/before[k]) / float64(q-o.first)
	}
	return learned
}

// invert writes A⁻¹ into dst, and A's factor into a; false where A is not positive definite.
func invert(dst, a []float64, n int) bool {
	if !dense.Cholesky(a, n) {
		return false
	}
	dense.InverseFromCholesky(dst, a, n)
	return true
}
