package exact

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/diff/fd"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// linkedSites are custodians of rows of a family, in boxes, of noise and of numbers of their own.
type linkedSites struct {
	of             testFamily
	name           model.Family
	shape          model.Shape
	rows           []int
	scales         []float64
	kinds          []release.Kind
	shared, latent bool
	partial        bool       // pooling is
	wider          float64    // that boxes are
	byResponse     []bool     // sums are by the levels of the response, but for Laplace noise in a frame; nil: of none
	t              *testing.T // where some are
}

// draw draws the parameters from the prior, and the problem with its truth in the order of its names;
// each custodian's covariates have a law of their own unless they are shared.
func (c linkedSites) draw(prior *model.Prior, rng *rand.Rand) (*model.Joint, []float64) {
	m := c.shape.M()
	t := &model.Joint{Shape: c.shape, Prior: prior, Shared: c.shared, Partial: c.partial, Family: c.name, SpreadSD: slices.Repeat([]float64{0.5}, c.shape.Q())}
	truth, conditionals := model.NewParams(c.shape), model.NewConditionals(c.shape, prior, true)
	conditionals.DrawPrior(truth, rng)
	var counts, pooled []float64
	spread := model.NewSpread(c.shape.Q(), t.SpreadSD)
	if c.partial {
		spread.DrawPrior(make([]float64, spread.Dim()), rng)
		pooled = make([]float64, c.shape.Q()*(c.shape.Q()+1)/2)
		spread.Write(pooled)
	}
	for j, n := range c.rows {
		own := model.NewParams(c.shape)
		own.Copy(truth)
		if !c.shared {
			conditionals.DrawPrior(own, rng)
			copy(own.Theta, truth.Theta)
		}
		if c.partial {
			spread.Draw(own.Theta, truth.Theta, rng)
			pooled = append(pooled, own.Theta...)
		}
		c.of.disperse(own, rng)
		common := schema.Frame{Centre: make([]float64, m), Half: slices.Repeat([]float64{1}, m), Intercept: c.shape.Intercept}
		box := schema.Frame{Centre: make([]float64, m), Half: slices.Repeat([]float64{1}, m), Intercept: c.shape.Intercept}
		for i := range c.shape.P {
			box.Centre[i], box.Half[i] = 0.1*float64(j), 1+c.wider+0.3*float64(j-i)
		}
		count, rows := model.Count{}, n
		if c.latent {
			count = model.Count{Kind: c.kinds[j], Scale: 8, Least: math.Round(0.9 * float64(n)), Most: math.Round(1.1 * float64(n))}
			rows = int(count.Least) + rng.IntN(int(count.Most-count.Least)+1)
			count.Noisy = float64(rows) + math.Round(model.RandNoise(c.kinds[j], count.Scale, rng))
		}
		if c.of.most > 1 {
			counts = append(counts, own.Sigma2)
		}
		if c.latent {
			counts = append(counts, float64(rows)+rng.Float64()-0.5)
		}
		var obs *model.Observation
		if own = ofBox(own, c.shape, box); c.byResponse != nil && c.byResponse[j] {
			obs = observeByResponse(c.t, sumsOfRows(own, c.shape, rows, c.of, rng), c.shape, rows, c.scales[j], c.kinds[j], c.kinds[j] != release.Laplace, rng)
		} else {
			obs = observeRows(own, c.shape, rows, c.scales[j], c.of, c.kinds[j], rng)
		}
		obs.N, obs.Count = float64(n), count
		t.Sites = append(t.Sites, &model.Site{Observation: obs, Units: model.UnitsBetween(common, box), Upper: c.of.most})
	}
	row := make([]float64, len(truth.Theta)+len(truth.MuX)+len(truth.Tau))
	at := truth.WriteLinked(row)
	if !c.shared {
		at = len(truth.Theta)
	}
	return t, slices.Concat(row[:at], pooled, counts)
}

// ofBox are parameters in the units of a box.
func ofBox(x *model.Params, s model.Shape, box schema.Frame) *model.Params {
	inBox := model.NewParams(s)
	inBox.Copy(x)
	first := s.Q() - s.P
	for i := range s.P {
		inBox.MuX[i] = (x.MuX[i] - box.Centre[i]) / box.Half[i]
		inBox.Theta[first+i] = x.Theta[first+i] * box.Half[i]
		if first > 0 {
			inBox.Theta[0] += x.Theta[first+i] * box.Centre[i]
		}
		for k := range s.P {
			inBox.Tau[i*s.P+k] = x.Tau[i*s.P+k] / (box.Half[i] * box.Half[k])
		}
	}
	return inBox
}

