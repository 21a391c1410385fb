package calibration

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

// verdict is the smaller of the smallest p-values of both tests, times all of them.
func verdict(t *testing.T, trials int, subject Subject) float64 {
	t.Helper()
	s := &Study{Trials: trials, Seed: 11, Cells: []Cell{{Setting{Method: "subject"}, subject}}}
	sum := s.Summarise(run(t, s, Options{}))
	if c := sum.Cells[0]; !c.Sound {
		t.Fatalf("%d failed, %d capped: %s", c.Failed, c.Capped, c.Error)
	}
	least := 1.0
	for _, q := range sum.Cells[0].Quantities {
		least = min(least, *q.P, *q.ECDF)
	}
	return least * 2 * float64(sum.Tests)
}

// judge wants the right sampler to pass at 1e-4, and so many trials to find the broken
// one at it.
func judge(t *testing.T, trials int, right, broken Subject) {
	t.Helper()
	if p := verdict(t, trials, right); p < 1e-4 {
		t.Errorf("the right sampler fails: p = %.2g", p)
	}
	if p := verdict(t, trials, broken); p > 1e-4 {
		t.Errorf("the fault went unnoticed in %d trials: p = %.2g", trials, p)
	}
}

// A sampler that takes the noise for 1.5 times as large as it is is found in 150 trials.
func TestFindsWrongNoiseScale(t *testing.T) {
	testsize.Planted(t)
	subject := func(tamper func(*release.Release)) Subject {
		prior := must.Get(paperPrior(model.Shape{P: 1, Intercept: true}))(t)
		arm := Arm{Method: "gibbs-ss-update", Kernel: "exact", Sensitivity: ExactSensitivity, Chains: 1, Warmup: 200, Draws: 400}
		return &regression{n: 1000, x: NormalX, fitter: fitter{arm: arm, columns: dpreg.UnitDesign(1), prior: prior,
			privacy: release.Privacy{Epsilon: 1, Neighbours: release.ReplaceOne}, tamper: tamper}}
	}
	judge(t, 150, subject(nil), subject(func(r *release.Release) { r.Noise.Scale *= 1.5 }))
}

// A sampler that drops a term of Σ_t, most of 4μ²V in Var(y²), is found in 50.
func TestFindsDroppedTerm(t *testing.T) {
	testsize.Planted(t)
	judge(t, 50, &cltModel{}, &cltModel{drop: true})
}

// cltModel is a model of its own, (θ, σ²) ~ NIG and z ~ N(nμ_t, nΣ_t + ω²I) with the
// moments of x known, and a sampler of its posterior by a random walk.
type cltModel struct{ drop bool }

const (
	cltN     = 50
	cltNoise = 1.
)

var cltShape = model.Shape{P: 1, Intercept: true}

// Trial implements Subject.
func (m *cltModel) Trial(ctx context.Context, data, sampler *rand.Rand) (*Sample, error) {
	prior, err := paperPrior(cltShape)
	if err != nil {
		return nil, err
	}
	all := model.NewParams(cltShape)
	model.NewConditionals(cltShape, prior, true).DrawPrior(all, data)
	truth := &model.Params{Theta: all.Theta, Sigma2: all.Sigma2}
	law := cltLaw()
	law.Set(truth)
	law.Factor()
	z := make([]float64, cltShape.Statistics())
	law.Rand(z, cltN, data)
	for i := range z {
		z[i] += cltNoise * data.NormFloat64()
	}
	start := func(_ int, rng *rand.Rand) (mcmc.Kernel[struct{}], error) {
		return newRandomWalk(m, z, prior, truth), nil
	}
	names := cltShape.RegressionNames()
	draws, err := mcmc.Run(ctx, mcmc.Columns{Params: names}, start, nil,
		mcmc.Plan{Chains: 1, Warmup: 500, Draws: 3000, Seed: sampler.Uint64(), Workers: 1})
	return &Sample{Names: names, Truth: append(append([]float64{}, truth.Theta...), truth.Sigma2), Draws: draws}, err
}

func cltLaw() *model.FixedMoments {
	x, err := model.NormalX{Mean: []float64{0.2}, Covariance: []float64{0.1}}.Moments(1)
	if err != nil {
		panic(err)
	}
	law, err := model.NewFixedMoments(cltShape, x)
	if err != nil {
		panic(err)
	}
	return law
}

// randomWalk is Metropolis in (θ, log σ²) with steps scaled in warm-up; it starts at
// the truth, which is a draw of the posterior.
type randomWalk struct {
	model           *cltModel
	law             *model.FixedMoments
	coordinates     *model.Coordinates
	z, mean, cov, g []float64
	params          *model.Params
	at, proposed    []float64
	value           float64
	step, rate      []float64 // of each coordinate; rate: share accepted, recently
}

func newRandomWalk(m *cltModel, z []float64, prior *model.Prior, truth *model.Params) *randomWalk {
	q := len(z)
	k := &randomWalk{model: m, law: cltLaw(), coordinates: model.NewRegressionCoordinates(prior), z: z,
		mean: make([]float64, q), cov: make([]float64, q*q), g: make([]float64, 3), params: model.NewRegressionParams(cltShape),
		at: make([]float64, 3), proposed: make([]float64, 3), step: []float64{0.3, 0.3, 0.3}, rate: []float64{0.44, 0.44, 0.44}}
	k.coordinates.Unconstrain(k.at, truth)
	k.value = k.logDensity(k.at)
	return k
}

func (k *randomWalk) logDensity(phi []float64) float64 {
	q := len(k.z)
	k.coordinates.Constrain(k.params, phi)
	prior := k.coordinates.LogPrior(k.g, k.params)
	k.law.Set(k.params)
	k.law.Expect(k.mean, cltN)
	k.law.Covariance(k.cov, cltN)
	if k.model.drop {
		k.dropTerm()
	}
	for i, z := range k.z {
		k.mean[i] = z - k.mean[i]
		k.cov[i*q+i] += cltNoise * cltNoise
	}
	if !dense.Cholesky(k.cov, q) {
		return math.Inf(-1)
	}
	dense.SolveLower(k.cov, q, k.mean)
	sum := 0.0
	for _, e := range k.mean {
		sum += e * e
	}
	return prior - sum/2 - dense.LogDet(k.cov, q)/2
}

// dropTerm takes 4μ_y²σ² off a row's Var(y²), which keeps the matrix definite.
func (k *randomWalk) dropTerm() {
	q := len(k.z)
	mean := k.mean[1] / cltN
	k.cov[q*q-1] -= 4 * mean * mean * k.params.Sigma2 * cltN
}

// Step moves one coordinate after the other.
func (k *randomWalk) Step(rng *rand.Rand) (info struct{}) {
	for j, step := range k.step {
		copy(k.proposed, k.at)
		k.proposed[j] += step * rng.NormFloat64()
		value := k.logDensity(k.proposed)
		k.rate[j] *= 0.99
		if math.Log(rng.Float64()) < value-k.value {
			copy(k.at, k.proposed)
			k.value = value
			k.rate[j] += 0.01
		}
	}
	return info
}

// Adapt steers acceptance to 0.44.
func (k *randomWalk) Adapt(int, int) {
	for j, rate := range k.rate {
		k.step[j] *= math.Exp(0.05 * (rate - 0.44))
	}
}

// Params writes (θ, σ²).
func (k *randomWalk) Params(dst []float64) {
	copy(dst, k.at)
	dst[2] = math.Exp(k.at[2])
}
