package gibbs

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/variate"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

// state is where a chain stands, (θ, σ², μ_x, T, n, s, ω), with the buffers that
// its steps share; μ_x and T only where the source has them. Its methods are the
// Gibbs steps; none allocates.
type state struct {
	obs *model.Observation
	law source
	q   int // length of s

	n float64 // number of rows: public, or latent where the release noised it

	params *model.Params
	s      []float64 // latent statistics, canonical order
	resid  []float64 // z − s
	omega2 []float64 // variances of the noise

	chol   []float64 // lower Cholesky factor of nΣ_t + diag ω², q×q
	clt    []float64 // a draw of N(nμ_t, nΣ_t)
	gain   []float64
	unused []float64 // a gradient that collapsed does not want

	projection *model.Projection
	projected  bool // start moved s to the border of what data can have

	conditionals *model.Conditionals

	// Where the release's units are not the parameters': the map, and the statistics
	// in common units.
	units  *model.Units
	common []float64
}

func newState(obs *model.Observation, prior *model.Prior, law source, params *model.Params) *state {
	sh := obs.Shape
	q := sh.Statistics()
	vec := func() []float64 { return make([]float64, q) }
	c := &state{
		obs: obs, law: law, q: q, n: obs.N,
		params: params, s: vec(), resid: vec(), omega2: vec(),
		chol: make([]float64, q*q), clt: vec(), gain: vec(), unused: make([]float64, law.Dim()),
		projection: model.NewProjection(sh.M()),
	}
	c.conditionals = model.NewConditionals(sh, prior, len(c.params.MuX) > 0)
	return c
}

// start puts the chain where z allows, and as dispersed as it does. Each statistic is a mean
// of z with noise drawn anew and of one of invented rows in the box, weighted by their precisions:
// sums of n values in the box spread over about n, noise over its standard deviation. Then s
// is projected, and the parameters follow from their laws given s. Where z is sharp the chain
// is home, and not in the basin of a wrong sign, which Laplace's heavy tails would let it
// keep. Draws from the prior are no start: they may lie many boxes away.
func (c *state) start(rng *rand.Rand) {
	c.n = c.obs.StartRows(rng)
	c.invent(rng)
	clear(c.clt)
	c.obs.AddNoise(c.clt, 1, rng)
	for i, z := range c.obs.Z {
		near := z - c.clt[i]
		ratio := math.Sqrt(c.obs.Variance(i)) / c.n
		c.s[i] = (near + ratio*ratio*c.s[i]) / (1 + ratio*ratio)
		c.resid[i] = z - c.s[i]
	}
	c.projected = c.project()
	c.drawOmega(rng)
	c.drawConjugate(rng)
}

// invent writes statistics of n rows whose columns, independent of one another, are uniform
// about a random middle as far as the box goes.
func (c *state) invent(rng *rand.Rand) {
	m := c.obs.Shape.M()
	reach := c.obs.Reach()
	for j := range m {
		c.s[j] = reach * (2*rng.Float64() - 1)
	}
	at := m
	for j, middle := range c.s[:m] {
		for k, other := range c.s[j:m] {
			c.s[at] = c.n * middle * other
			if k == 0 {
				width := reach - math.Abs(middle)
				c.s[at] += c.n * width * width / 3
			}
			at++
		}
	}
	floats.Scale(c.n, c.s[:m])
}

// project moves s to the nearest statistics that some data could have, and
// reports whether it had to.
func (c *state) project() bool {
	if !c.projection.Apply(c.s, c.n) {
		return false
	}
	floats.SubTo(c.resid, c.obs.Z, c.s)
	return true
}

// factorLatent prepares draws of the CLT's law and factors nΣ_t + diag ω² at the
// parameters. It reports false where rounding leaves either indefinite.
func (c *state) factorLatent() bool {
	c.law.Set(c.params)
	if !c.law.Factor() {
		return false
	}
	c.law.Covariance(c.chol, c.n)
	for i, w := range c.omega2 {
		c.chol[i*c.q+i] += w
	}
	return dense.Cholesky(c.chol, c.q)
}

// logLikelihood returns log N(z; nμ_t, nΣ_t + diag ω²) up to a constant, after
// factorLatent; with LLᵀ the covariance it leaves L⁻¹(z − nμ_t) in gain.
func (c *state) logLikelihood() float64 {
	e := c.gain
	c.law.Expect(e, c.n)
	floats.SubTo(e, c.obs.Z, e)
	dense.SolveLower(c.chol, c.q, e)
	return -0.5 * (dense.LogDet(c.chol, c.q) + dense.Dot(e, e))
}

// collapsed returns the log density of the unconstrained parameters φ with the latent
// statistics integrated out of the CLT model, given ω. It leaves the parameters at φ and the
// factors as factorLatent does. Where rounding leaves a matrix indefinite it returns −∞.
func (c *state) collapsed(phi []float64) float64 {
	c.law.Constrain(c.params, phi)
	if !c.factorLatent() {
		return math.Inf(-1)
	}
	return c.law.LogPrior(c.unused, c.params) + c.logLikelihood()
}

