package gibbs

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
)

// momentSensitivity is the change in L1 of the monomials of degree 1 … 4 of p
// covariates from x = (1, …, 1) to x = (t, …, t), largest over t:
// Σ_d C(p+d−1, d)(1 − t^d). It stands for the sensitivity that a release has.
func momentSensitivity(p int) float64 {
	worst := 0.0
	for t := -1.0; t <= 1; t += 1e-4 {
		sum, count := 0.0, 1.0
		for d := 1; d <= 4; d++ {
			count *= float64(p+d-1) / float64(d)
			sum += count * (1 - math.Pow(t, float64(d)))
		}
		worst = max(worst, sum)
	}
	return worst
}

// narrow is a conjugate prior under which rows lie mostly in the box: E σ² = 0.075, sds of 0.7 of
// the intercept, of 0.9 of all slopes together, and of 0.35 of each covariate.
func narrow(s model.Shape) *model.Prior {
	p, q := s.P, s.Q()
	prior := &model.Prior{
		Theta:      &conjugate.NIG{Mean: make([]float64, q), Precision: make([]float64, q*q), Shape: 3, Scale: 0.15},
		Covariates: &conjugate.NIW{Mean: make([]float64, p), Kappa: 0.5, Scale: make([]float64, p*p), Dof: float64(p + 4)},
	}
	for k := range q {
		prior.Theta.Precision[k*q+k] = 0.075 * float64(p) / 0.81
	}
	prior.Theta.Precision[0] = 0.075 / 0.49
	for j := range p {
		prior.Covariates.Scale[j*p+j] = 0.375
	}
	return prior
}

// releasedMoments draws parameters from the narrow prior and the statistics of
// n rows with x from a law, and releases statistics and moments with half of ε
// each, and again the statistics alone with the whole.
func releasedMoments(t *testing.T, p int, n, epsilon float64, l model.XLaw, rng *rand.Rand) (half, whole *model.Observation, truth *model.Params) {
	t.Helper()
	shape := model.Shape{P: p, Intercept: true}
	m := float64(p + 1)
	b := m * (m + 2) * (m + 2) / (2 * (m + 1)) / (epsilon / 2)
	law := fixedLawOf(t, shape, l)
	prior := narrow(shape)
	c := newState(&model.Observation{Shape: shape, N: n}, prior, newFixed(prior, law), model.NewRegressionParams(shape))
	c.conditionals.DrawPrior(c.params, rng)
	law.Set(c.params)
	q := shape.Statistics()
	obs := &model.Observation{Shape: shape, N: n, Kind: release.Laplace, Z: make([]float64, q), Scale: make([]float64, q)}
	law.Rand(obs.Z, n, rng)
	laplace := func(b float64) float64 { return b * math.Copysign(rng.ExpFloat64(), rng.Float64()-0.5) }
	other := *obs
	other.Z, other.Scale = slices.Clone(obs.Z), make([]float64, q)
	for i := range obs.Z {
		obs.Scale[i], other.Scale[i] = b, b/2
		e := laplace(b)
		obs.Z[i] += e
		other.Z[i] += e / 2
	}
	bm := momentSensitivity(p) / (epsilon / 2)
	obs.Moments = noisyMoments(t, p, l, n, 0, rng)
	for i := range obs.Moments.Sums {
		obs.Moments.Sums[i] += laplace(bm)
		obs.Moments.SD[i] = math.Sqrt2 * bm
	}
	return obs, &other, c.params
}

// useful is what gibbs-ss-noisy makes of some releases.
type useful struct{ refused, learned, covered, update float64 }

