package plan

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/parallel"
	"github.com/dpreg/dpreg/internal/reference"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

// The chain of a simulated release is short: the error of its interval, some 6 %
// at an effective sample size of 150, is small beside the spread over releases,
// and averages out with it.
const (
	simulatedWarmup = 400
	simulatedDraws  = 1600
	priorDraws      = 10_000
	noiselessSweeps = 400  // see reference.WithoutNoise: the sd is known to 4 %
	uneasyRHat      = 1.1  // of so short a chain
	uneasyShare     = 0.05 // of all chains above uneasyRHat: worth a warning
)

// simulation works a forecast out.
type simulation struct {
	Options
	forecast *Forecast
	frame    schema.Frame
	truth    []float64   // scaled; NaN: as assumed
	standard []float64   // rows of a crowd, where there are several looks
	results  [][]outcome // [point][release]
	uneasy   atomic.Int64
}

func newSimulation(f *Forecast, o Options) *simulation {
	return &simulation{Options: o, forecast: f, frame: o.Family.Design(f.Design).Frame()}
}

// sums draws those of n rows, or their like.
type sums interface {
	Set(x *model.Params)
	Factor() bool
	RandExact(dst []float64, n float64, rng *rand.Rand)
}

// law is that of rows as assumed.
func (s *simulation) law() sums {
	f := s.forecast
	if f.factors == 0 && f.Family == model.Normal {
		return model.NewMoments(f.shape())
	}
	return newLevelSums(f)
}

// outcome is what one simulated release told of the slopes reported, in the
// data's units.
type outcome []told

// told are what a release told of a slope.
type told [5]float64

const (
	width = iota
	contraction
	sd
	noiselessSD
	detected
)

// alone describes the prior of each slope without a release, normal given σ² and the free scales, which are
// drawn from their prior.
func (s *simulation) alone() []PriorSlope {
	f := s.forecast
	p, q := len(f.Design.Covariates), f.Prior.Theta.Dim()
	sds := reference.PriorSDs(f.Prior, priorDraws)
	s.truth = make([]float64, p)
	slopes := make([]PriorSlope, p)
	for j := range slopes {
		factor := s.frame.Half[p] / s.frame.Half[j] // a slope in the data's units over the scaled one
		slopes[j] = PriorSlope{f.Design.Covariates[j].Name, 2 * factor * reference.Quantile((1+f.Level)/2, reference.Column(sds, q-p+j)), math.NaN()}
		if s.Truth != nil {
			slopes[j].Truth = s.Truth[j]
		}
		s.truth[j] = slopes[j].Truth / factor
	}
	if !s.Pool {
		return slopes
	}
	one := PriorSlope{Name: "slope", Truth: slopes[0].Truth}
	for _, a := range slopes {
		one.Width += a.Width / float64(p)
	}
	return []PriorSlope{one}
}

func (s *simulation) run(ctx context.Context) error {
	f := s.forecast
	total := len(f.Points) * f.Releases
	s.results = make([][]outcome, len(f.Points))
	for i := range s.results {
		s.results[i] = make([]outcome, f.Releases)
	}
	return parallel.Each(ctx, s.Workers, total, s.Progress, func(ctx context.Context, i int) (err error) {
		point, k := i%len(f.Points), i/len(f.Points)
		s.results[point][k], err = s.release(ctx, point, k)
		return err
	})
}

// The streams of the random numbers of release k, the same at every point.
const (
	parameterStream = iota
	rowStream
	noiseStream
	chainStream
	streams
)

// release simulates release k of a point.
func (s *simulation) release(ctx context.Context, point, k int) (outcome, error) {
	f := s.forecast
	at := f.Points[point]
	stream := func(which int) *rand.Rand { return mcmc.Stream(f.Seed, streams*k+which) }
	shape := f.shape()
	x := f.Assumed.draw(shape, s.frame, s.truth, stream(parameterStream))
	law, v := s.law(), make([]float64, shape.Statistics())
	s.takeLevels(x)
	law.Set(x)
	if !law.Factor() {
		return nil, errSingular
	}
	law.RandExact(v, float64(at.N), stream(rowStream))
	exact, err := ssp.FromVector(shape.M(), at.N, v)
	if err != nil {
		return nil, fmt.Errorf("normal rows as assumed reach too far beyond the bounds: %w", err)
	}
	r, err := s.publish(ctx, at.order, law, exact, stream(noiseStream))
	if err != nil {
		return nil, err
	}
	plan := mcmc.Plan{Chains: 1, Warmup: simulatedWarmup, Draws: simulatedDraws, Seed: stream(chainStream).Uint64(), Workers: 1}
	fit, err := dpreg.Infer(ctx, dpreg.One(r), dpreg.Options{Method: f.Method, Family: f.Family, Prior: s.Prior, Plan: plan})
	if err != nil {
		return nil, err
	}
	return s.told(fit, x, exact)
}