// linkedCustodians are three, of unequal noise.
func linkedCustodians(name model.Family, p int, shared, latent bool) linkedSites {
	c := linkedSites{of: testFamilies[name], name: name, shape: model.Shape{P: p, Intercept: true}, rows: []int{150, 300, 900}, scales: []float64{3, 25, 9},
		kinds: []release.Kind{release.Laplace, release.Gaussian, release.Gaussian}, shared: shared, latent: latent}
	if c.of.most > 1 {
		c.name = model.Poisson
	}
	return c
}

// TestJointFamilyGradient compares the gradient with differences.
func TestJointFamilyGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 25))
	for _, name := range slices.Sorted(maps.Keys(testFamilies)) {
		for _, shared := range []bool{false, true} {
			for _, latent := range []bool{false, true} {
				c := linkedCustodians(name, 2, shared, latent)
				c.partial = shared != latent
				c.shape.Intercept, c.kinds[0] = !latent || shared, release.Gaussian
				c.checkGradient(t, fmt.Sprintf("%s shared=%t latent=%t", name, shared, latent), rng)
			}
		}
	}
}

// checkGradient compares slopes at a start with differences, and lets none allocate.
func (c linkedSites) checkGradient(t *testing.T, name string, rng *rand.Rand) {
	t.Helper()
	problem, _ := c.draw(linkPrior(c.shape), rng)
	f := newJoint(problem)
	y := make([]float64, f.Dim())
	for tries := 0; !f.start(problem, y, rng); tries++ {
		if tries == mostStarts {
			t.Fatal("no start")
		}
	}
	f.Reach(y)
	f.checkSlopes(t, name, y, 1e-5)
	grad := make([]float64, len(y))
	if n := testing.AllocsPerRun(10, func() { f.LogDensity(grad, y) }); n > 0 {
		t.Errorf("%s: an evaluation allocates %v times", name, n)
	}
}

// checkSlopes compares the gradient at y with differences.
func (f *joint) checkSlopes(t *testing.T, name string, y []float64, step float64) {
	t.Helper()
	grad, unused := make([]float64, len(y)), make([]float64, len(y))
	must.Get(f.LogDensity(grad, y))(t)
	want := fd.Gradient(nil, func(y []float64) float64 {
		v, err := f.LogDensity(unused, y)
		if err != nil {
			return math.NaN()
		}
		return v
	}, y, &fd.Settings{Formula: fd.Central, Step: step})
	for i, g := range grad {
		if !(math.Abs(g-want[i]) <= 2e-4*(1+math.Abs(g))) {
			t.Errorf("%s: slope %d of %d (spokes %v) is %v, differences %v", name, i, len(y), f.at, g, want[i])
		}
	}
}

// TestJointFamilySBC is simulation-based calibration of three unequal custodians. Families have
// covariates that are shared or not in turn, and every second one a latent n, too; the short form has
// one family, and n known. Ranks are judged case by case, over all cases (66 data sets), and over those with
// covariates shared or separate; the families' own laws are TestGeneralizedSBC's. The long form has all three factors crossed:
//
//	go test ./nuts/exact -run TestJointFamilySBC -sbc.long -v -timeout 4h
func TestJointFamilySBC(t *testing.T) {
	trials := testsize.Of(6, 11)
	if *sbcLong {
		trials = 500
	}
	var common together
	t.Run("", func(t *testing.T) {
		for which, name := range slices.Sorted(maps.Keys(testFamilies)) {
			for i, shared := range []bool{false, true} {
				for l, latent := range []bool{false, true} {
					inTurn := !latent && (which+i)%2 == 0 || latent && !shared && which%2 == 1
					if (!inTurn || testing.Short() && (latent || which > 0)) && !*sbcLong {
						continue
					}
					t.Run(fmt.Sprintf("%s shared=%t n latent=%t", name, shared, latent), func(t *testing.T) {
						t.Parallel()
						names, ranks := jointFamilyRanks(t, uint64(4*which+2*i+l), linkedCustodians(name, 2, shared, latent), trials, nil)
						modeltest.Report(t, names, ranks)
						common.add(names, ranks, "all", fmt.Sprintf("shared: %t", shared))
					})
				}
			}
		}
	})
	common.uniform(t)
}

