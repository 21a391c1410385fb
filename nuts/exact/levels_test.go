package exact

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/nuts"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// leveledRows are rows of a factor, drawn from the prior, and what is observed of them with noise.
type leveledRows struct {
	shape  model.Shape
	levels int
	n      int
	kind   release.Kind
	scale  float64
	prior  *model.Prior
	framed bool
	units  float64 // of its box, as a part of common units; 0: all of it
	most   int     // of a latent n, which is uniform from the least there can be; 0: n is public
}

func (c leveledRows) String() string {
	text := fmt.Sprintf("levels=%d p=%d n=%d %s %g", c.levels, c.shape.P, c.n, c.kind, c.scale)
	if c.framed {
		text += " in a frame"
	}
	if c.most > 0 {
		text += " latent"
	}
	return text
}

// count is what is known of a latent n beside noise.
func (c leveledRows) count() model.Count {
	return model.Count{Least: float64(c.shape.M() + 1), Most: float64(c.most)}
}

// counted draws a latent n.
func (c leveledRows) counted(rng *rand.Rand) leveledRows {
	if c.most > 0 {
		c.n = c.shape.M() + 1 + rng.IntN(c.most-c.shape.M())
	}
	return c
}

// frame is that of what is behind the dummies, nil in the box: columns far from its axes, and not about 0.
func (c leveledRows) frame() *release.Frame {
	if !c.framed {
		return nil
	}
	k := c.levels - 1
	return modeltest.Frame(c.shape.M() - k).Behind(k)
}

// site is that of an observation, whose columns behind the dummies have units of their own.
func (c leveledRows) site(obs *model.Observation) *model.Site {
	m := c.shape.M()
	a, b := make([]float64, m*m), make([]float64, m)
	for j := range m {
		if a[j*m+j] = 1; j >= c.levels-1 && c.units > 0 {
			a[j*m+j], b[j] = 1/c.units, 0.25*(1-c.units)/c.units
		}
	}
	return &model.Site{Observation: obs, Units: model.NewUnits(a, b).In(c.frame())}
}

// draw returns the parameters, of the covariates those over all levels, and the observation.
func (c leveledRows) draw(rng *rand.Rand) (truth *model.Params, obs *model.Observation) {
	truth = model.NewParams(c.shape)
	model.NewConditionals(c.shape, c.prior, false).DrawPrior(truth, rng)
	c.prior.Kurtosis.Apply(truth, rng)
	return truth, c.drawRows(truth, rng)
}

// drawRows draws the covariates' law, and the observation given a regression.
func (c leveledRows) drawRows(truth *model.Params, rng *rand.Rand) *model.Observation {
	return c.drawSums(truth, c.site(nil).Units, func(eta float64) float64 {
		return eta + math.Sqrt(truth.Sigma2)*rng.NormFloat64()
	}, rng)
}

// drawSums is drawRows of rows of a response, in units of the release.
func (c leveledRows) drawSums(truth *model.Params, units *model.Units, response func(eta float64) float64, rng *rand.Rand) *model.Observation {
	k, m := c.levels-1, c.shape.M()
	q := m - 1 - k
	part := c.prior.Within(behind(k, c.prior.Covariates.Dim()))
	inner := model.Shape{P: q, Intercept: true}
	stub := *modeltest.TamePrior(inner) // of θ, which is not used
	stub.Covariates, stub.MeanSD, stub.Scales = part.Covariates, part.MeanSD, nil
	for _, s := range part.Scales {
		if len(s.Covariates) > 0 {
			stub.Scales = append(stub.Scales, s)
		}
	}
	within := model.NewParams(inner)
	model.NewConditionals(inner, &stub, true).DrawPrior(within, rng)
	root := append([]float64(nil), within.Tau...)
	dense.Cholesky(root, q)
	normal := func(mean []float64, scale float64) []float64 {
		e, x := make([]float64, q), make([]float64, q)
		for j := range q {
			e[j] = rng.NormFloat64()
			x[j] = mean[j] + scale*dot(root[j*q:j*q+j+1], e)
		}
		return x
	}
	mu, share, total := make([][]float64, c.levels), make([]float64, c.levels), 0.0
	for l := range mu {
		share[l] = rng.ExpFloat64()
		total += share[l]
		if part.MeanSD == nil {
			mu[l] = normal(part.Covariates.Mean, 1/math.Sqrt(part.Covariates.Kappa))
			continue
		}
		for j, sd := range part.MeanSD {
			mu[l] = append(mu[l], part.Covariates.Mean[j]+sd*rng.NormFloat64())
		}
	}
	for l := range share {
		share[l] /= total
	}
	overall(truth, share, mu, within.Tau, k, q)
	sums, row := make([]float64, release.Length(m)), make([]float64, m)
	for range c.n {
		l, u := 0, rng.Float64()
		for l < k && u > share[l] {
			u -= share[l]
			l++
		}
		for i := range k {
			row[i] = -1
		}
		if l > 0 {
			row[l-1] = 1
		}
		copy(row[k:], normal(mu[l], 1))
		row[m-1] = response(truth.Theta[0] + dot(truth.Theta[1:], row[:m-1]))
		units.Mean(row)
		for j, v := range row {
			sums[j] += v
			for h := j; h < m; h++ {
				sums[release.Index(m, j, h)] += v * row[h]
			}
		}
	}
	return c.observe(sums, rng)
}