// TestWhereNoisyIsUseful runs gibbs-ss-noisy over a range of n·ε, with n = 1000
// and parameters drawn from the narrow prior: how often it refuses, the median
// of what it learned of the first slope, and how often that slope lies in its
// 90 % interval; beside it what gibbs-ss-update learns of statistics that have the whole
// ε. All of the range, and a table:
//
//	go test ./gibbs -run WhereNoisy -geweke.long -v
func TestWhereNoisyIsUseful(t *testing.T) {
	testsize.Full(t, "invariance tests have the kernel")
	releases := 20
	if *gewekeLong {
		releases = 500
	}
	wide := sampledX{2, func(dst []float64, rng *rand.Rand) {
		for j := range dst {
			dst[j] = 2*rng.Float64() - 1
		}
	}}
	for name, l := range map[string]model.XLaw{"uniform": wide, "skewed": skewed} {
		for _, p := range []int{1, 3} {
			for _, nEpsilon := range []float64{10, 30, 100, 300, 1000, 3000, 10_000} {
				if !*gewekeLong && (p > 1 || nEpsilon != 10 && nEpsilon != 1000) {
					continue
				}
				u := study(t, p, nEpsilon, l, releases)
				t.Logf("| %d | %s | %g | %.0f %% | %.2f | %.0f %% | %.2f |", p, name, nEpsilon, 100*u.refused, u.learned, 100*u.covered, u.update)
				if nEpsilon == 10 && u.refused < 0.5 {
					t.Errorf("p = %d, %s: at n·ε = 10 only %.0f %% are refused", p, name, 100*u.refused)
				}
				if nEpsilon == 1000 && name == "uniform" && p == 1 && u.refused > 0 {
					t.Errorf("p = %d, %s: at n·ε = 1000 %.0f %% are refused", p, name, 100*u.refused)
				}
			}
		}
	}
}

func study(t *testing.T, p int, nEpsilon float64, l model.XLaw, releases int) useful {
	t.Helper()
	const n = 1000
	rng := rand.New(rand.NewPCG(uint64(nEpsilon), uint64(p)))
	plan := mcmc.Plan{Chains: 1, Warmup: 300, Draws: 1000, Workers: 1}
	prior := narrow(model.Shape{P: p, Intercept: true})
	variance := make([]float64, p+1)
	prior.Theta.VarTheta(variance)
	var u useful
	var learned, update []float64
	for i := range releases {
		plan.Seed = uint64(i)
		obs, whole, truth := releasedMoments(t, p, n, nEpsilon/n, l, rng)
		m := Method{Moments: Noisy}
		law, err := m.fixedLaw(obs, prior)
		if err != nil {
			u.refused++
			continue
		}
		d := must.Get(m.sample(context.Background(), m.fixed(obs, prior, law), plan))(t)
		_, sd := modeltest.Pooled(d.Column(1))
		learned = append(learned, 1-sd*sd/variance[1])
		if holds(d, truth) {
			u.covered++
		}
		d = must.Get(sampleAlone(whole, prior, Exact, plan))(t)
		_, sd = modeltest.Pooled(d.Column(1))
		update = append(update, 1-sd*sd/variance[1])
	}
	u.covered /= float64(len(learned))
	u.refused /= float64(releases)
	u.learned, u.update = median(learned), median(update)
	return u
}

// TestTrueMomentsCover: with the true moments of x, what the method takes noisy ones
// for, the 90 % interval holds the slope as often as it says: to 4.4 sds of a
// binomial share, false alarms of 1e-5.
func TestTrueMomentsCover(t *testing.T) {
	testsize.Full(t, "TestExactInvariance has the kernel")
	fits := 100
	for _, p := range []int{1, 3} {
		rng := rand.New(rand.NewPCG(3, uint64(p)))
		prior := narrow(model.Shape{P: p, Intercept: true})
		held, law := 0, fixedLawOf(t, model.Shape{P: p, Intercept: true}, skewed)
		for i := range fits {
			obs, _, truth := releasedMoments(t, p, 1000, 3, skewed, rng)
			plan := mcmc.Plan{Chains: 1, Warmup: 300, Draws: 500, Workers: 1, Seed: uint64(i)}
			m := Method{Moments: Prior}
			d := must.Get(m.sample(context.Background(), m.fixed(obs, prior, law), plan))(t)
			if holds(d, truth) {
				held++
			}
		}
		if share := float64(held) / float64(fits); math.Abs(share-0.9) > 4.4*math.Sqrt(0.09/float64(fits)) {
			t.Errorf("p = %d: the 90 %% interval holds the slope in %.3f of the fits", p, share)
		}
	}
}

// holds tells whether the first slope lies in its 90 % interval.
func holds(d *posterior.Draws, truth *model.Params) bool {
	x := slices.Sorted(slices.Values(d.Column(1)[0]))
	return posterior.Quantile(x, 0.05) < truth.Theta[1] && truth.Theta[1] < posterior.Quantile(x, 0.95)
}

func median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	slices.Sort(x)
	return posterior.Quantile(x, 0.5)
}
