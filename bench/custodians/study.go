package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

// shape is the regression: two slopes, no intercept.
var shape = model.Shape{P: 2}

// site is one custodian's rows and privacy.
type site struct {
	rows    int
	epsilon float64
}

// scenario is a case of the study; sites that are alike have a grid's place.
type scenario struct {
	name    string
	sites   []site
	epsilon float64 // 0 where custodians differ
	laws    bool    // each site has a law of the covariates of its own, in all methods too
	seed    uint64  // of its first data set
}

var (
	epsilons = []float64{0.1, 0.2, 0.5, 1, 2, 5, 10}
	numbers  = []int{1, 5, 10} // of custodians
)

// cases are the grid, and custodians that differ.
func (s *settings) cases() (all []scenario) {
	for _, j := range numbers {
		for _, epsilon := range epsilons {
			all = append(all, scenario{name: fmt.Sprintf("J = %d, ε = %g", j, epsilon), sites: slices.Repeat([]site{{s.rows / j, epsilon}}, j), epsilon: epsilon})
		}
	}
	few := s.rows / 50
	all = append(all,
		scenario{name: "J = 5, one ε = 10, four ε = 0.1", sites: append([]site{{s.rows / 5, 10}}, slices.Repeat([]site{{s.rows / 5, 0.1}}, 4)...)},
		scenario{name: "J = 5, ε = 0.3, one has 92 % of the rows", sites: append([]site{{s.rows - 4*few, 0.3}}, slices.Repeat([]site{{few, 0.3}}, 4)...)},
		scenario{name: "J = 5, one has 92 % of the rows and ε = 0.1, four ε = 10", sites: append([]site{{s.rows - 4*few, 0.1}}, slices.Repeat([]site{{few, 10}}, 4)...)},
		scenario{name: "J = 10, ε = 0.1, ten laws of the covariates", sites: slices.Repeat([]site{{s.rows / 10, 0.1}}, 10), laws: true})
	for i := range all {
		all[i].seed = uint64(i) << 32
	}
	return all
}

// data are one trial's: the truth, the releases, and the same without noise.
type data struct {
	theta          []float64
	noisy, without *model.Problem
}

// draw simulates a trial: statistics by their exact law.
func (c scenario) draw(delta float64, rng *rand.Rand) (data, error) {
	prior := model.BoxPrior(shape)
	parameters := model.NewConditionals(shape, prior, true)
	x, law := model.NewParams(shape), model.NewMoments(shape)
	parameters.DrawPrior(x, rng)
	d := data{x.Theta, &model.Problem{Prior: prior, SharedCovariates: !c.laws}, &model.Problem{Prior: prior, SharedCovariates: !c.laws}}
	for i, s := range c.sites {
		if own := model.NewParams(shape); c.laws && i > 0 {
			parameters.DrawPrior(own, rng)
			x.MuX, x.Tau = own.MuX, own.Tau
		}
		if law.Set(x); !law.Factor() {
			return data{}, errors.New("the law of the rows is not positive definite")
		}
		z := make([]float64, shape.Statistics())
		law.RandExact(z, float64(s.rows), rng)
		noise, err := s.noise(delta)
		if err != nil {
			return data{}, err
		}
		d.without.Releases = append(d.without.Releases, written(s.rows, noise.Kind, noise.Scale, z))
		for i := range z {
			z[i] += variate(noise, rng)
		}
		d.noisy.Releases = append(d.noisy.Releases, written(s.rows, noise.Kind, noise.Scale, z))
	}
	return d, nil
}

// noise is that of a release, for replace-one neighbours.
func (s site) noise(delta float64) (release.Noise, error) {
	kind := release.Laplace
	if delta > 0 {
		kind = release.Gaussian
	}
	return ssp.Calibrate(shape.M(), release.Privacy{Epsilon: s.epsilon, Delta: delta, Neighbours: release.ReplaceOne}, kind, ssp.Exact)
}