// observe adds noise to the sums by levels.
func (c leveledRows) observe(sums []float64, rng *rand.Rand) *model.Observation {
	k, m := c.levels-1, c.shape.M()
	d, told, counts := m-k, &model.Told{Kind: c.kind, Dummies: k}, c.levels
	if c.most == 0 && !c.framed {
		counts = release.LevelCounts(k, release.ReplaceOne)
	}
	for _, of := range release.Combinations(m, k, counts) {
		told.Z = append(told.Z, of.Value(sums, float64(c.n)))
	}
	for range told.Z {
		told.Scale = append(told.Scale, c.scale)
	}
	told.Sums = make([][]float64, c.levels)
	for l := range told.Sums {
		told.Sums[l] = make([]float64, d)
	}
	told.Apart()
	if c.kind == release.Ball {
		told.Parts = nil
		told.InBalls(float64(d+2), float64(release.Length(d)-d+1))
	}
	told.AddNoise(told.Z, 1, rng)
	n, count := float64(c.n), c.count()
	if c.most > 0 {
		n, count.Scale = math.Round(floats.Sum(told.Z[:c.levels])), c.scale
	}
	r := release.Release{N: int64(n), Schema: schema.Design{Covariates: make([]schema.Column, m-1), Intercept: true}}
	r.TakeLevels(release.NewLevels("", k, nil), told.Z)
	told.Counts, told.Sums = r.Levels.Counts, r.Levels.Sums
	obs := &model.Observation{Shape: c.shape, N: n, Count: count, Kind: c.kind, Z: r.Statistics.Vector(), Freedom: float64(release.Length(d) - d + 1), Frame: c.frame(), Told: told}
	for range obs.Z {
		obs.Scale = append(obs.Scale, c.scale)
	}
	return obs
}

// overall writes mean and covariance of dummies of ±1 and covariates.
func overall(x *model.Params, share []float64, mu [][]float64, within []float64, k, q int) {
	columns := make([][]float64, len(share))
	for l := range columns {
		for c := range k {
			columns[l] = append(columns[l], map[bool]float64{false: -1, true: 1}[c == l-1])
		}
		columns[l] = append(columns[l], mu[l]...)
	}
	overallOf(x, share, columns, within, k, q)
}

func TestLevelsGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	for _, levels := range []int{2, 3, 6} {
		for _, q := range []int{0, 1, 3} {
			s := model.Shape{P: levels - 1 + q, Intercept: true}
			for which, prior := range []*model.Prior{mixedPrior(t, s, rng), randomPrior(t, s, rng), model.DefaultPrior(s)} {
				for _, kind := range []release.Kind{release.Laplace, release.Gaussian, release.Ball} {
					c := leveledRows{s, levels, 60, kind, 3, prior, kind != release.Laplace, 0, 0}
					truth := modeltest.TamePrior(s)
					c.prior = truth
					_, obs := c.draw(rng)
					f := newByLevel(alone(obs), prior)
					x := make([]float64, f.Dim())
					for !f.start(x, rng) {
					}
					f.counts[0] += f.counts[1] // an empty level
					f.counts[1] = 0
					f.take(f.counts)
					grad, smooth := make([]float64, len(x)), *f
					smooth.noise = flatNoise(obs)
					smooth.Reach(x)
					if _, err := smooth.LogDensity(grad, x); err != nil {
						t.Fatal(err)
					}
					want := fd.Gradient(nil, func(x []float64) float64 {
						v, ok := smooth.value(x)
						if !ok {
							return math.NaN()
						}
						return v
					}, x, &fd.Settings{Formula: fd.Central, Step: 1e-4})
					for i, g := range grad {
						if !(math.Abs(g-want[i]) <= 2e-5*(1+math.Abs(g))) {
							t.Errorf("%v prior %d: slope %d of %d (rows %d, y %d, ζ %d, λ %d) is %v, differences %v", c, which, i, len(x), f.rowsAt(), f.othersAt(), f.zetaAt(), f.freeAt(), g, want[i])
						}
					}
				}
			}
		}
	}
}

// flatNoise is noise whose slope is the derivative within its reach: normal for Laplace's.
func flatNoise(obs *model.Observation) *model.Noise {
	normal := *obs
	if obs.Kind == release.Laplace {
		normal.Kind = release.Gaussian
	}
	return model.NewNoise(&normal)
}

