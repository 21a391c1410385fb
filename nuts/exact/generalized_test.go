package exact

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/diff/fd"

	"github.com/dpreg/dpreg/internal/cputime"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/nuts"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
)

// generalizedOf is the density of an observation.
func generalizedOf(obs *model.Observation, prior *model.Prior, of family) *generalized {
	return newGeneralized(&model.Site{Observation: obs, Units: model.Identity(obs.Shape.M())}, prior, of)
}

func TestGeneralizedGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	for _, p := range []int{1, 2, 4} {
		for _, intercept := range []bool{true, false} {
			for _, name := range slices.Sorted(maps.Keys(testFamilies)) {
				of := testFamilies[name]
				s := model.Shape{P: p, Intercept: intercept}
				truth := model.NewParams(s)
				for j := range p {
					truth.MuX[j], truth.Tau[j*p+j] = 0.1, 0.06
				}
				for k := range truth.Theta {
					truth.Theta[k] = rng.NormFloat64()
				}
				for _, scale := range []float64{1, 30} {
					obs := observeRows(truth, s, 300, scale, of, release.Gaussian, rng)
					if p == 2 {
						obs.Count = model.Count{Noisy: 296, Kind: release.Gaussian, Scale: 5, Least: 4, Most: model.MaxRows}
					}
					checkGradient(t, fmt.Sprintf("%s p=%d intercept=%t scale %v", name, p, intercept, scale), generalizedOf(obs, mixedPrior(t, s, rng), of.family), scale, rng)
				}
			}
		}
	}
}

// TestGeneralizedOfSameRows compares slopes of two measurements of the same sums and number of rows with differences.
func TestGeneralizedOfSameRows(t *testing.T) {
	rng, s := rand.New(rand.NewPCG(3, 31)), model.Shape{P: 2, Intercept: true}
	for _, name := range slices.Sorted(maps.Keys(testFamilies)) {
		of, truth := testFamilies[name], model.NewParams(s)
		truth.Tau[0], truth.Tau[3] = 0.06, 0.06
		sums := observeRows(truth, s, 300, 0.01, of, release.Gaussian, rng)
		var all []*model.Observation
		for _, scale := range []float64{1, 5} {
			o := *sums
			o.Z, o.Scale = slices.Clone(o.Z), slices.Repeat([]float64{scale}, len(o.Z))
			for i := range o.Z {
				o.Z[i] += scale * rng.NormFloat64()
			}
			o.Count = model.Count{Noisy: 300 + scale, Kind: release.Gaussian, Scale: scale, Least: 4, Most: model.MaxRows}
			all = append(all, &o)
		}
		checkGradient(t, string(name), generalizedOf(model.Together(all), linkPrior(s), of.family), 1, rng)
	}
}

// checkGradient compares slopes at a start with differences, where noise has a scale.
func checkGradient(t *testing.T, name string, f *generalized, scale float64, rng *rand.Rand) {
	t.Helper()
	x := make([]float64, f.Dim())
	for tries := 0; !f.start(x, rng); tries++ {
		if tries == mostStarts {
			t.Fatalf("%s: no start", name)
		}
	}
	f.linked.dispersion.sharpen()
	grad := make([]float64, len(x))
	for range 2 {
		f.Reach(x)
		must.Get(f.LogDensity(grad, x))(t)
	}
	want := fd.Gradient(nil, func(x []float64) float64 {
		v, ok := f.value(x)
		if !ok {
			return math.NaN()
		}
		return v
	}, x, &fd.Settings{Formula: fd.Central, Step: 1e-5})
	for i, g := range grad {
		if !(math.Abs(g-want[i]) <= 1e-5*(1+math.Abs(g))*(1+scale)) {
			t.Errorf("%s: slope %d of %d (law %d) is %v, differences %v", name, i, len(x), f.x.dim(), g, want[i])
		}
	}
}

// TestGeneralizedStarts starts chains where z is of few rows, of none or all of whom y = 1, or what
// no rows have.
func TestGeneralizedStarts(t *testing.T) {
	of := testFamilies[model.Binomial]
	for trial := range 40 {
		rng := rand.New(rand.NewPCG(uint64(trial), 8))
		s := model.Shape{P: 1 + trial%6, Intercept: trial%3 > 0}
		truth := model.NewParams(s)
		for j := range s.P {
			truth.Tau[j*s.P+j] = 0.06
		}
		truth.Theta[0] = []float64{-6, 0, 6}[trial%3]
		n, scale := []int{12, 300}[trial%2], []float64{0.1, 10, 300}[trial/2%3]
		obs := observeRows(truth, s, n, scale, of, release.Laplace, rng)
		if trial%4 == 0 {
			obs.Z[s.P] = 3 * obs.N
		}
		k, err := newKernel(newGeneralized(&model.Site{Observation: obs, Units: model.Identity(s.M())}, linkPrior(s), of.family), rng)
		if err != nil {
			t.Errorf("p=%d n=%d scale %v: %v", s.P, n, scale, err)
			continue
		}
		k.Step(rng)
		if k.Err() != nil {
			t.Error(k.Err())
		}
	}
}