func variate(n release.Noise, rng *rand.Rand) float64 {
	if n.Kind == release.Gaussian {
		return n.Scale * rng.NormFloat64()
	}
	return n.Scale * math.Copysign(rng.ExpFloat64(), rng.Float64()-0.5)
}

func written(rows int, kind release.Kind, scale float64, z []float64) *release.Release {
	box := func(name string) schema.Column { return schema.Column{Name: name, Lower: -1, Upper: 1} }
	return &release.Release{Format: release.Format, Simulated: true, N: int64(rows),
		Schema: schema.Design{Response: box("y"), Covariates: []schema.Column{box("x1"), box("x2")}},
		Noise:  release.Noise{Kind: kind, Scale: scale}, Statistics: release.StatisticsFromVector(shape.M(), z)}
}

// result is how a method did in a case.
type result struct {
	scenario
	method          string
	square          float64 // mean squared error of θ's posterior mean, over coefficients and trials
	squareError     float64 // its standard error, over trials
	coverage, width float64 // of 90 % intervals; the mean width
	warned          int     // chains whose draws are not to be trusted
}

// study runs a case, on data sets of its own.
func (s *settings) study(ctx context.Context, c scenario) ([]result, error) {
	var all []result
	chosen := s.methods()
	scores := make([][]score, len(chosen))
	for trial := range s.trials {
		d, err := c.draw(s.delta, rand.New(rand.NewPCG(s.seed, c.seed+uint64(trial))))
		if err != nil {
			return nil, err
		}
		for i, m := range chosen {
			draws, err := s.arrive(ctx, m, d, uint64(trial))
			if err != nil {
				return nil, fmt.Errorf("%s, trial %d: %w", m.name, trial, err)
			}
			scores[i] = append(scores[i], judge(draws, d.theta))
		}
	}
	for i, m := range chosen {
		all = append(all, summarise(c, m.name, scores[i]))
	}
	return all, nil
}

// longest is how much longer a chain is made, in steps of four, as long as it warns.
var longest = 16

// arrive runs a chain, and a longer one where that warns.
func (s *settings) arrive(ctx context.Context, m method, d data, seed uint64) (*posterior.Draws, error) {
	for long := max(1, m.long); ; long *= 4 {
		draws, err := m.sample(ctx, d, mcmc.Plan{Chains: 1, Warmup: 500 * long, Draws: s.draws * long, Seed: seed, Workers: 1})
		if err != nil || 4*long > longest || !warned(draws) {
			return draws, err
		}
	}
}

// warned tells whether the halves of a chain say that it has not arrived, or the
// columns of NUTS do. Other methods' warnings are of the method.
func warned(d *posterior.Draws) bool {
	for k := range shape.Q() {
		if posterior.RHat(d.Column(k)) > 1.05 {
			return true
		}
	}
	return slices.Equal(d.InfoNames, nuts.InfoNames) && len(d.Warnings) > 0
}

// score is that of one fit.
type score struct {
	square, covered, width float64
	warned                 bool
}

func judge(d *posterior.Draws, theta []float64) (s score) {
	s.warned = warned(d)
	q := float64(len(theta))
	for k, truth := range theta {
		all := slices.Sorted(slices.Values(slices.Concat(d.Column(k)...)))
		mean := 0.0
		for _, v := range all {
			mean += v / float64(len(all))
		}
		low, high := posterior.Quantile(all, 0.05), posterior.Quantile(all, 0.95)
		s.square += (mean - truth) * (mean - truth) / q
		s.width += (high - low) / q
		if low <= truth && truth <= high {
			s.covered += 1 / q
		}
	}
	return s
}

func summarise(c scenario, method string, all []score) result {
	r, n, squares := result{scenario: c, method: method}, float64(len(all)), 0.0
	for _, s := range all {
		r.square += s.square / n
		r.coverage += s.covered / n
		r.width += s.width / n
		squares += s.square * s.square / n
		if s.warned {
			r.warned++
		}
	}
	r.squareError = math.Sqrt((squares - r.square*r.square) / (n - 1))
	return r
}
