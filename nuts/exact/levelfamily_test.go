package exact

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/release"
)

// leveledFamily are custodians, one or more, of rows of a factor whose response is of a family.
type leveledFamily struct {
	of    testFamily
	name  model.Family
	sites []leveledRows
}

// leveledFamilies are of so many levels and q covariates, unequal in rows and noise, the second in units of its own.
func leveledFamilies(name model.Family, levels, q, custodians int, prior *model.Prior) leveledFamily {
	c := leveledFamily{of: testFamilies[name], name: name}
	if c.of.most > 1 {
		c.name = model.Poisson
	}
	s := model.Shape{P: levels - 1 + q, Intercept: true}
	c.sites = []leveledRows{
		{s, levels, 300, release.Laplace, 6, prior, false, 0, 0},
		{s, levels, 150, release.Gaussian, 4, prior, false, 0.6, 0},
		{s, levels, 600, release.Gaussian, 15, prior, false, 0.8, 0},
	}[:custodians]
	return c
}

// unitsOfX are those of a custodian's box, in which a response of a family is as in common ones.
func (c leveledRows) unitsOfX() *model.Units {
	m := c.shape.M()
	a, b := make([]float64, m*m), make([]float64, m)
	for j := range m {
		if a[j*m+j] = 1; j >= c.levels-1 && j < m-1 && c.units > 0 {
			a[j*m+j], b[j] = 1/c.units, 0.25*(1-c.units)/c.units
		}
	}
	return model.NewUnits(a, b)
}

// draw returns parameters in the order of the problem's names, and the problem.
func (c leveledFamily) draw(rng *rand.Rand) (truth []float64, problem *model.Joint) {
	first := c.sites[0]
	problem = &model.Joint{Shape: first.shape, Prior: first.prior, Shared: len(c.sites) == 1, Family: c.name}
	own := model.NewParams(first.shape)
	model.NewConditionals(first.shape, first.prior, true).DrawPrior(own, rng)
	var dispersions []float64
	for _, site := range c.sites {
		c.of.disperse(own, rng)
		dispersions = append(dispersions, own.Sigma2)
		units, of := site.unitsOfX(), c.of.dispersed(own)
		obs := site.drawSums(own, units, func(eta float64) float64 { return 2*of.draw(eta, rng) - 1 }, rng)
		problem.Sites = append(problem.Sites, &model.Site{Observation: obs, Units: units, Upper: c.of.most})
	}
	all := make([]float64, len(first.shape.Names()))
	all = all[:own.WriteLinked(all)]
	if !problem.Shared {
		all = all[:first.shape.Q()]
	}
	if c.of.most > 1 {
		all = append(all, dispersions...)
	}
	return all, problem
}

// TestLevelFamilyGradient compares the gradient with differences of the smooth density, a level of one custodian empty.
func TestLevelFamilyGradient(t *testing.T) {
	for of, name := range slices.Sorted(maps.Keys(testFamilies)) {
		for _, custodians := range []int{1, 3} {
			for _, size := range [][2]int{{2, 0}, {2, 1}, {4, 2}} {
				levels, q := size[0], size[1]
				rng := rand.New(rand.NewPCG(58, uint64(100*of+10*custodians+q)))
				c := leveledFamilies(name, levels, q, custodians, linkPrior(model.Shape{P: levels - 1 + q, Intercept: true}))
				truth, problem := c.draw(rng)
				for floats.Norm(truth[:levels+q], math.Inf(1)) > 1.2 { // where y is alike in all rows differences are of digits
					truth, problem = c.draw(rng)
				}
				problem.Partial, problem.SpreadSD = custodians > 1 && levels > 2, slices.Repeat([]float64{0.5}, levels+q)
				f := newJoint(problem)
				y := make([]float64, f.Dim())
				for tries := 0; !f.start(problem, y, rng); tries++ {
					if tries == mostStarts {
						t.Fatal("no start")
					}
				}
				checkLevelsGradient(t, fmt.Sprintf("%s custodians=%d levels=%d q=%d", name, custodians, levels, q), f, y, 0.1, 1e-4, rng)
			}
		}
	}
}

// TestLevelFamilySBC is TestGeneralizedSBC of sums by the levels of a factor, of one custodian and of two. Noise hides
// small levels. The short form has one family of one custodian. In the long form all families have both:
//
//	go test ./nuts/exact -run TestLevelFamilySBC -sbc.long -v -timeout 8h
func TestLevelFamilySBC(t *testing.T) {
	trials := testsize.Of(6, dataSets/2)
	if *sbcLong {
		trials = 500
	}
	var common together
	t.Run("", func(t *testing.T) {
		for which, name := range slices.Sorted(maps.Keys(testFamilies)) {
			for i, custodians := range []int{1, 2} {
				if (which+i)%2 > 0 && !*sbcLong || testing.Short() && which > 0 {
					continue
				}
				trials := trials
				if custodians > 1 && !*sbcLong { // a data set takes a third of a second
					trials = 10
				}
				t.Run(fmt.Sprintf("%s custodians=%d", name, custodians), func(t *testing.T) {
					t.Parallel()
					levels := 3 + which%2
					s := model.Shape{P: levels, Intercept: true}
					c := leveledFamilies(name, levels, 1, custodians, linkPrior(s))
					names, ranks := jointRanks(t, uint64(55+100*which+50*i), leveledChain(), trials, c.draw, nil)
					modeltest.Report(t, names, ranks)
					common.add(names, ranks, "all", fmt.Sprintf("custodians: %d", custodians))
				})
			}
		}
	})
	common.uniform(t)
}

// TestLevelFamilySBCFindsFaults: sums of a response within a level that are taken for others' are found.
func TestLevelFamilySBCFindsFaults(t *testing.T) {
	testsize.Planted(t)
	c := leveledFamilies(model.Binomial, 3, 1, 1, linkPrior(model.Shape{P: 3, Intercept: true}))
	_, ranks := jointRanks(t, 57, leveledChain(), 60, c.draw, func(p *model.Joint) {
		z := p.Sites[0].Told.Z[3:]
		z[1], z[3] = z[3], z[1]
	})
	if !modeltest.Unlike(ranks) {
		t.Error("sums of y in another order went unnoticed")
	}
}
