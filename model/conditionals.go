package model

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/variate"
)

// Conditionals draw the parameters x from their prior, and move them given the statistics s.
// Where the prior is conjugate that is a draw from p(x | s), whatever x was. Else it is a
// Gibbs sweep, which leaves p(x | s) invariant:
//
//	w | σ²w                   by Metropolis' test, its prior proposing, see Kurtosis
//	a | x                     InvGamma, see Mixture
//	θ, σ² | a, s              NIG; where the prior is Unscaled θ | σ² and σ² | θ in turn,
//	    θ | σ² ~ N(μ₀ + P⁻¹(XY − XXμ₀)/σ², P⁻¹),   P = Λ₀(a) + XX/σ²,
//	    σ² | θ ~ InvGamma(a₀ + n/2, b₀/a + ½RSS(θ))
//	μ_x, T | a, s             NIW; where μ_x's law has no factor T, T | μ_x and μ_x | T in turn,
//	    T | μ_x ~ InvWishart(Ψ₀(a) + Σ(x−μ_x)(x−μ_x)ᵀ, ν₀ + n),
//	    μ_x | T ~ N(m₀ + G(x̄ − m₀), (I − G)A²),   A² = diag(A_j²),   G = A²(A² + T/n)⁻¹
//
// An x that has not been drawn, as NewParams makes it, is moved a few times from typical values.
//
// Statistics at the border of what more than q or p rows can have, such as projected ones,
// have no posterior under a free scale: the likelihood has no bound as σ, or an sd of x,
// falls, and the prior none above 0. Given such the scale is the typical one, and w is 1.
//
// Conditionals hold a workspace, so each chain needs its own; none of their methods
// allocates.
type Conditionals struct {
	prior   *Prior
	mixture *Mixture
	sums    *Sums
	nig     *conjugate.NIG
	nigS    *conjugate.NIGSampler
	niw     *conjugate.NIW // nil where the moments of x are fixed
	niwS    *conjugate.NIWSampler

	chol, mean, theta []float64 // of P, of θ, θ
	dof               float64   // ν₀ + n
	scale, root       []float64 // of T | μ_x; root of T, then of A² + T/n
	apart             []float64 // x̄ − m₀
	gram              []float64 // of (X, y) or (1, x), then its factor

	regression regressionPrior
	unused     []float64 // its gradient
}

// NewConditionals allocates for a shape; covariates tells whether x has a model.
func NewConditionals(s Shape, prior *Prior, covariates bool) *Conditionals {
	q := s.Q()
	vec := func(n int) []float64 { return make([]float64, n) }
	c := &Conditionals{prior: prior, mixture: NewMixture(prior), sums: NewSums(s), nig: prior.Theta.Clone(), nigS: conjugate.NewNIGSampler(q),
		chol: vec(q * q), mean: vec(q), theta: vec(q), gram: vec((s.P + 2) * (s.P + 2)), regression: newRegressionPrior(prior), unused: vec(q + 1)}
	if covariates {
		c.niw, c.niwS = prior.Covariates.Clone(), conjugate.NewNIWSampler(s.P)
		c.scale, c.root, c.apart = vec(s.P*s.P), vec(s.P*s.P), vec(s.P)
	}
	return c
}

// DrawPrior draws x from the prior.
func (c *Conditionals) DrawPrior(x *Params, rng *rand.Rand) {
	c.mixture.DrawPrior(rng)
	if law := c.mixture.Theta; c.prior.Unscaled {
		x.Sigma2 = variate.InverseGamma(law.Shape, law.Scale, rng)
		copy(c.chol, law.Precision)
		dense.Cholesky(c.chol, len(c.mean))
		drawNormal(x.Theta, law.Mean, c.chol, rng)
	} else {
		c.nigS.Set(law)
		x.Sigma2 = c.nigS.Rand(x.Theta, rng)
	}
	if c.niw != nil {
		c.niwS.Set(c.mixture.Covariates)
		c.niwS.Rand(x.MuX, x.Tau, rng)
		for j, sd := range c.prior.MeanSD {
			x.MuX[j] = c.niw.Mean[j] + sd*rng.NormFloat64()
		}
	}
}

