package dpreg

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

// The chain of a simulated release is short: the error of its interval, some 6 %
// at an effective sample size of 150, is small beside the spread over releases,
// and averages out with it.
const (
	simulatedWarmup = 400
	simulatedDraws  = 800
	uneasyRHat      = 1.1  // of so short a chain
	uneasyShare     = 0.05 // of all chains above uneasyRHat: worth a warning
)

// simulation works a forecast out.
type simulation struct {
	forecast *Forecast
	frame    schema.Frame
	pool     bool
	factor   []float64   // h_y/h_j: a slope in the data's units over the scaled one
	truth    []float64   // scaled; NaN: from the prior
	results  [][]outcome // [point][release]
	uneasy   atomic.Int64
}

// outcome is what one simulated release told of the slopes reported, in the
// data's units.
type outcome []told

type told struct{ width, variance, sd, noiseless, detected float64 }

// factors also are the scales of slopes: θ_oj = (h_y/h_j) θ_sj.
func (s *simulation) factors() []float64 {
	p := len(s.frame.Half) - 1
	factor := make([]float64, p)
	for j := range factor {
		factor[j] = s.frame.Half[p] / s.frame.Half[j]
	}
	return factor
}

// alone describes the prior of each slope, a Student t law with 2a₀ degrees of
// freedom and squared scale b₀/a₀·(Λ₀⁻¹)_jj. A NIG law of shape a₀+1 has that
// for its variance.
func (s *simulation) alone(truth []float64) []PriorSlope {
	d, p := s.forecast.Prior.Theta, len(s.factor)
	variance, scale2 := make([]float64, d.Dim()), make([]float64, d.Dim())
	d.VarTheta(variance)
	next := d.Clone()
	next.Shape++
	next.VarTheta(scale2)
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: 2 * d.Shape}.Quantile((1 + s.forecast.Level) / 2)
	first := d.Dim() - p
	s.truth = make([]float64, p)
	slopes := make([]PriorSlope, p)
	for j, h := range s.factor {
		slopes[j] = PriorSlope{s.forecast.Design.Covariates[j].Name, 2 * t * h * math.Sqrt(scale2[first+j]), h * math.Sqrt(variance[first+j]), math.NaN()}
		if truth != nil {
			slopes[j].Truth = truth[j]
		}
		s.truth[j] = slopes[j].Truth / h
	}
	if !s.pool {
		return slopes
	}
	one := PriorSlope{Name: "slope", Truth: slopes[0].Truth}
	for _, a := range slopes {
		one.Width += a.Width / float64(p)
		one.SD += a.SD * a.SD / float64(p)
	}
	one.SD = math.Sqrt(one.SD) // of the mean variance, which Learned compares with
	return []PriorSlope{one}
}