// told compares a fit with the truth x, and with the posterior given the exact
// statistics.
func (s *simulation) told(fit *dpreg.Fit, x *model.Params, exact *ssp.Statistics) (outcome, error) {
	shape := s.forecast.shape()
	q, first := shape.Q(), shape.Q()-shape.P
	noiseless, n := make([]float64, q), float64(exact.N)
	ok := false
	if fit.Family != model.Normal {
		ok = reference.NewFamilyWithoutNoise(fit.Family, fit.Design.Response.Upper, shape, s.forecast.factors, model.NewDoubt(fit.Family, fit.Custodians[0].Release), fit.Prior, s.frame).Variance(noiseless, x, n)
	} else {
		ok = reference.NewWithoutNoise(shape, fit.Prior, s.frame, noiselessSweeps).Variance(noiseless, x, exact.Vector(), n)
	}
	if !ok {
		return nil, errors.New("the prior is too weak to tell collinear columns apart")
	}
	draws := fit.Draws(dpreg.Original)
	prior, err := fit.Prior.Original(s.frame)
	if err != nil {
		return nil, err
	}
	sds := reference.SDs(prior, draws.Thin(reference.ScaleDraws))
	draws = draws.InOrder(draws.Names[first:q])
	slopes, worst := make(outcome, shape.P), 0.0
	for j, parameter := range posterior.Summarise(draws, s.forecast.Level).Parameters {
		k := first + j
		parameter.Contract(2 * reference.Quantile(0.75, reference.Column(sds, k)))
		worst = max(worst, parameter.RHat)
		slopes[j] = told{width: parameter.Upper - parameter.Lower, contraction: math.NaN(), sd: parameter.SD, noiselessSD: math.Sqrt(noiseless[k])}
		if c := parameter.Contraction; c != nil {
			slopes[j][contraction] = *c
		}
		if truth := x.Theta[k]; truth > 0 && parameter.Lower > 0 || truth < 0 && parameter.Upper < 0 {
			slopes[j][detected] = 1
		}
	}
	if worst > uneasyRHat || math.IsNaN(worst) {
		s.uneasy.Add(1)
	}
	if s.Pool {
		return slopes.pooled(), nil
	}
	return slopes, nil
}

// pooled is the mean over slopes.
func (o outcome) pooled() outcome {
	mean, w := told{}, 1/float64(len(o))
	for _, t := range o {
		for k, v := range t {
			mean[k] += w * v
		}
	}
	return outcome{mean}
}

// average averages over the releases of a point.
func (s *simulation) average(point int) []SlopeForecast {
	slopes := make([]SlopeForecast, len(s.forecast.Alone))
	for j := range slopes {
		pick := func(k int) []float64 {
			var x []float64
			for _, r := range s.results[point] {
				x = append(x, r[j][k])
			}
			return x
		}
		a := &slopes[j]
		a.Name = s.forecast.Alone[j].Name
		widths := pick(width)
		a.Width, a.WidthError = meanError(widths)
		slices.Sort(widths)
		a.median = posterior.Quantile(widths, 0.5)
		if s.forecast.InSteps() {
			a.Median = a.median
		}
		a.Detected, a.DetectedError = meanError(pick(detected))
		a.Contraction, a.ContractionError = meanError(pick(contraction))
		a.SD, _ = meanError(pick(sd))
		a.NoiselessSD, _ = meanError(pick(noiselessSD))
		a.Price, a.PriceError = ratioError(pick(sd), pick(noiselessSD))
	}
	return slopes
}

// meanError returns the mean and its standard error, NaN for one number.
func meanError(x []float64) (mean, err float64) {
	n := float64(len(x))
	for _, v := range x {
		mean += v / n
	}
	for _, v := range x {
		err += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(err / (n - 1) / n)
}

// ratioError returns mean(x)/mean(y) for pairs, and its standard error by the
// delta method: that of the mean of x − ratio·y, over mean(y).
func ratioError(x, y []float64) (ratio, err float64) {
	mx, _ := meanError(x)
	my, _ := meanError(y)
	ratio = mx / my
	rest := make([]float64, len(x))
	for i := range x {
		rest[i] = x[i] - ratio*y[i]
	}
	_, err = meanError(rest)
	return ratio, err / my
}

func (s *simulation) warnings() []string {
	total := len(s.forecast.Points) * s.forecast.Releases
	if n := s.uneasy.Load(); float64(n) > uneasyShare*float64(total) {
		return []string{fmt.Sprintf("%d of %d short chains mixed slowly (R-hat above %v): widths may be off by more than their Monte Carlo error", n, total, uneasyRHat)}
	}
	return nil
}