// Draw moves x given statistics s, canonical order, of n rows. It reports false where
// rounding leaves a matrix indefinite; a step that needs it is not done then.
func (c *Conditionals) Draw(x *Params, s []float64, n float64, rng *rand.Rand) bool {
	c.sums.Set(s, n)
	for range c.sweeps(x.Sigma2 == 0) {
		if !c.setRegression(x, n, rng) || c.niw != nil && !c.setCovariates(x, n, rng) || !c.drawRegression(x, n, rng) {
			return false
		}
		if c.niw != nil && !c.drawCovariates(x, n, rng) {
			return false
		}
	}
	return true
}

// DrawCovariates is Draw of (μ_x, T) alone.
func (c *Conditionals) DrawCovariates(x *Params, s []float64, n float64, rng *rand.Rand) bool {
	if len(x.MuX) == 0 {
		return true
	}
	c.sums.Set(s, n)
	for range c.sweeps(x.Tau[0] == 0) {
		if !c.setCovariates(x, n, rng) || !c.drawCovariates(x, n, rng) {
			return false
		}
	}
	return true
}

// firstSweeps is how often an x that has not been drawn is moved.
const firstSweeps = 10

func (c *Conditionals) sweeps(fresh bool) int {
	if fresh && !c.prior.Conjugate() {
		return firstSweeps
	}
	return 1
}

// setRegression draws the free scales of (θ, σ²) and prepares drawRegression.
func (c *Conditionals) setRegression(x *Params, n float64, rng *rand.Rand) bool {
	law, q := c.mixture.Theta, len(c.mean)
	if x.Sigma2 == 0 {
		c.mixture.typical(false)
		copy(x.Theta, law.Mean)
		x.Sigma2 = law.Scale / law.Shape
	} else {
		border := c.prior.free(false) && c.regressionAtBorder(n)
		c.renew(x, border, rng)
		c.mixture.DrawRegression(x.Theta, x.Population(), border, rng)
	}
	c.mixture.ofRows(x.LogW)
	if !c.prior.Unscaled {
		return c.nigS.Update(c.nig, law, c.sums.XX, c.sums.XY, c.sums.YY, n)
	}
	for i, v := range c.sums.XX {
		c.chol[i] = law.Precision[i] + v/x.Sigma2
	}
	if !dense.Cholesky(c.chol, q) {
		return false
	}
	dense.SymMulVec(c.mean, c.sums.XX, q, law.Mean)
	for k, v := range c.mean {
		c.mean[k] = (c.sums.XY[k] - v) / x.Sigma2
	}
	dense.Solve(c.chol, q, c.mean)
	floats.Add(c.mean, law.Mean)
	return true
}

// renew moves w given (θ, σ²w), free scales integrated out. At the border, where σ²w has no
// posterior, w is 1.
func (c *Conditionals) renew(x *Params, border bool, rng *rand.Rand) {
	if border {
		x.LogW = 0
	}
	if border || c.prior.Kurtosis.Normal() {
		return
	}
	was, before := x.LogW, c.regression.logDensity(c.unused, x)
	x.LogW = c.prior.Kurtosis.Rand(rng)
	if !(rng.Float64() < math.Exp(c.regression.logDensity(c.unused, x)-before)) {
		x.LogW = was
	}
}

func (c *Conditionals) drawRegression(x *Params, n float64, rng *rand.Rand) bool {
	if !c.prior.Unscaled {
		x.Sigma2 = c.nigS.Rand(x.Theta, rng)
		return true
	}
	law, rss := c.mixture.Theta, c.sums.YY
	drawNormal(c.theta, c.mean, c.chol, rng)
	dense.SymMulVec(c.mean, c.sums.XX, len(c.mean), c.theta)
	for k, v := range c.theta {
		rss -= v * (c.sums.XY[k] + (c.sums.XY[k] - c.mean[k]))
	}
	scale := law.Scale + 0.5*rss
	if !(scale > 0) {
		return false
	}
	copy(x.Theta, c.theta)
	x.Sigma2 = variate.InverseGamma(law.Shape+0.5*n, scale, rng)
	return true
}

