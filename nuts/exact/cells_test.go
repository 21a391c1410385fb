package exact

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// crossedCoding is that of factors of two and three levels, whose effects add.
var crossedCoding = [][]float64{{-1, -1, -1}, {1, -1, -1}, {-1, 1, -1}, {1, 1, -1}, {-1, -1, 1}, {1, -1, 1}}

// crossedRows are rows of two factors and of q covariates, of a response of a family, with sums by the cells.
type crossedRows struct {
	of    testFamily
	name  model.Family
	shape model.Shape
	prior *model.Prior
	cells leveledRows // as if the factors were one
}

func newCrossedRows(name model.Family, q int, kind release.Kind) *crossedRows {
	levels := len(crossedCoding)
	c := &crossedRows{of: testFamilies[name], name: name, shape: model.Shape{P: len(crossedCoding[0]) + q, Intercept: true, Coding: crossedCoding}}
	one, prior := model.Shape{P: levels - 1 + q, Intercept: true}, model.Normal.BoxPrior
	if name != model.Normal {
		prior = linkPrior
	}
	c.prior, c.cells = prior(c.shape), leveledRows{one, levels, 400, kind, 6, prior(one), false, 0, 0}
	return c
}

// draw returns parameters in the order of the problem's names, and the problem.
func (c *crossedRows) draw(rng *rand.Rand) (truth []float64, problem *model.Joint) {
	k, levels, cells := len(crossedCoding[0]), len(crossedCoding), c.cells.counted(rng)
	q := c.shape.P - k
	own, one := model.NewParams(c.shape), model.NewParams(c.cells.shape)
	model.NewConditionals(c.shape, c.prior, true).DrawPrior(own, rng)
	c.prior.Kurtosis.Apply(own, rng)
	eta := make([]float64, levels)
	for l, row := range crossedCoding {
		eta[l] = own.Theta[0] + dot(row, own.Theta[1:1+k])
	}
	one.Theta[0] = eta[0] // η_l = θ_0 − Σθ_c + 2θ_l
	for l, v := range eta[1:] {
		one.Theta[1+l] = 0.5 * (v - eta[0])
		one.Theta[0] += one.Theta[1+l]
	}
	copy(one.Theta[levels:], own.Theta[1+k:])
	one.Sigma2, one.LogW = own.Sigma2, own.LogW
	response := func(eta float64) float64 { return eta + math.Sqrt(own.Sigma2)*rng.NormFloat64() }
	units := cells.site(nil).Units
	if c.name != model.Normal {
		c.of.disperse(own, rng)
		of := c.of.dispersed(own)
		response, units = func(eta float64) float64 { return 2*of.draw(eta, rng) - 1 }, cells.unitsOfX()
	}
	obs := cells.drawSums(one, units, response, rng)
	obs.Shape, obs.Told.Dummies = c.shape, k
	r := release.Release{N: int64(obs.N), Schema: schema.Design{Covariates: make([]schema.Column, c.shape.P), Intercept: true}}
	r.TakeLevels(&release.Levels{Sums: make([][]float64, levels), Coding: crossedCoding}, obs.Told.Z)
	obs.Z = r.Statistics.Vector()
	obs.Scale = obs.Scale[:len(obs.Z)]
	within, means := make([]float64, q*q), make([][]float64, levels)
	shares, p := own.Cells[:levels], levels-1+q
	shares[0] = 1
	for l := range levels - 1 {
		shares[1+l] = 0.5 * (1 + one.MuX[l])
		shares[0] -= shares[1+l]
	}
	for l := levels - 1; l >= 0; l-- {
		means[l] = own.Cells[levels+l*q : levels+(l+1)*q]
		for j := range q {
			if l > 0 {
				means[l][j] = one.MuX[levels-1+j] + one.Tau[(l-1)*p+levels-1+j]/(2*shares[l])
				continue
			}
			means[0][j] = one.MuX[levels-1+j] / shares[0]
			for h, mean := range means[1:] {
				means[0][j] -= shares[1+h] / shares[0] * mean[j]
			}
		}
	}
	for i := range q {
		for j := range q {
			v := one.Tau[(levels-1+i)*p+levels-1+j]
			for l, share := range shares {
				v -= share * (means[l][i] - one.MuX[levels-1+i]) * (means[l][j] - one.MuX[levels-1+j])
			}
			within[i*q+j] = v
		}
	}
	columns := make([][]float64, levels)
	for l := range columns {
		columns[l] = append(append(columns[l], crossedCoding[l]...), means[l]...)
	}
	overallOf(own, shares, columns, within, k, q)
	problem = &model.Joint{Shape: c.shape, Prior: c.prior, Shared: true, Family: c.name, Sites: []*model.Site{{Observation: obs, Units: model.Identity(c.shape.M()), Upper: c.of.most}}}
	truth = make([]float64, len(problem.Names()))
	if c.name == model.Normal {
		own.Write(truth)
	} else {
		c.of.write(truth, own)
	}
	if cells.most > 0 {
		truth[len(truth)-1] = float64(cells.n)
	}
	return truth, problem
}

// overallOf writes mean and covariance of columns, given those of each level and the covariance of the last q within levels.
func overallOf(x *model.Params, share []float64, columns [][]float64, within []float64, k, q int) {
	p := k + q
	for j := range p {
		x.MuX[j] = 0
		for l, s := range share {
			x.MuX[j] += s * columns[l][j]
		}
	}
	for i := range p {
		for j := range p {
			v := 0.0
			if i >= k && j >= k {
				v = within[(i-k)*q+j-k]
			}
			for l, s := range share {
				v += s * (columns[l][i] - x.MuX[i]) * (columns[l][j] - x.MuX[j])
			}
			x.Tau[i*p+j] = v
		}
	}
}

