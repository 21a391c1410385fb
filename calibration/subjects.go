package calibration

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

// fitter releases statistics and infers from them, by one arm of a design.
type fitter struct {
	arm     Arm
	family  model.Family
	columns *schema.Design
	prior   *model.Prior // nil: the one that Infer takes by itself
	privacy release.Privacy
	steps   int                    // of a release
	parts   int                    // that rows are dealt to; 0: none
	tamper  func(*release.Release) // a fault planted by a test
}

// fit releases the sums with simulated noise, unless the method is non-private, and
// infers.
func (f *fitter) fit(ctx context.Context, s *summed, noise *mechanisms.Entropy, sampler *rand.Rand) (*dpreg.Fit, error) {
	o := f.options(sampler.Uint64())
	if f.arm.Method == NonPrivate {
		return dpreg.NonPrivate(ctx, s.statistics, f.columns, o)
	}
	all, err := f.released(ctx, s, noise)
	if err != nil {
		return nil, err
	}
	if f.tamper != nil {
		f.tamper(all[0].Release)
	}
	return dpreg.Infer(ctx, all, o)
}

// released is the release of all rows, or those of parts.
func (f *fitter) released(ctx context.Context, s *summed, e *mechanisms.Entropy) (all []dpreg.Custodian, err error) {
	if f.parts == 0 {
		r, err := f.release(ctx, s, e)
		return dpreg.One(r), err
	}
	order, err := custody.Settle(f.order(s, e))
	if err != nil {
		return nil, err
	}
	parts, err := order.PublishParts(ctx)
	for i, r := range parts {
		all = append(all, dpreg.Custodian{Name: fmt.Sprint(i + 1), Release: r})
	}
	return all, err
}

// rehearsalEpsilon leaves so little noise that no release is refused for it.
const rehearsalEpsilon = 1e6

// rehearse returns what inference refuses of the arm before it draws anything, such as
// fewer rows than it needs.
func (f *fitter) rehearse(n int64, seed uint64) error {
	rng := mcmc.Stream(seed, 0)
	rows, err := simulate(f, NormalX, n, rng)
	if err != nil {
		return err
	}
	sums, err := f.sum(rows.next, n, true, false)
	if err != nil || f.arm.Method == NonPrivate {
		return err
	}
	all, err := f.released(context.Background(), sums, mechanisms.Simulated(rng))
	if err != nil {
		return err
	}
	return dpreg.Can(all, f.options(0))
}

// options are those of the arm, with chains from a seed.
func (f *fitter) options(seed uint64) dpreg.Options {
	o := dpreg.Options{Method: f.arm.Method, Family: f.family, Kernel: f.arm.Kernel, ModelClamping: f.arm.ModelClamping, Prior: f.prior, Plan: f.arm.plan(seed)}
	if f.parts > 0 && f.arm.Method != NonPrivate {
		o.Pooling = dpreg.PartialPooling
	}
	return o
}

// again tells whether releases may look at rows more than once, which those with moments do not.
func (f *fitter) again() bool {
	return f.steps > 1 || f.steps == custody.AutoSteps && f.arm.Method != noisyMoments || f.parts > 0
}

// order is that of releases which do.
func (f *fitter) order(s *summed, e *mechanisms.Entropy) custody.Order {
	return custody.Order{Rows: custody.Scaled{Name: "rows of a trial", Rows: s.rows}, Design: f.columns, Privacy: f.privacy,
		Steps: f.steps, Split: f.parts, WithMoments: f.arm.Method == noisyMoments, Entropy: e}
}

func (f *fitter) release(ctx context.Context, s *summed, e *mechanisms.Entropy) (*release.Release, error) {
	privacy, kind := f.privacy, release.Laplace
	if privacy.Delta > 0 {
		kind = ssp.Auto
	}
	if f.again() {
		return custody.Publish(ctx, f.order(s, e))
	}
	if f.arm.Method == noisyMoments {
		if s.moments == nil {
			return nil, fmt.Errorf("%d covariates: releases with moments have 1 to %d", len(f.columns.Covariates), release.MaxMomentCovariates)
		}
		return ssp.PublishMoments(ctx, s.statistics, s.moments, f.columns, privacy, kind, e)
	}
	sensitivity := ssp.Exact
	if f.arm.Sensitivity == PaperSensitivity {
		sensitivity = ssp.Paper
	}
	return ssp.Publish(ctx, s.statistics, f.columns, privacy, kind, sensitivity, e)
}

// reference draws (θ, σ²) from the posterior given the exact statistics.
func (f *fitter) reference(ctx context.Context, s *ssp.Statistics, rng *rand.Rand) (*posterior.Draws, error) {
	o := dpreg.Options{Prior: f.prior, Plan: mcmc.Plan{Chains: 1, Draws: Ranked, Seed: rng.Uint64(), Workers: 1}}
	fit, err := dpreg.NonPrivate(ctx, s, f.columns, o)
	if err != nil {
		return nil, err
	}
	return regressionDraws(fit), nil
}

// regressionDraws are those of (θ, σ²), of a family of θ, in scaled units.
func regressionDraws(fit *dpreg.Fit) *posterior.Draws {
	names := model.DesignShape(fit.Design).RegressionNames()
	if fit.Family != model.Normal {
		names = names[:len(names)-1]
	}
	return fit.Draws(dpreg.Scaled).Map(names, func(dst, src []float64) { copy(dst, src) })
}

