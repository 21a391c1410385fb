package model

import (
	"fmt"
	"math/rand/v2"
)

// Given is the kernel of the parameters given statistics that are held, by Conditionals.
// Where the prior is conjugate its draws are independent. Else they are those of a Gibbs
// sampler that starts at typical values and moves a few times before the first draw: given
// statistics of many rows θ, σ² and the covariates' law hardly depend on the free scales, so
// that draws are nearly independent and need no warm-up.
type Given struct {
	method       string
	conditionals *Conditionals
	x            *Params
	s            []float64
	n            float64
	err          error
}

// NewGiven is for statistics s of n rows; covariates tells whether (μ_x, T) are among the
// parameters. Errors name the method.
func NewGiven(method string, shape Shape, prior *Prior, covariates bool, s []float64, n float64) *Given {
	k := &Given{method: method, conditionals: NewConditionals(shape, prior, covariates), x: NewRegressionParams(shape), s: s, n: n}
	if covariates {
		k.x = NewParams(shape)
	}
	return k
}

// Step draws once.
func (k *Given) Step(rng *rand.Rand) struct{} {
	if !k.conditionals.Draw(k.x, k.s, k.n, rng) {
		k.err = fmt.Errorf("%s: the posterior's matrices are not positive definite: columns are collinear and the prior is too weak to tell them apart", k.method)
	}
	return struct{}{}
}

// Err ends the run; see mcmc.Failer.
func (k *Given) Err() error { return k.err }

// Params writes the parameters in the order of Shape.Names, or of Shape.RegressionNames.
func (k *Given) Params(dst []float64) { k.x.Write(dst) }