// TestLevelsSBC is TestSBC of rows of a factor: parameters from the prior, counts that are
// multinomial, rows one by one, noise on sums by levels; noise hides small levels. Ranks are judged as
// TestSBC's are, case by case and over all cases alike: in the full form 81 data sets or more have in
// common a number of levels, a kind of prior, a latent n, a frame, Laplace's or normal noise, and 54 a ball or a kurtosis.
// So case by case a prior is left out where others have it. Its long form, of both:
//
//	go test ./nuts/exact -run TestLevelsSBC -sbc.long -v -timeout 2h
func TestLevelsSBC(t *testing.T) {
	trials := testsize.Of(5, dataSets/2)
	if *sbcLong {
		trials = 500
	}
	var common together
	t.Run("", func(t *testing.T) { levelsSBC(t, trials, &common) })
	common.uniform(t)
}

func levelsSBC(t *testing.T, trials int, common *together) {
	of := [][]int{{1}, {0, 1}, {0}, {0, 1}, {0}, {1}, {}, {0}, {0}, {1}} // the priors of each case, but for the long form
	for i, c := range []leveledRows{
		{model.Shape{P: 2, Intercept: true}, 2, 60, release.Laplace, 3, nil, false, 0, 0},
		{model.Shape{P: 3, Intercept: true}, 3, 60, release.Gaussian, 2, nil, false, 0, 0},
		{model.Shape{P: 6, Intercept: true}, 5, 200, release.Laplace, 4, nil, false, 0, 0},
		{model.Shape{P: 4, Intercept: true}, 5, 80, release.Laplace, 0.5, nil, false, 0, 0},
		{model.Shape{P: 3, Intercept: true}, 3, 60, release.Ball, 1, nil, true, 0, 0},
		{model.Shape{P: 3, Intercept: true}, 2, 60, release.Gaussian, 3, nil, true, 0, 0},
		{model.Shape{P: 5, Intercept: true}, 4, 100, release.Ball, 2, nil, true, 0, 0},
		{model.Shape{P: 2, Intercept: true}, 2, 0, release.Gaussian, 3, nil, false, 0, 60},
		{model.Shape{P: 3, Intercept: true}, 3, 0, release.Laplace, 3, nil, false, 0, 100},
		{model.Shape{P: 3, Intercept: true}, 3, 0, release.Ball, 1, nil, true, 0, 40},
	} {
		for which, prior := range []*model.Prior{modeltest.TamePrior(c.shape), model.Normal.BoxPrior(c.shape)} {
			if !*sbcLong && !slices.Contains(of[i], which) || testing.Short() && i%4 > 0 {
				continue
			}
			if c.prior = prior; i == 1 {
				c.prior.Kurtosis = model.Kurtosis{Least: 3, Most: 200, Rows: float64(c.n)}
			}
			t.Run(fmt.Sprintf("%v prior %d", c, which), func(t *testing.T) {
				t.Parallel()
				names, ranks := calibrateLevels(t, uint64(2*i+which), c, trials, nil)
				modeltest.Report(t, names, ranks)
				common.add(names, ranks, "all", string(c.kind), fmt.Sprintf("n latent: %t", c.most > 0), fmt.Sprintf("levels: %d", c.levels), fmt.Sprintf("prior: %d", which),
					fmt.Sprintf("in a frame: %t", c.framed), fmt.Sprintf("normal residuals: %t", c.prior.Kurtosis.Normal()))
			})
		}
	}
}

// calibrateLevels returns the ranks of each parameter over the trials, which the seed tells from those of
// other cases, and which end where a fault is found.
func calibrateLevels(t *testing.T, seed uint64, c leveledRows, trials int, fault func(*byLevel)) (names []string, ranks [][]float64) {
	t.Helper()
	ranks = modeltest.Calibrate(t, chainOf(4), trials, fault != nil, func(trial int) (mcmc.Kernel[nuts.Info], []float64, *rand.Rand) {
		rng := rand.New(rand.NewPCG(uint64(trial), 23+100*seed))
		c := c.counted(rng)
		truth, obs := c.draw(rng)
		names = obs.Names()
		f := newByLevel(alone(obs), c.prior)
		if fault != nil {
			fault(f)
		}
		k, err := newKernel(f, rng)
		must.Do(t, err)
		row := make([]float64, len(names))
		if at := truth.Write(row); at < len(row) {
			row[at] = float64(c.n)
		}
		return k, row, rng
	})
	return names, ranks
}

// TestLevelsSBCFindsFaults plants two: sums within a level that are taken for others, and a law of the
// covariates within levels with a power of |Ψ_n| too few.
func TestLevelsSBCFindsFaults(t *testing.T) {
	testsize.Planted(t)
	t.Parallel()
	s := model.Shape{P: 3, Intercept: true}
	c := leveledRows{s, 3, 60, release.Gaussian, 2, modeltest.TamePrior(s), false, 0, 0}
	faults := map[string]func(*byLevel){"power": func(f *byLevel) { f.law.more -= 8 }}
	if *sbcLong { // minutes: what is observed contradicts itself
		faults["sums"] = func(f *byLevel) { z := f.obs.Told.Z; z[5], z[6] = z[6], z[5] }
	}
	for name, fault := range faults {
		if _, ranks := calibrateLevels(t, 0, c, 40, fault); !modeltest.Unlike(ranks) {
			t.Errorf("not found: %s", name)
		}
	}
}