// TestCrossedGradient compares the gradient with differences of the smooth density, a cell being empty.
func TestCrossedGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 1))
	for _, name := range []model.Family{model.Normal, model.Binomial, model.Poisson} {
		for _, q := range []int{0, 2} {
			c := newCrossedRows(name, q, release.Laplace)
			_, problem := c.draw(rng)
			f := newJoint(problem)
			y := make([]float64, f.Dim())
			for tries := 0; !f.start(problem, y, rng); tries++ {
				if tries == mostStarts {
					t.Fatal("no start")
				}
			}
			checkLevelsGradient(t, string(name), f, y, 0.1, 1e-5, rng)
		}
	}
}

// TestCrossedSBC is simulation-based calibration of sums by the cells of two factors, whose effects add. In the long form,
// of 500 data sets a case:
//
//	go test ./nuts/exact -run TestCrossedSBC -sbc.long -v -timeout 8h
func TestCrossedSBC(t *testing.T) {
	trials := testsize.Of(6, dataSets/4+1)
	if *sbcLong {
		trials = 500
	}
	latent := newCrossedRows(model.Probit, 0, release.Gaussian)
	latent.cells.most = 600
	var common together
	t.Run("", func(t *testing.T) {
		for i, c := range []*crossedRows{newCrossedRows(model.Binomial, 0, release.Laplace), newCrossedRows(model.Normal, 1, release.Gaussian), latent, newCrossedRows(model.Poisson, 0, release.Laplace)} {
			if i%2 == 1 && testing.Short() {
				continue
			}
			t.Run(string(c.name), func(t *testing.T) {
				t.Parallel()
				names, ranks := jointRanks(t, uint64(62+i), leveledChain(), trials, c.draw, nil)
				modeltest.Report(t, names, ranks)
				common.add(names, ranks, "all")
			})
		}
	})
	common.uniform(t)
}

// TestCrossedSBCFindsFaults: cells in another order are found.
func TestCrossedSBCFindsFaults(t *testing.T) {
	testsize.Planted(t)
	c := newCrossedRows(model.Binomial, 0, release.Laplace)
	_, ranks := jointRanks(t, 64, leveledChain(), 60, c.draw, func(p *model.Joint) {
		of := crossedCoding
		coding := [][]float64{of[1], of[0], of[2], of[3], of[4], of[5]}
		p.Shape.Coding, p.Sites[0].Shape.Coding = coding, coding
	})
	if !modeltest.Unlike(ranks) {
		t.Error("cells in another order went unnoticed")
	}
}

// TestCrossedIsOneFactor: of a coding by which each level but the first has a column the density is that of one factor.
func TestCrossedIsOneFactor(t *testing.T) {
	rng := rand.New(rand.NewPCG(65, 1))
	c := leveledFamilies(model.Binomial, 3, 1, 1, modeltest.TamePrior(model.Shape{P: 3, Intercept: true}))
	_, problem := c.draw(rng)
	f := newJoint(problem)
	y := make([]float64, f.Dim())
	for !f.start(problem, y, rng) {
	}
	first := f.spokes[0].(*levelSpoke)
	grad, other := make([]float64, len(y)), make([]float64, len(y))
	want, err := f.LogDensity(grad, y)
	if err != nil {
		t.Fatal(err)
	}
	first.obs.Shape.Coding = [][]float64{{-1, -1}, {1, -1}, {-1, 1}}
	got, err := f.LogDensity(other, y)
	if err != nil || got != want {
		t.Fatalf("%v, %v, and of one factor %v", got, err, want)
	}
	for i, g := range grad {
		if g != other[i] {
			t.Errorf("slope %d: %v, and of one factor %v", i, other[i], g)
		}
	}
}

// TestEmptyCells: of noise so wide that sums tell nothing, all counts of the same n are as probable, also those by which cells
// are empty: the density in y's scatter, all else held, has the same integral.
func TestEmptyCells(t *testing.T) {
	rng := rand.New(rand.NewPCG(66, 1))
	_, problem := newCrossedRows(model.Normal, 0, release.Gaussian).draw(rng)
	told := problem.Sites[0].Told
	for i := range told.Scale {
		told.Scale[i] = 1e9
	}
	f := newJoint(problem)
	s := f.spokes[0].(*levelSpoke)
	f.hub.Constrain(make([]float64, f.at[0]))
	s.takeOwn(nil)
	var all []float64
	for _, counts := range [][]float64{{10, 10, 10, 10, 10, 10}, {0, 20, 5, 15, 10, 10}, {0, 0, 0, 0, 59, 1}} {
		s.take(counts)
		x, sum := make([]float64, s.dim()), 0.0
		for at := -30.0; at < 30; at += 0.01 {
			x[len(x)-1] = at
			v, ok := s.value(x)
			if !ok {
				t.Fatal("no density")
			}
			sum += math.Exp(v)
		}
		all = append(all, math.Log(sum))
	}
	if !(math.Abs(all[1]-all[0]) < 1e-6 && math.Abs(all[2]-all[0]) < 1e-6) {
		t.Errorf("logs of the integral: %v", all)
	}
}