// drawLatent draws s ~ N(nμ_t, nΣ_t)·N(z, diag ω²); it reports false where rounding
// leaves a matrix indefinite. With s̃ ~ N(nμ_t, nΣ_t), η ~ N(0, diag ω²), g = (nΣ_t + diag ω²)⁻¹(z − s̃ − η),
//
//	s = s̃ + nΣ_t g,   z − s = η + diag(ω²) g.
//
// The second form serves: it needs no product with nΣ_t, and keeps z − s to
// full relative precision as the noise vanishes.
func (c *state) drawLatent(rng *rand.Rand) bool {
	if !c.factorLatent() {
		return false
	}
	c.law.Rand(c.clt, c.n, rng)
	for i, w := range c.omega2 {
		c.resid[i] = math.Sqrt(w) * rng.NormFloat64()
		c.gain[i] = c.obs.Z[i] - c.clt[i] - c.resid[i]
	}
	dense.Solve(c.chol, c.q, c.gain)
	for i, w := range c.omega2 {
		c.resid[i] += w * c.gain[i]
		c.s[i] = c.obs.Z[i] - c.resid[i]
	}
	return true
}

// drawOmega draws ω² given r = z − s, which is normal with these variances, independent from entry to
// entry: for Laplace noise of scale b, ω² is exponential of mean 2b², and given r it is GIG(½, 1/b², r²);
// for Gaussian noise of standard deviation σ it is σ², known; for ball noise of scales s_i it is s_i²V
// with one V of the χ² law of F degrees.
func (c *state) drawOmega(rng *rand.Rand) {
	switch c.obs.Kind {
	case release.Laplace:
		for i, b := range c.obs.Scale {
			c.omega2[i] = variate.LaplaceMixture(b, c.resid[i], rng)
		}
	case release.Ball:
		c.drawBall(rng)
	default:
		for i, sd := range c.obs.Scale {
			c.omega2[i] = sd * sd
		}
	}
}

// drawBall draws V, given residuals of q entries and, where F > q + 1, F − q − 1 more that no
// one measured, which it draws first, given the V that stands in ω²: with all of them
// p(V | r) ∝ V^{−½} exp(−½(V + ‖r/s‖²/V)), the law of LaplaceMixture with b = 1.
func (c *state) drawBall(rng *rand.Rand) {
	square := 0.0
	for i, s := range c.obs.Scale {
		u := c.resid[i] / s
		square += u * u
	}
	if more := c.obs.Freedom - float64(len(c.resid)) - 1; more > 0 {
		square += c.omega2[0] / (c.obs.Scale[0] * c.obs.Scale[0]) * variate.Chi2(more, rng)
	}
	v := variate.LaplaceMixture(1, math.Sqrt(square), rng)
	for i, s := range c.obs.Scale {
		c.omega2[i] = s * s * v
	}
}

// drawConjugate draws the parameters from their conjugate laws given s.
func (c *state) drawConjugate(rng *rand.Rand) bool {
	return c.conditionals.Draw(c.params, c.statistics(), c.n, rng)
}

// states are those of all releases: of this one.
func (c *state) states() []*state { return []*state{c} }

// statistics are s in the parameters' units.
func (c *state) statistics() []float64 {
	if c.units == nil {
		return c.s
	}
	c.units.Common(c.common, c.s, c.n)
	return c.common
}

// Params writes the parameters, and n where it is latent, in the order of names.
func (c *state) Params(dst []float64) {
	at := c.params.Write(dst)
	if c.obs.Count.Latent() {
		dst[at] = c.n
	}
}

// source is where the moments of x come from: the law of the statistics given
// the parameters, and the unconstrained coordinates φ of these. It is all that
// the steps know of the model, and holds a workspace, so each chain has its own.
type source interface {
	model.Law
	// Dim is the length of φ.
	Dim() int
	// Unconstrain writes φ of x; it reports false where rounding forbids that.
	Unconstrain(phi []float64, x *model.Params) bool
	// Constrain writes the parameters of φ into x.
	Constrain(x *model.Params, phi []float64)
	// LogPrior returns log p(φ) up to a constant, at the point of the last
	// Constrain, and writes its gradient.
	LogPrior(grad []float64, x *model.Params) float64
}

// rowSource is a source that has the law of rows in its coordinates; see model.Coordinates.
type rowSource interface {
	source
	Rows(mean, factor []float64, x *model.Params)
	PullRows(grad []float64, x *model.Params, gMean, gFactor []float64)
}

// fixed takes moments of x that do not depend on parameters.
type fixed struct {
	*model.FixedMoments
	*model.Coordinates
	grad []float64 // in (θ, σ²)
}

func newFixed(prior *model.Prior, law *model.FixedMoments) *fixed {
	coordinates := model.NewRegressionCoordinates(prior)
	return &fixed{law.Another(), coordinates, make([]float64, coordinates.Dim())}
}

// Pullback adds to grad, in φ, the gradient of a function f of (nμ_t, nΣ_t), given alpha =
// ∂f/∂(nμ_t) and the symmetric w with df = Σ_rc w_rc d(nΣ_t)_rc, of which only the lower
// triangle is read, at the point of the last Constrain and Set. ∂σ²/∂ log σ² = σ².
func (f *fixed) Pullback(grad []float64, x *model.Params, alpha, w []float64, n float64) {
	clear(f.grad)
	f.Adjoint(f.grad, alpha, w, n)
	last := len(f.grad) - 1
	f.grad[last] *= x.Sigma2
	floats.Add(grad, f.grad)
}

// located takes the moments of x from normal covariates whose mean and covariance are parameters
// themselves. They are mapped from common units to those of the release, in which its noise is
// independent from entry to entry.
type located struct {
	*model.Moments
	*model.Coordinates
	units *model.Units
}

// Set takes the parameters that the other methods speak of.
func (l *located) Set(x *model.Params) {
	l.Moments.Set(x)
	l.units.Moments(l.Mean, l.Cov)
}
