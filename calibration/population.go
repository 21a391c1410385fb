package calibration

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/ssp"
)

// Coefficient says of one in a population what its score does not. Widths are in the data's
// units.
type Coefficient struct {
	Width float64 `json:"width"` // of the 95 % interval
	// Contraction is that of posterior.Contraction; nil
	// where there is none.
	Contraction *float64 `json:"contraction,omitempty"`
	// LeastSquares is of the same rows without noise; nil where they leave it open.
	LeastSquares *LeastSquares `json:"least_squares,omitempty"`
}

// LeastSquares is a coefficient's normal intervals θ̂ ± z·se of least squares.
type LeastSquares struct {
	Width float64           `json:"width"` // of the 95 % interval
	Hits  [len(Levels)]bool `json:"hits"`  // whether that of each of Levels holds the truth
}

// RHat names the measure that is the largest R-hat over all parameters of a fit.
const RHat = "rhat"

// PopulationMethod is what Infer takes for one release of more rows than columns.
const PopulationMethod = "mcmc-exact"

// PopulationArms are Arms with the chains and the warm-up of Infer, and few draws; kernel
// plain aside.
func PopulationArms(methods, kernels, sensitivities []string) []Arm {
	arms, plan := Arms(methods, kernels, sensitivities), dpreg.DefaultPlan()
	for i := range arms {
		if a := &arms[i]; a.ESS > 0 {
			a.Chains, a.Warmup, a.Draws, a.ESS = plan.Chains, plan.Warmup, 500, 0
		}
	}
	return arms
}

// truth is least squares on all rows of the population; nil where there are none.
func (d *Design) truth(rows *Rows) ([]float64, error) {
	switch {
	case rows == nil:
		return nil, nil
	case d.Population == nil:
		return nil, errors.New("the rows of this study are simulated")
	}
	if err := d.Population.Check(rows); err != nil {
		return nil, err
	}
	sums := ssp.NewAccumulator(rows.m)
	if err := sums.AddRows(rows.v); err != nil {
		return nil, err
	}
	columns := &d.Population.Columns
	theta, _ := leastSquares(sums.Statistics(), columns)
	for j, v := range theta {
		if math.IsNaN(v) {
			return nil, fmt.Errorf("the rows of %s leave the coefficient of %q open: it is constant, or a combination of others; name fewer columns in the formula",
				d.Population.Name, columns.Covariates[j-len(theta)+len(columns.Covariates)].Name)
		}
	}
	return theta, nil
}

// population is a trial of rows that are drawn with replacement.
type population struct {
	fitter
	n     int64
	rows  *Rows
	truth []float64 // the data's units
}

// Trial implements Subject.
func (p *population) Trial(ctx context.Context, data, sampler *rand.Rand) (*Sample, error) {
	if p.rows == nil {
		panic("calibration: a trial without the rows of its population")
	}
	sums, err := p.sum(data)
	if err != nil {
		return nil, err
	}
	fit, err := p.fit(ctx, sums, data, sampler)
	if err != nil {
		return nil, err
	}
	summary := fit.Summary(dpreg.Original, posterior.DefaultLevel)
	worst, _ := posterior.Worst(summary.Parameters)
	if worst == nil {
		return nil, errors.New("the draws do not vary: there is no R-hat")
	}
	s := &Sample{Truth: p.truth, Capped: p.capped(fit), Measures: []Measure{{RHat, worst.RHat}}}
	theta, se := leastSquares(sums.statistics, p.columns)
	for j, truth := range p.truth {
		of := summary.Parameters[j]
		s.Names = append(s.Names, of.Label)
		s.Coefficients = append(s.Coefficients, Coefficient{of.Q97_5 - of.Q2_5, of.Contraction, newLeastSquares(theta[j], se[j], truth)})
	}
	s.Draws = fit.Draws(dpreg.Original).Map(s.Names, func(dst, src []float64) { copy(dst, src) })
	return s, nil
}

// sum draws rows and sums them.
func (p *population) sum(rng *rand.Rand) (*summed, error) {
	m, s := p.rows.m, new(summed)
	sums, high := ssp.NewAccumulator(m), (*ssp.MomentAccumulator)(nil)
	if p.arm.Method == noisyMoments {
		high = ssp.NewMomentAccumulator(m - 1)
	}
	for range p.n {
		row := p.rows.At(rng.IntN(int(p.rows.Len())))
		if err := sums.AddRows(row); err != nil {
			return nil, err
		}
		if high != nil {
			if err := high.Add(row); err != nil {
				return nil, err
			}
		}
	}
	if s.statistics = sums.Statistics(); high != nil {
		s.moments = high.Moments()
	}
	return s, nil
}

// newLeastSquares is nil of a coefficient that is open, or that rows without residuals have.
func newLeastSquares(theta, se, truth float64) *LeastSquares {
	if math.IsNaN(theta) || !(se > 0) {
		return nil
	}
	l := new(LeastSquares)
	for i, level := range Levels {
		half := distuv.UnitNormal.Quantile((1+level)/2) * se
		l.Hits[i] = math.Abs(truth-theta) <= half
		l.Width = 2 * half
	}
	return l
}
