package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/bench/rivals"
	"github.com/dpreg/dpreg/gibbs"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts"
	"github.com/dpreg/dpreg/nuts/exact"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/ssp"
)

const custodiansIntro = `Releases of one regression by J custodians: parameters from the box prior, 100,000 rows
in all, two covariates, no intercept, one law of the covariates for all. Noise is simulated,
of replace-one neighbours, %s.

square error: of the posterior mean of θ, in scaled units, over coefficients and data sets,
± its standard error. coverage, in %%, and width are of 90 %% intervals. warned: chains that
still did when made longer.`

// custodianRows are those of all custodians together.
const custodianRows = 100_000

// regression2 is the regression: two slopes, no intercept.
var regression2 = model.Shape{P: 2}

// custodian is one's rows and privacy; δ = 0 stands for Laplace noise.
type custodian struct {
	rows           int
	epsilon, delta float64
}

// custodianCase is a case of the study, all of whose data sets are its own.
type custodianCase struct {
	number     int
	custodians []custodian
}

// custodiansStudy has custodians that are alike, then some that differ.
func custodiansStudy(delta float64) func(source) (*study, error) {
	return func(source) (*study, error) {
		noise := "Laplace's"
		if delta > 0 {
			noise = fmt.Sprintf("Gaussian with δ = %g", delta)
		}
		s, cases := custodiansTable(fmt.Sprintf(custodiansIntro, noise)), 0
		add := func(name string, custodians ...custodian) {
			s.addCase(name, custodianCase{cases, custodians}, custodianMethods(delta))
			cases++
		}
		for _, j := range []int{1, 5, 10} {
			for _, epsilon := range []float64{0.1, 0.2, 0.5, 1, 2, 5, 10} {
				add(fmt.Sprintf("J = %d, ε = %g", j, epsilon), slices.Repeat([]custodian{{custodianRows / j, epsilon, delta}}, j)...)
			}
		}
		const fifth, few = custodianRows / 5, custodianRows / 50
		weak, small := custodian{fifth, 0.1, delta}, custodian{few, 0.3, delta}
		add("J = 5, one ε = 10, four ε = 0.1", custodian{fifth, 10, delta}, weak, weak, weak, weak)
		add("J = 5, ε = 0.3, one has 92 % of the rows", custodian{custodianRows - 4*few, 0.3, delta}, small, small, small, small)
		return s, nil
	}
}

// custodiansTable is a study without a case.
func custodiansTable(intro string) *study {
	return &study{intro: intro, settings: []string{"case", "method"}, header: []string{"square error", "coverage", "width", "warned"}}
}

// addCase adds what each method makes of a case.
func (s *study) addCase(name string, c custodianCase, methods []custodianMethod) {
	for _, m := range methods {
		s.arms = append(s.arms, arm{[]string{name, m.name}, func(ctx context.Context, seed uint64) ([]float64, error) { return c.run(ctx, m, seed) }, custodiansRow})
	}
}

func custodiansRow(runs [][]float64) []string {
	squares, n := column(runs, 0), float64(len(runs))
	mean := func(measure int) float64 { return stat.Mean(column(runs, measure), nil) }
	return []string{fmt.Sprintf("%.2g ± %.1g", mean(0), stat.StdDev(squares, nil)/math.Sqrt(n)),
		fmt.Sprintf("%.0f", 100*mean(1)), fmt.Sprintf("%.2g", mean(2)), fmt.Sprint(n * mean(3))}
}

// pooledData are one trial's: the truth, the releases, and the same without noise.
type pooledData struct {
	theta          []float64
	noisy, without *model.Problem
}

