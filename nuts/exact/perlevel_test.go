package exact

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/internal/variate"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// crossedLevels are products per level of x and w by the levels of f, of n rows in all, or where n is latent of up to most in
// each level.
type crossedLevels struct {
	levels, n, most int
	kind            release.Kind
	scale           float64
}

// columns are those of y ~ f * x + w.
func (c crossedLevels) columns(t *testing.T) [][]release.InLevel {
	t.Helper()
	f := schema.Factor{Name: "f"}
	d := &schema.Design{Response: schema.Column{Name: "y", Lower: -1, Upper: 1}, Intercept: true}
	for l := range c.levels {
		f.Levels = append(f.Levels, string(rune('a'+l)))
	}
	for _, level := range f.Levels[1:] {
		d.Covariates = append(d.Covariates, schema.Column{Name: "f" + level, Upper: 1, Factor: "f", Level: level})
	}
	d.Factors = []schema.Factor{f}
	d.Covariates = append(d.Covariates, schema.Column{Name: "x", Lower: -1, Upper: 3}, schema.Column{Name: "w", Lower: -1, Upper: 1})
	d, err := d.Crossed("f")
	must.Do(t, err)
	if d, err = d.Select("y ~ f * x + w"); err != nil {
		t.Fatal(err)
	}
	_, columns, err := release.WithinLevels(d, "f", c.levels-1)
	must.Do(t, err)
	return columns
}

// draw draws parameters, in the order of the problem's names, and the problem: rows' sums by the normal laws of means and of
// Bartlett's factor, which need no whole number of rows.
func (c crossedLevels) draw(t *testing.T, prior func(model.Shape) *model.Prior, rng *rand.Rand) (truth []float64, problem *model.Joint) {
	t.Helper()
	columns := c.columns(t)
	shape, inner := model.Shape{P: len(columns[0]) - 1, Intercept: true}, model.Shape{P: 2, Intercept: true}
	all := prior(shape)
	hub, own := model.NewParams(shape), model.NewParams(inner)
	model.NewConditionals(shape, all, true).DrawPrior(hub, rng)
	part := all.Within([]int{c.levels - 1, c.levels}) // of x and w
	part.Theta = prior(inner).Theta
	const m = 3
	least := float64(m + 1)
	told := &model.Told{Kind: c.kind, Dummies: c.levels - 1}
	counts := c.counts(least, rng)
	n, square := 0.0, 0.0
	for l, rows := range counts {
		model.NewConditionals(inner, part, true).DrawPrior(own, rng)
		ratio := math.Exp(levelSpread * rng.NormFloat64())
		line := &custodian{Site: &model.Site{Columns: columns[l]}, theta: make([]float64, 3), hub: &model.Hub{Params: hub}}
		line.takeWithin(0)
		sigma := ratio * math.Sqrt(hub.Sigma2)
		o := &model.Observation{Shape: inner, N: rows, Kind: c.kind, Z: sums(own, line.theta, sigma, rows, rng)}
		for i := range o.Z {
			o.Z[i] += model.RandNoise(c.kind, c.scale, rng)
			o.Scale = append(o.Scale, c.scale)
		}
		o.Count = model.Count{Kind: c.kind, Least: least, Most: float64(c.n)}
		if c.n == 0 {
			o.Count.Most = float64(c.most)
		}
		if l > 0 || c.levels > 2 || c.n == 0 {
			o.Count.Scale, o.Count.Noisy = c.scale, rows+model.RandNoise(c.kind, c.scale, rng)
			o.N = max(least, o.Count.Noisy)
		} else {
			o.N = max(least, float64(c.n)-counts[1])
		}
		told.Levels = append(told.Levels, &model.Site{Observation: o, Units: model.Identity(inner.M()), Upper: 1, Columns: columns[l]})
		n += rows
		square += rows * ratio * ratio
	}
	wide := &model.Observation{Shape: shape, N: n, Kind: c.kind, Told: told, Z: make([]float64, shape.Statistics()), Scale: make([]float64, shape.Statistics())}
	for i := range wide.Scale {
		wide.Scale[i] = c.scale
	}
	truth = append(truth, hub.Theta...)
	truth = append(truth, hub.Sigma2*square/n)
	if c.n == 0 {
		wide.Count.Scale = c.scale
		truth = append(truth, n)
	}
	return truth, &model.Joint{Shape: shape, Prior: all, Sites: []*model.Site{{Observation: wide, Units: model.Identity(shape.M()), Upper: 1}}}
}