// drawNormal draws from N(mean, P⁻¹), P of this Cholesky factor.
func drawNormal(theta, mean, chol []float64, rng *rand.Rand) {
	variate.Normals(theta, 1, rng)
	dense.SolveLowerT(chol, len(theta), theta)
	floats.Add(theta, mean)
}

// setCovariates draws the free scales of the covariates and takes the law of (μ_x, T).
func (c *Conditionals) setCovariates(x *Params, n float64, rng *rand.Rand) bool {
	free := c.prior.free(true)
	switch {
	case free && (x.Tau[0] == 0 || c.covariatesAtBorder(n)):
		c.mixture.typical(true)
	case free && !c.mixture.DrawCovariates(x.Tau, rng):
		return false
	}
	if c.prior.MeanSD == nil {
		return c.niwS.Update(c.niw, c.mixture.Covariates, n, c.sums.SX, c.sums.SXX)
	}
	p, law := len(x.MuX), c.mixture.Covariates
	for i := range p {
		if x.Tau[0] == 0 {
			x.MuX[i] = c.sums.SX[i] / n
		}
		for j := range i + 1 {
			c.scale[i*p+j] = law.Scale[i*p+j] + c.sums.SXX[i*p+j] - x.MuX[i]*c.sums.SX[j] - x.MuX[j]*(c.sums.SX[i]-n*x.MuX[i])
		}
	}
	c.dof = law.Dof + n
	return dense.Cholesky(c.scale, p)
}

// drawCovariates draws (μ_x, T) from the law that setCovariates took.
func (c *Conditionals) drawCovariates(x *Params, n float64, rng *rand.Rand) bool {
	if c.prior.MeanSD == nil {
		c.niwS.Rand(x.MuX, x.Tau, rng)
		return true
	}
	p, mean := len(x.MuX), c.mixture.Covariates.Mean
	variate.InverseWishartFactor(c.root, c.scale, p, c.dof, c.apart, rng)
	dense.LLt(x.Tau, c.root, p)
	for j, sd := range c.prior.MeanSD {
		c.apart[j] = rng.NormFloat64() / math.Sqrt(n)
		x.MuX[j] = mean[j] + sd*rng.NormFloat64()
	}
	dense.MulLowerVec(c.apart, c.root, p, c.apart)
	for i, sd := range c.prior.MeanSD {
		c.apart[i] = c.sums.SX[i]/n - x.MuX[i] - c.apart[i]
		for j := range i + 1 {
			c.root[i*p+j] = x.Tau[i*p+j] / n
		}
		c.root[i*p+i] += sd * sd
	}
	if !dense.Cholesky(c.root, p) {
		return false
	}
	dense.Solve(c.root, p, c.apart)
	for j, sd := range c.prior.MeanSD {
		x.MuX[j] += sd * sd * c.apart[j]
	}
	return true
}

// regressionAtBorder reports whether some θ leaves no residuals.
func (c *Conditionals) regressionAtBorder(n float64) bool {
	q := len(c.mean)
	c.sums.gram(c.gram)
	return n > float64(q) && singular(c.gram, q+1, q)
}

// covariatesAtBorder reports whether some combination of the covariates is constant.
func (c *Conditionals) covariatesAtBorder(n float64) bool {
	p := len(c.sums.SX)
	k := p + 1
	c.gram[0] = n
	for i := range p {
		c.gram[(i+1)*k] = c.sums.SX[i]
		copy(c.gram[(i+1)*k+1:], c.sums.SXX[i*p:i*p+i+1])
	}
	return n > float64(p) && singular(c.gram, k, 1)
}

