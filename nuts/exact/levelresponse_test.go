package exact

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/release"
)

// TestLevelResponseIsResponse compares the law of y by levels with that of y given columns of which the dummies are
// some: log densities, but for a constant, fits and the moments of draws, under priors of any precision.
func TestLevelResponseIsResponse(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	for _, levels := range []int{2, 3, 7} {
		for _, q := range []int{0, 1, 3} {
			s := model.Shape{P: levels - 1 + q, Intercept: true}
			for which, prior := range []*model.Prior{mixedPrior(t, s, rng), randomPrior(t, s, rng), model.DefaultPrior(s), modeltest.TamePrior(s), model.Normal.BoxPrior(s)} {
				c := leveledRows{s, levels, 80, release.Gaussian, 1e-9, modeltest.TamePrior(s), false, 0, 0}
				constant := math.NaN()
				for range 4 {
					_, obs := c.draw(rng) // exact, but for rounding
					f, r := newLevelResponse(s, levels-1, prior), newResponse(s, prior)
					all, within := newStatistics(s.M()), newStatistics(q+1)
					roots, sums := orthonormal(t, obs, within)
					if !all.take(obs.Z, obs.N) {
						continue // an empty level
					}
					all.spread()
					lambda := make([]float64, len(latentScales(prior)))
					for i := range lambda {
						lambda[i] = rng.NormFloat64()
					}
					ell := rng.NormFloat64() - 1
					got, ok := f.value(within, roots, sums, ell, lambda)
					want, also := r.value(all, ell, lambda)
					if !ok || !also {
						t.Fatal("not positive definite")
					}
					if math.IsNaN(constant) {
						constant = got - want
					}
					if math.Abs(got-want-constant) > 1e-6*(1+math.Abs(want)) {
						t.Errorf("levels=%d q=%d prior %d: %v and %v, which differ by %v and before by %v", levels, q, which, got, want, got-want, constant)
					}
					for j, b := range r.beta {
						v := 0.0
						if j < levels-1 {
							v = f.dummy[j] + f.mean[j]
						} else {
							v = f.slopes[j-levels+1]
						}
						if math.Abs(v-b) > 1e-6*(1+math.Abs(b)) {
							t.Errorf("levels=%d q=%d prior %d: slope %d is %v and %v", levels, q, which, j, v, b)
						}
					}
					sameDraws(t, func(theta []float64) {
						f.draw(theta, roots, sums, within, lambda, rng)
					}, func(theta []float64) { r.draw(theta, all, rng) }, s.Q())
				}
			}
		}
	}
}

// orthonormal are √n_l and F, and takes D, of what noise is on.
func orthonormal(t *testing.T, obs *model.Observation, within *statistics) (roots, sums []float64) {
	t.Helper()
	d, n := within.m, obs.N
	within.n = n
	counts := obs.Told.Counts
	if len(counts) == 1 {
		counts = []float64{n - counts[0], counts[0]}
	}
	products := obs.Told.Z[len(obs.Told.Z)-release.Length(d)+d:]
	for i := range d {
		for j := range i + 1 {
			within.d[i*d+j] = products[release.Index(d, j, i)-d] / n
		}
	}
	for l, c := range counts {
		root := math.Sqrt(max(math.Round(c), emptyLevel))
		roots = append(roots, root)
		for i, v := range obs.Told.Sums[l] {
			sums = append(sums, v/root)
			for j := range i + 1 {
				within.d[i*d+j] -= sums[len(sums)-1] * sums[len(sums)-1-i+j] / n
			}
		}
	}
	if !dense.Cholesky(within.d, d) {
		t.Fatal("singular within levels")
	}
	within.spread()
	return roots, sums
}

// sameDraws compares means and variances of draws by two samplers.
func sameDraws(t *testing.T, a, b func(theta []float64), q int) {
	t.Helper()
	const draws = 2000
	moments := func(draw func([]float64)) (mean, variance []float64) {
		theta := make([]float64, q)
		mean, variance = make([]float64, q), make([]float64, q)
		for range draws {
			draw(theta)
			for j, v := range theta {
				mean[j] += v / draws
				variance[j] += v * v / draws
			}
		}
		for j, v := range mean {
			variance[j] -= v * v
		}
		return mean, variance
	}
	am, av := moments(a)
	bm, bv := moments(b)
	for j := range q {
		// 5 standard deviations of a difference of means, and of log variances.
		if math.Abs(am[j]-bm[j]) > 5*math.Sqrt((av[j]+bv[j])/draws) || math.Abs(math.Log(av[j]/bv[j])) > 5*math.Sqrt(4./draws) {
			t.Errorf("θ_%d: %v ± %v and %v ± %v", j, am[j], math.Sqrt(av[j]), bm[j], math.Sqrt(bv[j]))
		}
	}
}