// counts are uniform over all that add up to n, or each over what it may be.
func (c crossedLevels) counts(least float64, rng *rand.Rand) (counts []float64) {
	left := float64(c.n) - float64(c.levels)*(least-0.5)
	sum := 0.0
	for range c.levels {
		counts = append(counts, rng.ExpFloat64())
		sum += counts[len(counts)-1]
	}
	for l := range counts {
		if counts[l] = least - 0.5 + counts[l]/sum*left; c.n == 0 {
			counts[l] = least - 0.5 + rng.Float64()*(float64(c.most)+1-least)
		}
	}
	return counts
}

// sums are those of rows of two covariates and y.
func sums(x *model.Params, theta []float64, sigma, n float64, rng *rand.Rand) []float64 {
	const m = 3
	root := make([]float64, 4)
	copy(root, x.Tau)
	dense.Cholesky(root, 2)
	l := []float64{root[0], 0, 0, root[2], root[3], 0, theta[1]*root[0] + theta[2]*root[2], theta[2] * root[3], sigma}
	mean := []float64{x.MuX[0], x.MuX[1], theta[0] + theta[1]*x.MuX[0] + theta[2]*x.MuX[1]}
	a, d := make([]float64, m*m), make([]float64, m*m)
	for i := range m {
		for j := range i {
			a[i*m+j] = rng.NormFloat64()
		}
		a[i*m+i] = math.Sqrt(variate.Chi2(n-1-float64(i), rng))
	}
	e := []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
	for i := range m {
		for j := range i + 1 {
			mean[i] += l[i*m+j] * e[j] / math.Sqrt(n)
			for k := j; k <= i; k++ {
				d[i*m+j] += l[i*m+k] * a[k*m+j]
			}
		}
	}
	s := make([]float64, release.Length(m))
	for i := range m {
		s[i] = n * mean[i]
		for j := i; j < m; j++ {
			s[release.Index(m, i, j)] = n*mean[i]*mean[j] + dot(d[i*m:i*m+m], d[j*m:j*m+m])
		}
	}
	return s
}

func box(s model.Shape) *model.Prior { return model.Normal.BoxPrior(s) }

// TestPerLevelGradient compares the gradient with differences.
func TestPerLevelGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 1))
	for _, c := range []crossedLevels{{2, 60, 0, release.Gaussian, 2}, {4, 90, 0, release.Gaussian, 2}, {3, 0, 40, release.Gaussian, 2}} {
		for _, prior := range []func(model.Shape) *model.Prior{box, modeltest.TamePrior} {
			_, problem := c.draw(t, prior, rng)
			for _, l := range problem.Sites[0].Told.Levels { // whose slope is bent from 4 sds on
				l.Count.Scale *= 10
			}
			f := newJoint(problem)
			y := make([]float64, f.Dim())
			for !f.start(problem, y, rng) {
			}
			for i := range y {
				y[i] += 0.3 * rng.NormFloat64()
			}
			f.Reach(y)
			f.checkSlopes(t, fmt.Sprint(c), y, 1e-4)
		}
	}
}

// TestPerLevelSBC is simulation-based calibration of products per level: of two levels and a public n, of three, and of a
// latent one. The long form takes half an hour of processor time a case:
//
//	go test ./nuts/exact -run TestPerLevelSBC -sbc.long -v -timeout 8h
func TestPerLevelSBC(t *testing.T) {
	trials := testsize.Of(4, 12)
	if *sbcLong {
		trials = 500
	}
	for i, c := range []crossedLevels{{3, 120, 0, release.Laplace, 3}, {2, 60, 0, release.Gaussian, 3}, {2, 0, 60, release.Laplace, 3}} {
		if testing.Short() && i > 0 {
			continue
		}
		t.Run(fmt.Sprintf("levels=%d n=%d", c.levels, c.n), func(t *testing.T) {
			t.Parallel()
			names, ranks := jointRanks(t, 63, leveledChain(), trials, func(rng *rand.Rand) ([]float64, *model.Joint) { return c.draw(t, box, rng) }, nil)
			modeltest.Report(t, names, ranks)
		})
	}
}

// TestPerLevelSBCFindsFaults: sums of a level that are taken for those of another are found.
func TestPerLevelSBCFindsFaults(t *testing.T) {
	testsize.Planted(t)
	t.Parallel()
	c := crossedLevels{2, 60, 0, release.Gaussian, 3}
	_, ranks := jointRanks(t, 63, leveledChain(), 60, func(rng *rand.Rand) ([]float64, *model.Joint) { return c.draw(t, box, rng) }, func(p *model.Joint) {
		levels := p.Sites[0].Told.Levels
		levels[0].Columns, levels[1].Columns = levels[1].Columns, levels[0].Columns
	})
	if !modeltest.Unlike(ranks) {
		t.Error("levels in another order went unnoticed")
	}
}
