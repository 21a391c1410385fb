package individual

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/nuts"
	"github.com/dpreg/dpreg/release"
)

// trial is the model row by row: parameters, rows, clamped or not, noise.
type trial struct {
	shape    model.Shape
	prior    *model.Prior
	n        int
	kind     release.Kind
	scale    float64
	clamping bool
}

func (c *trial) draw(rng *rand.Rand) (truth []float64, obs *model.Observation) {
	p, m := c.shape.P, c.shape.M()
	x := model.NewParams(c.shape)
	model.NewConditionals(c.shape, c.prior, true).DrawPrior(x, rng)
	root := append([]float64(nil), x.Tau...)
	dense.Cholesky(root, p)
	obs = invented(c.shape, float64(c.n), c.scale, c.kind)
	clear(obs.Z)
	g, v := make([]float64, p), make([]float64, m)
	for range c.n {
		for j := range g {
			g[j] = rng.NormFloat64()
		}
		v[p] = math.Sqrt(x.Sigma2) * rng.NormFloat64()
		if c.shape.Intercept {
			v[p] += x.Theta[0]
		}
		dense.MulLowerVec(v[:p], root, p, g)
		for j, b := range x.Theta[c.shape.Q()-p:] {
			v[j] += x.MuX[j]
			v[p] += b * v[j]
		}
		for j := range v {
			if c.clamping {
				v[j] = min(1, max(-1, v[j]))
			}
		}
		addStatistics(obs.Z, v)
	}
	for i := range obs.Z {
		obs.Z[i] += model.RandNoise(c.kind, c.scale, rng)
	}
	truth = make([]float64, len(c.shape.Names()))
	x.Write(truth)
	return truth, obs
}

// ranks are those of each parameter over trials of a kernel, which end where a planted fault is found.
func (c *trial) ranks(t *testing.T, trials int, planted bool, kernel func(obs *model.Observation, rng *rand.Rand) (*nuts.Sampler, error)) [][]float64 {
	t.Helper()
	chain := modeltest.Chain{Warmup: 200, Draws: 49, Thin: 2}
	if c.clamping { // most rows may be at the edge
		chain.Warmup, chain.Thin = 400, 5
		if planted || *long { // a model that does not know of clamping takes longer to arrive
			chain.Warmup = 800
		}
	}
	return modeltest.Calibrate(t, chain, trials, planted, func(i int) (mcmc.Kernel[nuts.Info], []float64, *rand.Rand) {
		rng := mcmc.Stream(11, i)
		truth, obs := c.draw(rng)
		k := must.Get(kernel(obs, rng))(t)
		return k, truth, rng
	})
}

func scene(p, n int, kind release.Kind, scale float64) *trial {
	s := model.Shape{P: p, Intercept: true}
	return &trial{shape: s, prior: modeltest.TamePrior(s), n: n, kind: kind, scale: scale}
}

// TestSBC is simulation-based calibration (Talts et al. 2018) against rows drawn
// one by one. Each of the four bounds of modeltest.Uniform has a false-alarm rate of 1e-6. Of 40 data
// sets a posterior that is off by 0.8 of its sds, of half its sd, or of 2.5 times it is found with
// probabilities of 0.48, 0.65 and 0.90.
func TestSBC(t *testing.T) {
	trials := testsize.Of(8, 40)
	if *long {
		trials *= 8
	}
	clamped, plain := scene(1, 50, release.Laplace, 1), scene(2, 12, release.Gaussian, 3)
	clamped.clamping, plain.shape.Intercept = true, false
	plain.prior = modeltest.TamePrior(plain.shape)
	for name, c := range map[string]*trial{
		"Laplace":                 scene(1, 12, release.Laplace, 3),
		"Gaussian, no intercept":  plain,
		"fewer rows than columns": scene(3, 3, release.Laplace, 2),
		"clamped":                 clamped,
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && (c.clamping || c.shape.P > 2) {
				t.Skip("clamped rows and more columns take longer chains")
			}
			t.Parallel()
			ranks := c.ranks(t, trials, false, func(obs *model.Observation, rng *rand.Rand) (*nuts.Sampler, error) {
				return newKernel(obs, c.prior, c.clamping, rng)
			})
			modeltest.Report(t, c.shape.Names(), ranks)
		})
	}
}

// tilted is a density in which σ^p of the Jacobian is forgotten.
type tilted struct{ *density }

func (f tilted) LogDensity(grad, x []float64) (float64, error) {
	logp, err := f.density.LogDensity(grad, x)
	at, p := f.means()+diagonal(f.p), float64(f.p)*f.unit
	grad[at] -= p
	return logp - p*x[at], err
}

// TestSBCFindsFaults plants faults, which calibration must find: a forgotten
// Jacobian, and clamped data for a model that does not know of clamping.
func TestSBCFindsFaults(t *testing.T) {
	testsize.Planted(t)
	clamped, jacobian := scene(1, 50, release.Laplace, 1), scene(3, 5, release.Laplace, 3)
	clamped.clamping = true
	for name, c := range map[string]*trial{"clamping": clamped, "Jacobian": jacobian} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ranks := c.ranks(t, 60, true, func(obs *model.Observation, rng *rand.Rand) (*nuts.Sampler, error) {
				k, err := newKernel(obs, c.prior, false, rng)
				if err == nil && name == "Jacobian" {
					f := k.Chain.(*density)
					return nuts.New(tilted{f}, k.Position(), nuts.Options{Dense: f.lead()})
				}
				return k, err
			})
			if !modeltest.Unlike(ranks) {
				t.Error("the fault went unnoticed")
			}
		})
	}
}