// TestGeneralizedAllocates holds a gradient to no allocation.
func TestGeneralizedAllocates(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 6))
	s, of := model.Shape{P: 5, Intercept: true}, testFamilies[model.Binomial]
	truth := model.NewParams(s)
	for j := range s.P {
		truth.Tau[j*s.P+j] = 0.06
	}
	f := generalizedOf(observeRows(truth, s, 300, 10, of, release.Laplace, rng), linkPrior(s), of.family)
	x := make([]float64, f.Dim())
	for !f.start(x, rng) {
	}
	grad := make([]float64, len(x))
	if n := testing.AllocsPerRun(100, func() { f.LogDensity(grad, x) }); n > 0 {
		t.Errorf("a gradient allocates %v times", n)
	}
}

// BenchmarkGeneralized samples two chains, warm-up included, of p covariates, for ε with Laplace
// noise, and reports the smallest of bulk and tail ESS over all parameters for each second of a
// processor, and R-hat:
//
//	go test ./nuts/exact -run xxx -bench Generalized -benchtime 1x
func BenchmarkGeneralized(b *testing.B) {
	for _, c := range []struct {
		name model.Family
		p, n int
	}{{model.Binomial, 1, 3000}, {model.Binomial, 5, 300}, {model.Binomial, 5, 3000}, {model.Binomial, 5, 100_000}, {model.Binomial, 7, 3000},
		{model.Poisson, 5, 300}, {model.Poisson, 5, 3000}, {model.Poisson, 5, 100_000}} {
		{
			of, p, n := testFamilies[c.name], c.p, c.n
			for _, epsilon := range []float64{0.3, 1, 10} {
				b.Run(fmt.Sprintf("%s/p=%d/n=%d/eps=%v", c.name, p, n, epsilon), func(b *testing.B) {
					rng := rand.New(rand.NewPCG(3, uint64(n)))
					s := model.Shape{P: p, Intercept: true}
					truth := model.NewParams(s)
					for j := range p {
						truth.MuX[j], truth.Tau[j*p+j] = 0.1, 0.05
						truth.Theta[1+j] = 3 * rng.NormFloat64() / math.Sqrt(float64(p))
					}
					site := &model.Site{Observation: observeRows(truth, s, n, modeltest.LaplaceScale(s, epsilon), of, release.Laplace, rng), Units: model.Identity(s.M())}
					names := model.Names(model.Layout{Shape: s, Covariates: true, Family: c.name, Latent: []bool{false}}.Drawn())
					ess, worst, from := 0.0, 0.0, cputime.Used()
					for b.Loop() {
						d := must.Get(nuts.Run(b.Context(), names, func(_ int, rng *rand.Rand) (*nuts.Sampler, error) {
							return newKernel(newGeneralized(site, linkPrior(s), of.family), rng)
						}, nuts.Options{}, mcmc.Plan{Chains: 2, Warmup: 1000, Draws: 1000, Workers: 1}))(b)
						rhat, least := posterior.Worst(posterior.Summarise(d, 0.95).Parameters)
						ess, worst = ess+least.ESS(), max(worst, rhat.RHat)
					}
					b.ReportMetric(ess/(cputime.Used()-from).Seconds(), "ess/s")
					b.ReportMetric(worst, "rhat")
				})
			}
		}
	}
}

// TestClampedCountsStart: where most counts are clamped, and noise is small, η is not the logarithm of
// their mean.
func TestClampedCountsStart(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 8))
	s, of := model.Shape{P: 1, Intercept: true}, testFamilies["poisson, clamped"]
	truth := model.NewParams(s)
	truth.Theta[0], truth.Theta[1], truth.Tau[0] = 1.8, 0.2, 0.06
	for range 20 {
		f := generalizedOf(observeRows(truth, s, 300, 1, of, release.Gaussian, rng), linkPrior(s), of.family)
		x, tries := make([]float64, f.Dim()), 0
		for !f.start(x, rng) {
			if tries++; tries > 50 {
				t.Fatal("no start")
			}
		}
	}
}
