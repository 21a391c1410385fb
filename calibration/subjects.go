package calibration

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
)

// try sums n rows, each of which next writes down, and infers from them under noise from data,
// after the rows.
func (f *fitter) try(ctx context.Context, next func([]float64), n int64, clamp bool, data, sampler *rand.Rand) (*dpreg.Fit, *summed, error) {
	sums, err := f.summing(clamp).sum(next, n)
	if err != nil {
		return nil, nil, err
	}
	fit, err := f.fit(ctx, sums, mechanisms.Simulated(data), sampler)
	return fit, sums, err
}

// regression is a trial of simulated rows.
type regression struct {
	fitter
	n     int64
	clamp bool
	x     XLaw
}

// Trial implements Subject.
func (r *regression) Trial(ctx context.Context, data, sampler *rand.Rand) (*Sample, error) {
	shape := shapeOf(r.columns)
	rows, err := simulate(r.prior, shape, r.x, data)
	if err != nil {
		return nil, err
	}
	fit, sums, err := r.try(ctx, rows.next, r.n, r.clamp, data, sampler)
	if err != nil {
		return nil, err
	}
	s := &Sample{Capped: r.capped(fit)}
	if r.clamp {
		s.Clamped = sums.outside
	}
	if s.Reference, err = r.reference(ctx, sums.statistics, sampler); err != nil {
		return nil, err
	}
	likelihood, err := newLogLikelihood(fit, sums.statistics)
	if err != nil {
		return nil, err
	}
	s.quantities(fit, rows.params, likelihood)
	return s, nil
}

// LogLikelihood names the quantity that is ranked beside the parameters of a Design.
const LogLikelihood = "log_lik"

// quantities fills in what is ranked: the parameters that the fit has, sigma aside,
// whose ranks are those of sigma2, and the log-likelihood.
func (s *Sample) quantities(fit *dpreg.Fit, truth *model.Params, l *logLikelihood) {
	draws, shape := fit.Draws(dpreg.Scaled), shapeOf(fit.Design)
	q, width := shape.Q(), len(draws.Names)
	s.Names = append(append(append([]string{}, draws.Names[:q+1]...), draws.Names[q+2:]...), LogLikelihood)
	s.Truth = make([]float64, len(shape.Names()))
	truth.Write(s.Truth)
	s.Truth = append(s.Truth[:width-1], l.at(truth))
	at := model.NewParams(shape)
	s.Draws = draws.Map(s.Names, func(dst, src []float64) {
		copy(dst, src[:q+1])
		copy(dst[q+1:], src[q+2:])
		read(at, dst[:width-1], shape)
		dst[width-1] = l.at(at)
	})
}

// read takes parameters in the order of model.Shape.Names, or of RegressionNames.
func read(x *model.Params, row []float64, s model.Shape) {
	q, p := s.Q(), s.P
	copy(x.Theta, row[:q])
	x.Sigma2 = row[q]
	if len(row) == q+1 {
		return
	}
	copy(x.MuX, row[q+1:])
	at := q + 1 + p
	for j := range p {
		for k := j; k < p; k++ {
			x.Tau[j*p+k], x.Tau[k*p+j] = row[at], row[at]
			at++
		}
	}
}

// prediction is a trial of real rows: which are predicted is random, and what is
// ranked is each one's response among draws from its predictive law.
type prediction struct {
	fitter
	rows [][2]float64 // (x, y)
}

// Trial implements Subject.
func (r *prediction) Trial(ctx context.Context, data, sampler *rand.Rand) (*Sample, error) {
	order := data.Perm(len(r.rows))
	frame, next := r.columns.Frame(), 0
	fit, _, err := r.try(ctx, func(v []float64) {
		frame.Scale(v, r.rows[order[next]][:])
		next++
	}, cirrhosisTrain, true, data, sampler)
	if err != nil {
		return nil, err
	}
	s := &Sample{Capped: r.capped(fit)}
	test := order[cirrhosisTrain:]
	for _, i := range test {
		s.Names, s.Truth = append(s.Names, "prediction"), append(s.Truth, r.rows[i][1])
	}
	s.Draws = fit.Draws(dpreg.Original).Map(s.Names, func(dst, src []float64) {
		for j, i := range test {
			dst[j] = src[0] + src[1]*r.rows[i][0] + math.Sqrt(src[2])*sampler.NormFloat64()
		}
	})
	return s, nil
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
	draw := func(v []float64) { copy(v, p.rows.At(data.IntN(int(p.rows.Len())))) }
	fit, sums, err := p.try(ctx, draw, p.n, true, data, sampler)
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
