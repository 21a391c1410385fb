package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dpreg/dpreg/bench/rivals"
	"github.com/dpreg/dpreg/gibbs"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts"
	"github.com/dpreg/dpreg/nuts/exact"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

// shape is the regression: two slopes, no intercept.
var shape = model.Shape{P: 2}

// custodian is one's rows and privacy.
type custodian struct {
	rows    int
	epsilon float64
}

// scenario is a case of the study.
type scenario struct {
	name       string
	custodians []custodian
	seed       uint64 // of its first data set
}

// numbers are of custodians that are alike.
var numbers = []int{1, 5, 10}

// cases are custodians that are alike, then some that differ.
func (s *settings) cases() (all []scenario) {
	for _, j := range numbers {
		for _, epsilon := range []float64{0.1, 0.2, 0.5, 1, 2, 5, 10} {
			all = append(all, scenario{name: fmt.Sprintf("J = %d, ε = %g", j, epsilon), custodians: slices.Repeat([]custodian{{s.rows / j, epsilon}}, j)})
		}
	}
	few := s.rows / 50
	all = append(all,
		scenario{name: "J = 5, one ε = 10, four ε = 0.1", custodians: append([]custodian{{s.rows / 5, 10}}, slices.Repeat([]custodian{{s.rows / 5, 0.1}}, 4)...)},
		scenario{name: "J = 5, ε = 0.3, one has 92 % of the rows", custodians: append([]custodian{{s.rows - 4*few, 0.3}}, slices.Repeat([]custodian{{few, 0.3}}, 4)...)})
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
	x, law := model.NewParams(shape), model.NewMoments(shape)
	model.NewConditionals(shape, prior, true).DrawPrior(x, rng)
	if law.Set(x); !law.Factor() {
		return data{}, errors.New("the law of the rows is not positive definite")
	}
	d := data{x.Theta, &model.Problem{Prior: prior, SharedCovariates: true}, &model.Problem{Prior: prior, SharedCovariates: true}}
	for _, s := range c.custodians {
		z := make([]float64, shape.Statistics())
		law.RandExact(z, float64(s.rows), rng)
		noise, err := s.noise(delta)
		if err != nil {
			return data{}, err
		}
		d.without.Releases = append(d.without.Releases, written(s.rows, noise.Kind, noise.Scale, z))
		for i := range z {
			z[i] += model.RandNoise(noise.Kind, noise.Scale, rng)
		}
		d.noisy.Releases = append(d.noisy.Releases, written(s.rows, noise.Kind, noise.Scale, z))
	}
	return d, nil
}

// noise is that of a release, for replace-one neighbours.
func (c custodian) noise(delta float64) (release.Noise, error) {
	kind := release.Laplace
	if delta > 0 {
		kind = release.Gaussian
	}
	return ssp.Calibrate(shape.M(), release.Privacy{Epsilon: c.epsilon, Delta: delta, Neighbours: release.ReplaceOne}, kind, ssp.Exact)
}

func written(rows int, kind release.Kind, scale float64, z []float64) *release.Release {
	box := func(name string) schema.Column { return schema.Column{Name: name, Lower: -1, Upper: 1} }
	return &release.Release{Format: release.Format, Simulated: true, N: int64(rows),
		Schema: schema.Design{Response: box("y"), Covariates: []schema.Column{box("x1"), box("x2")}},
		Noise:  release.Noise{Kind: kind, Scale: scale}, Statistics: release.StatisticsFromVector(shape.M(), z)}
}

// method infers θ, the first parameters of its draws, from a trial's data.
type method struct {
	name string
	long int // of the chains, as a multiple
	model.Method
	given func(data) *model.Problem
}

// methods lists those that are compared. The chains and the warm-up of normalx, one in fifty
// of whose sweeps counts where noise dominates, are longer.
func (s *settings) methods() []method {
	without, noisy := func(d data) *model.Problem { return d.without }, func(d data) *model.Problem { return d.noisy }
	all := []method{
		{"non-private", 1, model.Naive{}, without},
		{"naive", 1, model.Naive{}, noisy},
		{"summed", 1, exact.Method{}, summed},
		{"gibbs-ss-update", 1, gibbs.Update{}, noisy},
		{"mcmc-exact", 1, exact.Method{}, noisy},
	}
	if s.delta > 0 {
		all = append(all, method{"normalx", 20, rivals.NormalX{}, noisy}, method{"fixeds", 1, rivals.FixedS{}, noisy})
	}
	return all
}

// summed is what an analyst has who adds the releases up first: one release of all
// rows, with noise of the summed variance, which is taken for normal.
func summed(d data) *model.Problem {
	if len(d.noisy.Releases) == 1 {
		return d.noisy
	}
	z, rows, variance := make([]float64, shape.Statistics()), 0, 0.0
	for _, r := range d.noisy.Releases {
		for i, v := range r.Statistics.Vector() {
			z[i] += v
		}
		rows += int(r.N)
		variance += r.Noise.SD() * r.Noise.SD()
	}
	return &model.Problem{Prior: d.noisy.Prior, Releases: []*release.Release{written(rows, release.Gaussian, math.Sqrt(variance), z)}}
}

// study runs a case, on data sets of its own.
func (s *settings) study(ctx context.Context, c scenario) (all []result, err error) {
	methods := s.methods()
	scores := make([][]score, len(methods))
	for trial := range s.trials {
		d, err := c.draw(s.delta, rand.New(rand.NewPCG(s.seed, c.seed+uint64(trial))))
		if err != nil {
			return nil, err
		}
		for i, m := range methods {
			draws, err := s.arrive(ctx, m, d, uint64(trial))
			if err != nil {
				return nil, fmt.Errorf("%s, trial %d: %w", m.name, trial, err)
			}
			scores[i] = append(scores[i], judge(draws, d.theta))
		}
	}
	for i, m := range methods {
		all = append(all, summarise(c.name, m.name, scores[i]))
	}
	return all, nil
}

// longest is how much longer a chain is made, in steps of four, as long as it warns.
var longest = 16

// arrive runs a chain, and a longer one where that warns.
func (s *settings) arrive(ctx context.Context, m method, d data, seed uint64) (*posterior.Draws, error) {
	for long := m.long; ; long *= 4 {
		draws, err := m.Sample(ctx, m.given(d), mcmc.Plan{Chains: 1, Warmup: 500 * long, Draws: s.draws * long, Seed: seed, Workers: 1})
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

// result is how a method did in a case.
type result struct {
	scenario, method string
	square           float64 // mean squared error of θ's posterior mean, over coefficients and trials
	squareError      float64 // its standard error, over trials
	coverage, width  float64 // of 90 % intervals; the mean width
	warned           int     // chains whose draws are not to be trusted
}

func summarise(scenario, method string, all []score) result {
	r, n, squares := result{scenario: scenario, method: method}, float64(len(all)), 0.0
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