// TestPooledFamilySBC is TestJointFamilySBC of custodians with coefficients of their own, of a family in the short form:
//
//	go test ./nuts/exact -run TestPooledFamilySBC -sbc.long -v -timeout 4h
func TestPooledFamilySBC(t *testing.T) {
	trials := testsize.Of(4, 8)
	if *sbcLong {
		trials = 300
	}
	for which, name := range slices.Sorted(maps.Keys(testFamilies)) {
		for i, shared := range []bool{false, true} {
			if (which > 0 || shared) && !*sbcLong {
				continue
			}
			t.Run(fmt.Sprintf("%s shared=%t", name, shared), func(t *testing.T) {
				t.Parallel()
				c := linkedCustodians(name, 1, shared, false)
				c.partial = true
				names, ranks := jointFamilyRanks(t, uint64(60+2*which+i), c, trials, nil)
				modeltest.Report(t, names, ranks)
			})
		}
	}
}

// TestPooledFamilySBCFindsFaults: a spread that is taken to be small is found.
func TestPooledFamilySBCFindsFaults(t *testing.T) {
	testsize.Planted(t)
	t.Parallel()
	c := linkedCustodians(model.Probit, 1, false, false)
	c.partial = true
	_, ranks := jointFamilyRanks(t, 60, c, 60, func(p *model.Joint) {
		for k := range p.SpreadSD {
			p.SpreadSD[k] *= 0.1
		}
	})
	if !modeltest.Unlike(ranks) {
		t.Error("a spread that was taken to be small went unnoticed")
	}
}

// TestPooledFamilyWithoutSpread: custodians that hardly spread have the posterior of complete pooling.
func TestPooledFamilyWithoutSpread(t *testing.T) {
	c := linkedCustodians(model.Binomial, 1, false, false)
	problem, _ := c.draw(linkPrior(c.shape), rand.New(rand.NewPCG(2, 30)))
	plan := mcmc.Plan{Chains: 2, Warmup: 200, Draws: testsize.Of(200, 1000), Seed: 1}
	want, pooled := sampleJoint(t, problem, plan), *problem
	pooled.Partial, pooled.SpreadSD = true, []float64{1e-3, 1e-3}
	modeltest.Agree(t, choose(sampleJoint(t, &pooled, plan), want.Names), want, 4.5) // 7e-6 a number
}

// jointFamilyRanks is jointRanks of rows whose response is of a family.
func jointFamilyRanks(t *testing.T, seed uint64, c linkedSites, trials int, fault func(*model.Joint)) (names []string, ranks [][]float64) {
	t.Helper()
	return jointRanks(t, 27+100*seed, chainOf(3), trials, func(rng *rand.Rand) ([]float64, *model.Joint) {
		problem, truth := c.draw(linkPrior(c.shape), rng)
		return truth, problem
	}, fault)
}

// TestJointFamilySBCFindsFaults: units that are left out are found.
func TestJointFamilySBCFindsFaults(t *testing.T) {
	testsize.Planted(t)
	t.Parallel()
	c := linkedCustodians(model.Probit, 1, false, false)
	_, ranks := jointFamilyRanks(t, 0, c, 60, func(p *model.Joint) { p.Sites[2].Units = p.Sites[0].Units })
	if !modeltest.Unlike(ranks) {
		t.Error("units that were left out went unnoticed")
	}
}

// TestJointFamilyStarts starts chains of rows that are few, all alike, or hidden by noise.
func TestJointFamilyStarts(t *testing.T) {
	for seed := range testsize.Of(1, 4) {
		for _, name := range slices.Sorted(maps.Keys(testFamilies)) {
			for _, scale := range []float64{0.3, 20, 2000} {
				c := linkedCustodians(name, 2, seed%2 == 0, seed%3 == 0)
				c.rows, c.scales = []int{12, 50, 400}, []float64{scale, scale, 0.1 * scale}
				prior := linkPrior(c.shape)
				prior.Theta.Precision[0] = 0.04 // intercepts are far out
				rng := rand.New(rand.NewPCG(uint64(seed), 29))
				problem, _ := c.draw(prior, rng)
				k, err := newJointKernel(problem, rng)
				if err != nil {
					t.Errorf("%s, noise of %v, seed %d: %v", name, scale, seed, err)
					continue
				}
				for range 20 {
					k.Step(rng)
				}
				if k.Err() != nil {
					t.Errorf("%s, noise of %v, seed %d: %v", name, scale, seed, k.Err())
				}
			}
		}
	}
}
