package exact

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/nuts"
	"github.com/dpreg/dpreg/release"
)

// testFamily is one with its response drawn, between 0 and 1, by its definition.
type testFamily struct {
	family
	draw func(eta float64, rng *rand.Rand) float64
}

// testFamilies have counts that are seldom clamped, and often.
var testFamilies = func() map[model.Family]testFamily {
	all := map[model.Family]testFamily{}
	for _, of := range []model.Family{model.Binomial, model.Probit} {
		all[of] = testFamily{familyOf(of, 1), func(eta float64, rng *rand.Rand) float64 {
			if rng.Float64() < of.Mean(eta) {
				return 1
			}
			return 0
		}}
	}
	for name, most := range map[model.Family]float64{model.Poisson: 40, "poisson, clamped": 3} {
		all[name] = testFamily{familyOf(model.Poisson, most), func(eta float64, rng *rand.Rand) float64 {
			if eta > 2*math.Log(most)+5 {
				return 1
			}
			return min(distuv.Poisson{Lambda: math.Exp(eta), Src: rng}.Rand(), most) / most
		}}
	}
	return all
}()

// disperse draws the dispersion φ of counts from its prior.
func (of testFamily) disperse(x *model.Params, rng *rand.Rand) {
	x.Sigma2 = math.Exp(model.LogDispersion + model.LogDispersionSD*rng.NormFloat64())
}

// dispersed are rows of parameters: of counts g + √φ(y − g), which have the mean of y and φ times its variance at every x. Where
// no φ was drawn it is 1.
func (of testFamily) dispersed(x *model.Params) testFamily {
	if of.most == 1 || x.Sigma2 == 0 {
		return of
	}
	poisson, root := of.draw, math.Sqrt(x.Sigma2)
	of.draw = func(eta float64, rng *rand.Rand) float64 {
		g, _, _, _ := of.mean(eta, math.Exp(eta))
		return g + root*(poisson(eta, rng)-g)
	}
	return of
}

// write writes parameters as draws begin with, and the dispersion of counts.
func (of testFamily) write(dst []float64, x *model.Params) (at int) {
	if at = x.WriteLinked(dst); of.most > 1 {
		dst[at] = x.Sigma2
		at++
	}
	return at
}

// linkPrior is a stated prior on a link's scale, the last of several slopes t₃ of scale 1.
func linkPrior(s model.Shape) *model.Prior {
	prior, q := model.Normal.BoxPrior(s), s.Q()
	clear(prior.Theta.Precision)
	for k := range q {
		prior.Theta.Precision[k*q+k] = 1 / 4.0
	}
	if s.Intercept {
		prior.Theta.Precision[0] = 1
	}
	prior.Theta = &conjugate.NIG{Mean: make([]float64, q), Precision: prior.Theta.Precision, Shape: 1, Scale: 1}
	prior.Unscaled, prior.Linked = true, true
	if s.P > 1 {
		prior.Theta.Precision[q*q-1] = 1
		prior.Scales = append(prior.Scales, model.Scale{SD: math.Sqrt(2.0 / 3), Dof: 3, Coefficients: []int{q - 1}, Precision: []float64{1}})
	}
	return prior
}

// TestGeneralizedSBC is TestSBC of rows whose response is of a family. Of families, laws of the noise
// and shapes any two meet in some case (in short form, of one column, each family once, and
// each law of the noise with n known and latent). Ranks are judged case by case, and over all
// cases of a family (81 data sets, in which a link twice as steep is found; in those of one case it is
// not), of a law of the noise, and with n known or latent. The long form has all combinations:
//
//	go test ./nuts/exact -run TestGeneralizedSBC -sbc.long -v -timeout 2h
func TestGeneralizedSBC(t *testing.T) {
	trials, sizes := testsize.Of(6, dataSets/2), []int{300}
	if *sbcLong {
		trials, sizes = 500, []int{300, 3000}
	}
	var common together
	t.Run("", func(t *testing.T) {
		var at uint64
		for _, p := range []int{1, 2, 5} {
			if p > 2 && !*sbcLong {
				continue
			}
			for _, n := range sizes {
				for which, link := range slices.Sorted(maps.Keys(testFamilies)) {
					of := testFamilies[link]
					for k, kind := range []release.Kind{release.Laplace, release.Gaussian} {
						for l, latent := range []bool{false, true} {
							if !*sbcLong && (latent && p > 1 || (which+p+l+k)%2 > 0) {
								continue
							}
							if testing.Short() && (p > 1 || l != which/2) {
								continue
							}
							at++
							seed := at
							t.Run(fmt.Sprintf("p=%d n=%d %s %s n latent=%t", p, n, link, kind, latent), func(t *testing.T) {
								t.Parallel()
								names, ranks := calibrateGeneralized(t, seed, model.Shape{P: p, Intercept: true}, n, rowsOf(of, kind), of.family, latent, trials)
								modeltest.Report(t, names, ranks)
								common.add(names, ranks, string(link), string(kind), fmt.Sprintf("n latent: %t", latent))
							})
						}
					}
				}
			}
		}
	})
	common.uniform(t)
}