// draw simulates a trial: statistics by their exact law.
func (c custodianCase) draw(rng *rand.Rand) (pooledData, error) {
	prior := model.Normal.BoxPrior(regression2)
	x, law := model.NewParams(regression2), model.NewMoments(regression2)
	model.NewConditionals(regression2, prior, true).DrawPrior(x, rng)
	if law.Set(x); !law.Factor() {
		return pooledData{}, errors.New("the law of the rows is not positive definite")
	}
	d := pooledData{x.Theta, &model.Problem{Prior: prior, SharedCovariates: true}, &model.Problem{Prior: prior, SharedCovariates: true}}
	for _, s := range c.custodians {
		z := make([]float64, regression2.Statistics())
		law.RandExact(z, float64(s.rows), rng)
		noise, err := s.noise()
		if err != nil {
			return pooledData{}, err
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
func (c custodian) noise() (release.Noise, error) {
	kind := release.Laplace
	if c.delta > 0 {
		kind = release.Gaussian
	}
	return ssp.Calibrate(regression2.M(), release.Privacy{Epsilon: c.epsilon, Delta: c.delta, Neighbours: release.ReplaceOne}, kind, ssp.Exact)
}

func written(rows int, kind release.Kind, scale float64, z []float64) *release.Release {
	columns := *dpreg.UnitDesign(regression2.P)
	columns.Intercept = false
	return &release.Release{Format: release.Format, Simulated: true, N: int64(rows), Schema: columns,
		Noise: release.Noise{Kind: kind, Scale: scale}, Statistics: release.StatisticsFromVector(regression2.M(), z)}
}

// custodianMethod infers θ, the first parameters of its draws, from a trial's data.
type custodianMethod struct {
	name string
	long int // of the chains, as a multiple
	model.Method
	given func(pooledData) *model.Problem
}

// custodianMethods lists those that are compared, all of those that take the noise. The chains
// and the warm-up of normalx, one in fifty of whose sweeps counts where noise dominates, are
// longer.
func custodianMethods(delta float64) []custodianMethod {
	without, noisy := func(d pooledData) *model.Problem { return d.without }, func(d pooledData) *model.Problem { return d.noisy }
	all := []custodianMethod{
		{"non-private", 1, model.Naive{}, without},
		{"naive", 1, model.Naive{}, noisy},
		{"summed", 1, exact.Method{}, summed},
		{"gibbs-ss-update", 1, gibbs.Method{Moments: gibbs.Update}, noisy},
		{"mcmc-exact", 1, exact.Method{}, noisy},
	}
	if delta > 0 {
		all = append(all, custodianMethod{"normalx", 20, rivals.NormalX, noisy}, custodianMethod{"fixeds", 1, rivals.FixedS, noisy})
	}
	return all
}

// summed is what an analyst has who adds the releases up first: one release of all
// rows, with noise of the summed variance, which is taken for normal.
func summed(d pooledData) *model.Problem {
	if len(d.noisy.Releases) == 1 {
		return d.noisy
	}
	z, rows, variance := make([]float64, regression2.Statistics()), 0, 0.0
	for _, r := range d.noisy.Releases {
		floats.Add(z, r.Statistics.Vector())
		rows += int(r.N)
		variance += r.Noise.SD() * r.Noise.SD()
	}
	return &model.Problem{Prior: d.noisy.Prior, Releases: []*release.Release{written(rows, release.Gaussian, math.Sqrt(variance), z)}}
}

// run returns the squared error, the coverage and the width of intervals, means over
// coefficients, and whether the chain warns: one of 1000 draws after 500 of warm-up, which is
// made longer, in steps of four up to longest, as long as it does.
func (c custodianCase) run(ctx context.Context, m custodianMethod, seed uint64) ([]float64, error) {
	d, err := c.draw(rand.New(rand.NewPCG(1, uint64(c.number)<<32+seed)))
	if err != nil {
		return nil, err
	}
	for long := m.long; ; long *= 4 {
		draws, err := m.Sample(ctx, m.given(d), mcmc.Plan{Chains: 1, Warmup: 500 * long, Draws: 1000 * long, Seed: seed, Workers: 1})
		if err != nil {
			return nil, err
		}
		if 4*long > longest || !warned(draws) {
			return judge(draws, d.theta), nil
		}
	}
}

const longest = 16

// warned tells whether the halves of a chain say that it has not arrived, or the
// columns of NUTS do. Other methods' warnings are of the method.
func warned(d *posterior.Draws) bool {
	for k := range regression2.Q() {
		if posterior.Of(d.Column(k)).RHat() > 1.05 {
			return true
		}
	}
	return slices.Equal(d.InfoNames, nuts.InfoNames) && len(d.Warnings) > 0
}

func judge(d *posterior.Draws, theta []float64) []float64 {
	m, q := make([]float64, 4), float64(len(theta))
	for k, truth := range theta {
		all := slices.Sorted(slices.Values(slices.Concat(d.Column(k)...)))
		gap := stat.Mean(all, nil) - truth
		low, high := posterior.Quantile(all, 0.05), posterior.Quantile(all, 0.95)
		m[0] += gap * gap / q
		if low <= truth && truth <= high {
			m[1] += 1 / q
		}
		m[2] += (high - low) / q
	}
	if warned(d) {
		m[3] = 1
	}
	return m
}
