package exact

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/model"
)

// TestClampedVariance: min(N, K)/K has at least the variance of a binomial count's share of the same mean.
func TestClampedVariance(t *testing.T) {
	for _, most := range []float64{2, 3, 10, 140} {
		moments := model.Poisson.Moments(most)
		for eta := -8.0; eta < math.Log(3*most); eta += 0.05 {
			g, _, square, _ := moments(eta, math.Exp(eta))
			if v, least := square-g*g, g*(1-g)/most; v < least-1e-12 {
				t.Errorf("counts to %g at η = %g: variance %g, at least %g expected", most, eta, v, least)
			}
		}
	}
}

// TestLeastSquareWhateverX takes rows' own F, h and Σu²: of normal, 0/1 and exponential x, with slopes up to where half the
// counts are 0 or the bound, counts of Poisson's variance and more, S must lie below Σu². Of less, binomial counts of
// half as many trials, it must not.
func TestLeastSquareWhateverX(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	const n, most = 4000, 20.0
	laws := map[string]func() float64{"normal": rng.NormFloat64, "0/1": func() float64 { return float64(2*rng.IntN(2) - 1) }, "exponential": func() float64 { return rng.ExpFloat64() - 1 }}
	excess := func(x func() float64, slope float64, count func(mu float64) float64) float64 {
		var sumX, sumXX, sumY, sumXY, squares float64
		for range n {
			v := x()
			y := min(count(math.Exp(0.5+slope*v)), most) / most
			sumX, sumXX, sumY, sumXY, squares = sumX+v, sumXX+v*v, sumY+y, sumXY+v*y, squares+(2*y-1)*(2*y-1)
		}
		i := newIndex(ofCounts(most), n, 1, 1)
		i.least = &leastSquare{most: most, s: 1}
		i.at[0].root, i.at[0].sum = math.Sqrt(n), sumY/math.Sqrt(n)
		i.h[0] = (sumXY - sumX*sumY/n) / n / math.Sqrt(sumXX/n-sumX*sumX/n/n)
		i.least.value(i)
		return squares - n*i.least.per
	}
	poisson := func(mu float64) float64 { return distuv.Poisson{Lambda: mu, Src: rng}.Rand() }
	for name, x := range laws {
		for _, slope := range []float64{0, 0.3, 1, 3} {
			for _, count := range []func(mu float64) float64{poisson, func(mu float64) float64 { return poisson(mu * rng.ExpFloat64()) }} {
				if v := excess(x, slope, count); v < -0.002*n {
					t.Errorf("%s x, slope %g: Σu² %.1f below the least", name, slope, -v)
				}
			}
		}
	}
	if v := excess(laws["normal"], 0, func(float64) float64 { return 6 + distuv.Binomial{N: 8, P: 0.5, Src: rng}.Rand() }); v > 0 {
		t.Errorf("counts of half a binomial's variance: Σu² %.1f above the least", v)
	}
}

// TestLeastSquareDensity holds log F against quadrature over e, and its derivative against differences.
func TestLeastSquareDensity(t *testing.T) {
	for _, l := range []leastSquare{{z: 3, s: 2}, {z: 3, s: 2, laplace: true}} {
		law := func(r float64) float64 { return distuv.Normal{Sigma: l.s}.Prob(r) }
		if l.laplace {
			law = func(r float64) float64 { return distuv.Laplace{Scale: l.s / math.Sqrt2}.Prob(r) }
		}
		for _, sum := range []float64{-10, -2, 2.9, 3.5, 8, 20} {
			kink := max(0, l.z-sum)
			want := math.Log(quad.Fixed(func(e float64) float64 { return law(l.z - sum - e) }, 0, kink, 200, nil, 0) +
				quad.Fixed(func(e float64) float64 { return law(l.z - sum - e) }, kink, kink+40*l.s, 400, nil, 0))
			if got, _ := l.at(sum); math.Abs(got-want) > 1e-4*(1+math.Abs(want)) {
				t.Errorf("%+v at S = %g: log F %g, by quadrature %g", l, sum, got, want)
			}
		}
		for _, sum := range []float64{-20, 2, 4, 40, 70, 90} {
			const step = 1e-5
			above, _ := l.at(sum + step)
			below, _ := l.at(sum - step)
			if _, got := l.at(sum); math.Abs(got-(above-below)/(2*step)) > 1e-5*(1+math.Abs(got)) {
				t.Errorf("%+v at S = %g: slope %g, by differences %g", l, sum, got, (above-below)/(2*step))
			}
		}
	}
}

// TestCountsAreTold: the density of each kind of release has its noisy Σy² for counts, and none for what is 0 or 1.
func TestCountsAreTold(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	same := func(name model.Family, got *leastSquare, z []float64) {
		t.Helper()
		if told := name == model.Poisson; (got != nil) != told || told && got.z != z[len(z)-1] {
			t.Errorf("%s: %+v, of %v", name, got, z)
		}
	}
	for _, name := range []model.Family{model.Binomial, model.Poisson} {
		c := linkedCustodians(name, 1, false, false)
		problem, _ := c.draw(linkPrior(c.shape), rng)
		for j, s := range newJoint(problem).spokes {
			same(name, s.(*spoke).family.least, problem.Sites[j].Z)
		}
		same(name, newGeneralized(problem.Sites[0], problem.Prior, familyOf(name, problem.Sites[0].Upper)).linked.least, problem.Sites[0].Z)
		_, problem = leveledFamilies(name, 2, 1, 1, linkPrior(model.Shape{P: 2, Intercept: true})).draw(rng)
		same(name, newJoint(problem).spokes[0].(*levelSpoke).family.least, problem.Sites[0].Told.Z)
	}
}