// singular reports whether of a positive semidefinite matrix, k×k and the lower triangle given,
// a column from the from-th on has next to nothing that those before it have not. It
// overwrites the matrix.
func singular(a []float64, k, from int) bool {
	for j := range k {
		row := a[j*k : j*k+j]
		left := a[j*k+j]
		for _, v := range row {
			left -= v * v
		}
		if none := left <= borderShare*a[j*k+j]; none && j >= from {
			return true
		} else if none {
			left = math.Inf(1) // the column counts for nothing
		}
		for i := j + 1; i < k; i++ {
			v := a[i*k+j]
			for l, u := range row {
				v -= u * a[i*k+l]
			}
			a[i*k+j] = v / math.Sqrt(left)
		}
	}
	return false
}

// Sums are the parts of s that the conjugate updates take.
type Sums struct {
	Shape  Shape
	XX, XY []float64 // Q×Q and Q: the design matrix's, with the intercept's column of ones
	YY     float64
	SX     []float64 // P: Σ x
	SXX    []float64 // P×P: Σ xxᵀ
}

// NewSums allocates for a shape.
func NewSums(s Shape) *Sums {
	p, q := s.P, s.Q()
	return &Sums{Shape: s, XX: make([]float64, q*q), XY: make([]float64, q), SX: make([]float64, p), SXX: make([]float64, p*p)}
}

// Set sorts s, canonical order, of n rows into its parts.
func (t *Sums) Set(s []float64, n float64) {
	p, q, m, f := t.Shape.P, t.Shape.Q(), t.Shape.M(), t.Shape.first()
	if t.Shape.Intercept {
		t.XX[0], t.XY[0] = n, s[p]
	}
	at := m
	for j := range p {
		t.SX[j] = s[j]
		if f == 1 {
			t.XX[j+1], t.XX[(j+1)*q] = s[j], s[j]
		}
		for k := j; k < p; k++ {
			v := s[at]
			t.SXX[j*p+k], t.SXX[k*p+j] = v, v
			t.XX[(j+f)*q+k+f], t.XX[(k+f)*q+j+f] = v, v
			at++
		}
		t.XY[j+f] = s[at]
		at++
	}
	t.YY = s[at]
}

// gram writes [XX XY; XYᵀ YY], (q+1)×(q+1), of which the lower triangle.
func (t *Sums) gram(dst []float64) {
	q := len(t.XY)
	for i := range q {
		copy(dst[i*(q+1):], t.XX[i*q:i*q+i+1])
	}
	copy(dst[q*(q+1):], t.XY)
	dst[q*(q+1)+q] = t.YY
}

// Given is the kernel of the parameters given statistics that are held, by Conditionals or by Hierarchy.
// Where the prior is conjugate its draws are independent. Else they are those of a Gibbs
// sampler that starts at typical values and moves a few times before the first draw: given
// statistics of many rows θ, σ² and the covariates' law hardly depend on the free scales, so
// that draws are nearly independent and need no warm-up.
type Given struct {
	method string
	draw   func(*rand.Rand) bool
	write  func(dst []float64)
	err    error
}

// NewGiven is for statistics s of n rows; covariates tells whether (μ_x, T) are among the
// parameters. Errors name the method.
func NewGiven(method string, shape Shape, prior *Prior, covariates bool, s []float64, n float64) *Given {
	c, x := NewConditionals(shape, prior, covariates), NewRegressionParams(shape)
	if covariates {
		x = NewParams(shape)
	}
	return &Given{method: method, draw: func(rng *rand.Rand) bool { return c.Draw(x, s, n, rng) }, write: func(dst []float64) { x.Write(dst) }}
}

// Step draws once.
func (k *Given) Step(rng *rand.Rand) struct{} {
	if !k.draw(rng) {
		k.err = fmt.Errorf("%s: the posterior's matrices are not positive definite: columns are collinear and the prior is too weak to tell them apart", k.method)
	}
	return struct{}{}
}

// Err ends the run; see mcmc.Failer.
func (k *Given) Err() error { return k.err }

// Params writes the parameters in the order of Shape.Names, or of Shape.RegressionNames.
func (k *Given) Params(dst []float64) { k.write(dst) }