// capped tells whether a run by ESS ended at its limit without that ESS.
func (f *fitter) capped(fit *dpreg.Fit) bool {
	draws := fit.Draws(dpreg.Scaled)
	if f.arm.ESS == 0 || draws.NumDraws() < cmp.Or(f.arm.MaxDraws, mcmc.DefaultMaxDraws) {
		return false
	}
	ess, _ := draws.MinESS(1)
	return ess < f.arm.ESS
}

// try sums n rows, each of which next writes down, and infers from them under noise from data,
// after the rows.
func (f *fitter) try(ctx context.Context, next func([]float64), n int64, clamp bool, data, sampler *rand.Rand) (*dpreg.Fit, *summed, error) {
	sums, err := f.sum(next, n, clamp, false)
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

func (r *regression) Trial(ctx context.Context, data, sampler *rand.Rand) (*Sample, error) {
	rows, err := simulate(&r.fitter, r.x, r.n, data)
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
	likelihood, err := logLikelihood(fit, sums.statistics)
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
func (s *Sample) quantities(fit *dpreg.Fit, truth *model.Params, likelihood func(*model.Params) float64) {
	draws, shape := fit.Draws(dpreg.Scaled), model.DesignShape(fit.Design)
	q, width := shape.Q(), len(draws.Names)
	s.Names = append(append(append([]string{}, draws.Names[:q+1]...), draws.Names[q+2:]...), LogLikelihood)
	s.Truth = make([]float64, len(shape.Names()))
	truth.Write(s.Truth)
	at := model.NewParams(shape)
	at.Read(s.Truth)
	s.Truth = append(s.Truth[:width-1], likelihood(at))
	s.Draws = draws.Map(s.Names, func(dst, src []float64) {
		copy(dst, src[:q+1])
		copy(dst[q+1:], src[q+2:])
		at.Read(dst[:width-1])
		dst[width-1] = likelihood(at)
	})
}

// prediction is a trial of real rows: which are predicted is random, and what is
// ranked is each one's response among draws from its predictive law.
type prediction struct {
	fitter
	rows [][2]float64 // (x, y)
}

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
	estimates, se := OrdinaryLeastSquares(sums.statistics, p.columns)
	q := len(estimates) - 1
	for j, truth := range p.truth {
		of := summary.Parameters[j]
		if j == q { // behind σ²
			of = summary.Parameters[q+1]
		}
		s.Names = append(s.Names, of.Label)
		s.Coefficients = append(s.Coefficients, Coefficient{of.Q97_5 - of.Q2_5, of.Contraction, newLeastSquares(estimates[j], se[j], truth)})
	}
	s.Draws = fit.Draws(dpreg.Original).Map(s.Names, func(dst, src []float64) { dst[copy(dst[:q], src)] = src[q+1] })
	return s, nil
}

// logLikelihood is a function of the parameters and of what the method has seen, a fit's release
// or, where it has none, s: so that the rank of its true value is uniform as a parameter's
// is. It finds what no parameter's rank does, a posterior that does not look at the data
// among them (Modrák et al. 2023, Simulation-Based Calibration Checking for Bayesian
// Computation: The Choice of Test Quantities Shapes Sensitivity, Bayesian Analysis).
//
// With a law of the statistics z it is their log density, by the normal law with
// their mean and variance,
//
//	log N(z; nμ_t, nΣ_t + V),   V the variance of the noise,
//
// and for a method without one, non-private and naive, that of y given x,
//
//	−(n/2) log σ² − RSS(θ)/(2σ²),   RSS(θ) = yᵀy − 2θᵀXᵀy + θᵀXᵀXθ.
func logLikelihood(fit *dpreg.Fit, s *ssp.Statistics) (func(*model.Params) float64, error) {
	n, z, noise := float64(fit.N), s.Vector(), 0.0
	var law model.Law // nil: the second form
	if !fit.FromRows() {
		r := fit.Custodians[0].Release
		z, noise = r.Statistics.Vector(), model.NoiseVariance(r.Noise.Kind, r.Noise.Scale)
		var err error
		if fit.ModelClamping { // no law has a closed form, and any function of both serves
			law = model.NewMoments(model.DesignShape(fit.Design))
		} else if law, err = fit.Law(); err != nil {
			return nil, err
		}
	}
	if law == nil {
		return regressionLikelihood(model.DesignShape(fit.Design), z, n), nil
	}
	q := len(z)
	gap, cov := make([]float64, q), make([]float64, q*q)
	return func(x *model.Params) float64 {
		law.Set(x)
		law.Expect(gap, n)
		law.Covariance(cov, n)
		for i, v := range z {
			gap[i] = v - gap[i]
			cov[i*q+i] += noise
		}
		if !dense.Cholesky(cov, q) {
			return math.Inf(-1) // by rounding
		}
		dense.SolveLower(cov, q, gap)
		distance := 0.0
		for _, e := range gap {
			distance += float64(e * e)
		}
		return -(distance + dense.LogDet(cov, q)) / 2
	}, nil
}

func regressionLikelihood(shape model.Shape, z []float64, n float64) func(*model.Params) float64 {
	sums, fit := model.NewSums(shape), make([]float64, shape.Q())
	sums.Set(z, n)
	return func(x *model.Params) float64 {
		dense.SymMulVec(fit, sums.XX, len(fit), x.Theta)
		rss := sums.YY
		for k, t := range x.Theta {
			rss += float64(t * (fit[k] - 2*sums.XY[k]))
		}
		return -n/2*math.Log(x.Sigma2) - rss/(2*x.Sigma2)
	}
}
