// Package model holds the noise-aware regression itself: the prior, the law of
// the statistics given the parameters, the map to unconstrained coordinates,
// and what every method of inference shares.
//
//	σ² ~ InvGamma(a₀, b₀)       θ | σ² ~ N(μ₀, σ² Λ₀⁻¹)
//	T  ~ InvWishart(Ψ₀, ν₀)     μ_x | T ~ N(m₀, T/κ₀)
//	x  ~ N(μ_x, T)              y | x ~ N(θᵀ(1, x), σ²)
//	s = Σ t(x, y)               z = s + noise
//
// Everything here is in scaled units unless a name says otherwise.
package model

import (
	"context"
	"fmt"

	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
)

// Problem is what a method infers from: the releases, which share θ and σ²,
// and the prior in scaled units. Several releases have the same columns in the same
// order (release.Release.Arrange); the prior is in their common units then, see Join.
type Problem struct {
	Releases []*release.Release
	Prior    *Prior

	// SharedCovariates: one law of the covariates, (μ_x, T), for all releases; else
	// each has its own, from the same prior.
	SharedCovariates bool
	// PartialPooling: each release has its own θ_j and σ_j; see Spread.
	PartialPooling bool
	// SameRows: all releases are of one population of rows, and measure the same sums.
	SameRows bool
}

// Method draws from the posterior of a problem. The draws are in scaled units
// and named by Joint.Names, or by Shape.RegressionNames where the method has
// no model of the covariates.
type Method interface {
	Name() string
	// Traits are what holds of the method whatever the problem.
	Traits() Traits
	// Can returns why the method cannot infer from a problem, before anything is drawn;
	// nil where it can.
	Can(p *Problem) error
	// Sample draws. Its errors are those of Can, Traits.Check and mcmc.Run.
	Sample(ctx context.Context, p *Problem, plan mcmc.Plan) (*posterior.Draws, error)
}

// Traits are what a method needs, what it can do beside, and what it takes for known.
type Traits struct {
	Warmup     int // the shortest in which its chains adapt; 0 where nothing does
	Kernels    bool
	Clamping   bool // it can model clamping
	Covariates Covariates
}

// Covariates says what a method makes of the covariates' law.
type Covariates int

const (
	NoCovariates       Covariates = iota // it has none
	ReleasedCovariates                   // moments that the release holds are taken for it
	StatedCovariates                     // the one that the prior states
	HiddenCovariates                     // normal, with parameters that draws leave out
	LearntCovariates                     // normal, with parameters beside those of the regression
)

// Known tells whether it is fixed before the sums are looked at.
func (c Covariates) Known() bool { return c == ReleasedCovariates || c == StatedCovariates }

// AdaptiveWarmup is the shortest warm-up whose metric and step size are worth having.
const AdaptiveWarmup = 100

// Check returns an error where a plan cannot stand, or its warm-up is too short for the
// chains of the named method to adapt, which would then run on at the mercy of their start.
func (t Traits) Check(method string, plan mcmc.Plan) error {
	if plan.Warmup < t.Warmup {
		return fmt.Errorf("%s: a warm-up of %d steps is too short to adapt; at least %d", method, plan.Warmup, t.Warmup)
	}
	return plan.Validate()
}

// NormalLaw is the law of the statistics of one release whose rows are normal.
func (p *Problem) NormalLaw() (Law, error) {
	obs, err := p.Single()
	if err != nil {
		return nil, err
	}
	return NewMoments(obs.Shape), nil
}

// Single is Join for methods that infer from one release.
func (p *Problem) Single() (*Observation, error) {
	joint, err := p.Join()
	if err != nil {
		return nil, err
	}
	if n := len(joint.Sites); n > 1 {
		return nil, fmt.Errorf("this method infers from one release, and there are %d; mcmc-exact, mcmc-ind, gibbs-ss-update and naive take several", n)
	}
	return joint.Sites[0].Observation, nil
}

// Observation is one release as the samplers read it, or several of the same rows.
type Observation struct {
	Shape Shape
	N     float64 // as published: exact, or noisy where Count is latent
	Count Count
	Z     []float64 // noisy statistics, canonical order, length Shape.Statistics()
	Kind  release.Kind
	Scale []float64 // noise scale of each entry: b of the Laplace law, σ of the Gaussian

	Moments *NoisyMoments // of the covariates, where the release has them

	// Measurements are those of the same sums where there are several whose law is not that
	// of one; nil otherwise. Z, Kind, Scale and Count then only stand for them, to start
	// from; the law is Noise's.
	Measurements []*Observation
}

// Observe reads a release. It refuses one that withholds Σy².
func Observe(r *release.Release) (*Observation, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	if y := r.Schema.Response.Name; r.WithoutYY() {
		return nil, fmt.Errorf("this release withholds the sum of squares of %q (\"withheld\": [\"yy\"]), and no method does without: infer from it by a --formula that leaves %q out", y, y)
	}
	o := &Observation{
		Shape: Shape{P: len(r.Schema.Covariates), Intercept: r.Schema.Intercept},
		N:     float64(r.N),
		Z:     r.Statistics.Vector(),
		Kind:  r.Noise.Kind,
		Count: Count{Noisy: float64(r.N), Kind: r.Noise.Kind, Scale: r.NNoise, Least: float64(len(r.Schema.Covariates) + 2), Most: MaxRows},
	}
	o.Moments = observeMoments(r)
	o.Scale = make([]float64, len(o.Z))
	for i := range o.Scale {
		o.Scale[i] = r.Noise.Scale
	}
	return o, nil
}