// run simulates every release of every point.
func (s *simulation) run(ctx context.Context, o ForecastOptions) error {
	f := s.forecast
	total := len(f.Points) * f.Releases
	s.results = make([][]outcome, len(f.Points))
	for i := range s.results {
		s.results[i] = make([]outcome, f.Releases)
	}
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var group sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for range min(workers, total) {
		group.Go(func() {
			for i := int(next.Add(1) - 1); i < total && ctx.Err() == nil; i = int(next.Add(1) - 1) {
				point, k := i%len(f.Points), i/len(f.Points)
				r, err := s.release(ctx, o, point, k)
				if err != nil {
					cancel(err)
					return
				}
				s.results[point][k] = r
				mu.Lock()
				if done++; o.Progress != nil {
					o.Progress(done, total)
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
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
func (s *simulation) release(ctx context.Context, o ForecastOptions, point, k int) (outcome, error) {
	f := s.forecast
	at := f.Points[point]
	stream := func(which int) *rand.Rand { return mcmc.Stream(f.Seed, streams*k+which) }
	shape := model.Shape{P: len(f.Design.Covariates), Intercept: f.Design.Intercept}
	x, err := s.parameters(shape, stream(parameterStream))
	if err != nil {
		return nil, err
	}
	moments, v := model.NewMoments(shape), make([]float64, shape.Statistics())
	moments.Set(x)
	if !moments.Factor() {
		return nil, errors.New("the prior gives covariance matrices that are singular in float64")
	}
	moments.RandExact(v, float64(at.N), stream(rowStream))
	exact, err := ssp.FromVector(shape.M(), at.N, v)
	if err != nil {
		return nil, fmt.Errorf("the prior gives statistics that no data could have: %w", err)
	}
	privacy := o.privacy(at.Epsilon)
	if at.Noise.Kind == release.Laplace {
		privacy.Delta = 0
	}
	r, err := ssp.Publish(ctx, exact, f.Design, privacy, at.Noise.Kind, ssp.Exact, mechanisms.Simulated(stream(noiseStream)))
	if err != nil {
		return nil, err
	}
	plan := mcmc.Plan{Chains: 1, Warmup: simulatedWarmup, Draws: simulatedDraws, Seed: stream(chainStream).Uint64(), Workers: 1}
	fit, err := Infer(ctx, r, Options{Method: f.Method, Prior: f.Prior, Plan: plan})
	if err != nil {
		return nil, err
	}
	return s.told(fit, x, exact)
}

// parameters draws from the prior, and puts the true slopes that were given in
// their places.
func (s *simulation) parameters(shape model.Shape, rng *rand.Rand) (*model.Params, error) {
	theta, covariates := conjugate.NewNIGSampler(shape.Q()), conjugate.NewNIWSampler(shape.P)
	if !theta.Set(s.forecast.Prior.Theta) || !covariates.Set(s.forecast.Prior.Covariates) {
		return nil, errors.New("the prior is not proper in float64")
	}
	x := model.NewParams(shape)
	x.Sigma2 = theta.Rand(x.Theta, rng)
	covariates.Rand(x.MuX, x.Tau, rng)
	slopes := x.Theta[shape.Q()-shape.P:]
	for j, v := range s.truth {
		if !math.IsNaN(v) {
			slopes[j] = v
		}
	}
	return x, nil
}

// told compares a fit with the truth x, and with the posterior given the exact
// statistics.
func (s *simulation) told(fit *Fit, x *model.Params, exact *ssp.Statistics) (outcome, error) {
	shape := fit.shape()
	sums, n := model.NewSums(shape), float64(exact.N)
	sums.Set(exact.Vector(), n)
	given := fit.Prior.Theta.Clone()
	if !conjugate.NewNIGSampler(shape.Q()).Update(given, fit.Prior.Theta, sums.XX, sums.XY, sums.YY, n) {
		return nil, errors.New("the prior is too weak to tell collinear columns apart")
	}
	noiseless := make([]float64, shape.Q())
	given.VarTheta(noiseless)

	first := shape.Q() - shape.P
	slopes, worst := make(outcome, shape.P), 0.0
	for j := range slopes {
		chain := fit.draws.Column(first + j)
		worst = max(worst, posterior.RHat(chain))
		slopes[j] = s.interval(chain[0], s.factor[j], x.Theta[first+j])
		slopes[j].noiseless = s.factor[j] * math.Sqrt(noiseless[first+j])
	}
	if worst > uneasyRHat || math.IsNaN(worst) {
		s.uneasy.Add(1)
	}
	if s.pool {
		return slopes.pooled(), nil
	}
	return slopes, nil
}

// interval summarises one slope's draws, in scaled units, which it sorts.
func (s *simulation) interval(draws []float64, factor, truth float64) told {
	v := variance([][]float64{draws})
	slices.Sort(draws)
	tail := (1 - s.forecast.Level) / 2
	low, high := posterior.Quantile(draws, tail), posterior.Quantile(draws, 1-tail)
	t := told{width: factor * (high - low), variance: factor * factor * v, sd: factor * math.Sqrt(v)}
	if truth > 0 && low > 0 || truth < 0 && high < 0 {
		t.detected = 1
	}
	return t
}

// pooled is the mean over slopes.
func (o outcome) pooled() outcome {
	var mean told
	w := 1 / float64(len(o))
	for _, t := range o {
		mean.width += w * t.width
		mean.variance += w * t.variance
		mean.sd += w * t.sd
		mean.noiseless += w * t.noiseless
		mean.detected += w * t.detected
	}
	return outcome{mean}
}
