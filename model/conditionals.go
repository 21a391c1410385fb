package model

import (
	"math/rand/v2"

	"github.com/dpreg/dpreg/conjugate"
)

// Conditionals draw the parameters from their prior, and from their laws given
// the statistics, which are conjugate: (θ, σ²) from NIG, and (μ_x, T), where x has
// a model, from NIW. They hold a workspace, so each chain needs its own; none of
// their methods allocates.
type Conditionals struct {
	prior *Prior
	sums  *Sums
	nig   *conjugate.NIG
	nigS  *conjugate.NIGSampler
	niw   *conjugate.NIW // nil where the moments of x are fixed
	niwS  *conjugate.NIWSampler
}

// NewConditionals allocates for a shape; covariates tells whether x has a model.
func NewConditionals(s Shape, prior *Prior, covariates bool) *Conditionals {
	c := &Conditionals{prior: prior, sums: NewSums(s), nig: prior.Theta.Clone(), nigS: conjugate.NewNIGSampler(s.Q())}
	if covariates {
		c.niw, c.niwS = prior.Covariates.Clone(), conjugate.NewNIWSampler(s.P)
	}
	return c
}

// DrawPrior draws x from the prior.
func (c *Conditionals) DrawPrior(x *Params, rng *rand.Rand) {
	c.nigS.Set(c.prior.Theta)
	x.Sigma2 = c.nigS.Rand(x.Theta, rng)
	if c.niw != nil {
		c.niwS.Set(c.prior.Covariates)
		c.niwS.Rand(x.MuX, x.Tau, rng)
	}
}

// Draw draws x given statistics s, canonical order, of n rows. It reports false,
// and draws nothing, where rounding leaves an update's matrix indefinite.
func (c *Conditionals) Draw(x *Params, s []float64, n float64, rng *rand.Rand) bool {
	c.sums.Set(s, n)
	if !c.nigS.Update(c.nig, c.prior.Theta, c.sums.XX, c.sums.XY, c.sums.YY, n) ||
		c.niw != nil && !c.niwS.Update(c.niw, c.prior.Covariates, n, c.sums.SX, c.sums.SXX) {
		return false
	}
	x.Sigma2 = c.nigS.Rand(x.Theta, rng)
	if c.niw != nil {
		c.niwS.Rand(x.MuX, x.Tau, rng)
	}
	return true
}

// DrawCovariates is Draw of (μ_x, T) alone.
func (c *Conditionals) DrawCovariates(x *Params, s []float64, n float64, rng *rand.Rand) bool {
	c.sums.Set(s, n)
	if !c.niwS.Update(c.niw, c.prior.Covariates, n, c.sums.SX, c.sums.SXX) {
		return false
	}
	c.niwS.Rand(x.MuX, x.Tau, rng)
	return true
}
