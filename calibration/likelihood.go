package calibration

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/vi"
)

// Mode is where the posterior of θ given rows is highest, for a family and the prior N(0, I/precision),
// with the Cholesky factor of its information there, q×q. Precision 0 is maximum likelihood, as R's glm
// has it.
type Mode struct{ Theta, Root []float64 }

// The steps to a mode: Σ|Δθ| of one is at most farthestStep, so that none leaves far behind where
// the score is straight, and the last is below lastStep.
const (
	scoringSteps = 200
	farthestStep = 2
	lastStep     = 1e-11
)

// FindMode finds it by Fisher scoring: with w the response over its bound most, and g = E[w | η],
// v = Var(w | η),
//
//	score Σ a g′(w − g)/v − precision θ,   information Σ (g′²/v) aaᵀ + precision I.
//
// That is maximum likelihood where w is 0 or 1, and where counts are below their bound; of clamped counts
// it is quasi-likelihood with their mean and variance. Errors: rows leave a coefficient open, or the
// likelihood has no maximum.
func FindMode(of model.Family, most float64, rows *vi.Rows, precision float64) (*Mode, error) {
	q, moments := rows.P, of.Moments(most)
	m, step := &Mode{make([]float64, q), make([]float64, q*q)}, make([]float64, q)
	for range scoringSteps {
		clear(m.Root)
		for k, t := range m.Theta {
			step[k], m.Root[k*q+k] = -precision*t, precision
		}
		for i, y := range rows.Y {
			a := rows.X[i*q : (i+1)*q]
			eta := dense.Dot(a, m.Theta)
			g, slope, square, _ := moments(eta, math.Exp(eta))
			v := square - g*g
			if !(v > 0) { // so far out that the row tells nothing
				continue
			}
			for k, x := range a {
				step[k] += x * slope * (y/most - g) / v
				for l, z := range a[:k+1] {
					m.Root[k*q+l] += slope * slope / v * x * z
				}
			}
		}
		if !dense.Cholesky(m.Root, q) {
			return nil, errors.New("rows leave a coefficient open: columns are constant, or combinations of others")
		}
		dense.Solve(m.Root, q, step)
		size := floats.Norm(step, 1)
		floats.AddScaled(m.Theta, min(1, farthestStep/size), step)
		if size < lastStep*(1+math.Sqrt(dense.Dot(m.Theta, m.Theta))) {
			return m, nil
		}
	}
	return nil, errors.New("the likelihood has no maximum: covariates tell the response apart")
}

// given is the posterior given the rows: its mean, and draws of it.
type given struct {
	mean []float64
	draw func(*rand.Rand) (*posterior.Draws, error)
}

// normalGiven is N(θ, information⁻¹) at the mode: the posterior of a family, to order 1/n.
func (e *example) normalGiven(m *Mode) *given {
	return &given{m.Theta, func(rng *rand.Rand) (*posterior.Draws, error) {
		q := len(m.Theta)
		chain := make([]float64, independent*q)
		for theta := range slices.Chunk(chain, q) {
			for k := range theta {
				theta[k] = rng.NormFloat64()
			}
			dense.SolveLowerT(m.Root, q, theta)
			floats.Add(theta, m.Theta)
		}
		return &posterior.Draws{Names: e.shape.RegressionNames()[:q], Chains: [][]float64{chain}}, nil
	}}
}