// calibrateGeneralized returns the ranks of each parameter over trials, of rows of one family
// and a chain of one, which the seed tells from other cases.
func calibrateGeneralized(t *testing.T, seed uint64, s model.Shape, n int, observe func(truth *model.Params, n int, rng *rand.Rand) *model.Observation, fitted family, latent bool, trials int) (names []string, ranks [][]float64) {
	t.Helper()
	prior, of := linkPrior(s), testFamily{family: fitted}
	name := model.Binomial
	if fitted.most > 1 {
		name = model.Poisson
	}
	names = model.Names(model.Layout{Shape: s, Covariates: true, Family: name, Latent: []bool{latent}}.Drawn())
	ranks = modeltest.Calibrate(t, chainOf(3), trials, false, func(trial int) (mcmc.Kernel[nuts.Info], []float64, *rand.Rand) {
		rng := rand.New(rand.NewPCG(uint64(trial), 17+100*seed))
		truth := model.NewParams(s)
		model.NewConditionals(s, prior, true).DrawPrior(truth, rng)
		of.disperse(truth, rng)
		rows, count := n, model.Count{}
		if latent { // within a tenth, told as well as Σy² of a 0/1 response tells it
			count = model.Count{Scale: 10, Least: math.Round(0.9 * float64(n)), Most: math.Round(1.1 * float64(n))}
			rows = int(count.Least) + rng.IntN(int(count.Most-count.Least)+1)
		}
		obs := observe(truth, rows, rng)
		if latent {
			count.Kind = obs.Kind
			count.Noisy = float64(rows) + math.Round(model.RandNoise(count.Kind, count.Scale, rng))
		}
		obs.N, obs.Count = float64(n), count
		k := must.Get(newKernel(newGeneralized(&model.Site{Observation: obs, Units: model.Identity(s.M())}, prior, fitted), rng))(t)
		row := make([]float64, len(names))
		if at := of.write(row, truth); latent {
			row[at] = float64(rows) + rng.Float64() - 0.5
		}
		return k, row, rng
	})
	return names, ranks
}

// rowsOf observes rows of a family in the box.
func rowsOf(of testFamily, kind release.Kind) func(truth *model.Params, n int, rng *rand.Rand) *model.Observation {
	return func(truth *model.Params, n int, rng *rand.Rand) *model.Observation {
		return observeRows(truth, model.Shape{P: len(truth.MuX), Intercept: true}, n, 10, of, kind, rng)
	}
}

// observeRows is what is observed of n rows with these parameters, with noise of a scale.
func observeRows(x *model.Params, s model.Shape, n int, scale float64, of testFamily, kind release.Kind, rng *rand.Rand) *model.Observation {
	sums := sumsOfRows(x, s, n, of, rng)
	obs := &model.Observation{Shape: s, N: float64(n), Z: sums, Kind: kind}
	for range sums {
		obs.Scale = append(obs.Scale, scale)
	}
	obs.AddNoise(obs.Z, 1, rng)
	return obs
}

// sumsOfRows are those of n rows with these parameters, in canonical order.
func sumsOfRows(x *model.Params, s model.Shape, n int, of testFamily, rng *rand.Rand) []float64 {
	p, m := s.P, s.M()
	of = of.dispersed(x)
	root := append([]float64(nil), x.Tau...)
	dense.Cholesky(root, p)
	sums, row, e := make([]float64, release.Length(m)), make([]float64, m), make([]float64, p)
	for range n {
		eta := 0.0
		if s.Intercept {
			eta = x.Theta[0]
		}
		for j := range p {
			e[j] = rng.NormFloat64()
			row[j] = x.MuX[j] + dot(root[j*p:j*p+j+1], e)
			eta += x.Theta[len(x.Theta)-p+j] * row[j]
		}
		row[p] = 2*of.draw(eta, rng) - 1
		for j, v := range row {
			sums[j] += v
			for k := j; k < m; k++ {
				sums[release.Index(m, j, k)] += v * row[k]
			}
		}
	}
	return sums
}

// TestGeneralizedSBCFindsFaults plants one.
func TestGeneralizedSBCFindsFaults(t *testing.T) {
	testsize.Planted(t)
	t.Parallel()
	logit := testFamilies[model.Binomial]
	steeper := of01(func(eta, exp float64) (g, slope, square, squareSlope float64) {
		g, slope, _, _ = logit.mean(2*eta, exp*exp)
		return g, 2 * slope, g, 2 * slope
	}, logit.steep)
	_, ranks := calibrateGeneralized(t, 0, model.Shape{P: 1, Intercept: true}, 300, rowsOf(logit, release.Gaussian), steeper, false, 60)
	if !modeltest.Unlike(ranks) {
		t.Error("a link twice as steep went unnoticed")
	}
}
