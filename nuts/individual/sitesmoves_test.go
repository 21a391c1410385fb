package individual

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/nuts"
	"github.com/dpreg/dpreg/release"
)

// forwards draws parameters, coefficients and rows from their law, writes them to x, and z.
func forwards(f *sites, problem *model.Joint, x []float64, rng *rand.Rand) {
	params, conditionals := model.NewParams(problem.Shape), model.NewConditionals(problem.Shape, problem.Prior, true)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	conditionals.DrawPrior(params, rng)
	f.hub.Unconstrain(x[:f.lead], params)
	f.hub.Spread.DrawPrior(x[f.base:f.lead], rng)
	f.hub.Constrain(x[:f.lead])
	for j, s := range f.all {
		if !problem.Shared {
			conditionals.DrawPrior(params, rng)
			s.hub.Unconstrain(s.phi, params)
			copy(f.part(x, j).covariates, s.phi[f.base:])
		}
		f.hub.Spread.Draw(s.pooled.Own, f.hub.Centre, rng)
	}
	f.hold(x)
	f.LogDensity(make([]float64, len(x)), x)
	for _, s := range f.all {
		for i, v := range s.s {
			s.release.Z[i] = v + model.RandNoise(s.release.Kind, s.release.Scale[i], rng)
		}
	}
}

// of are bounded functions of parameters and z: products of a parameter, with its sign, and
// of a sum of its site's, its size, and how far coefficients are apart for their spread.
func (f *sites) of(x []float64) (values []float64) {
	bounded := func(v float64) float64 { return v / (1 + math.Abs(v)) }
	f.hub.Constrain(x[:f.lead])
	for j, s := range f.all {
		f.set(x, j)
		for _, v := range slices.Concat(s.pooled.Own, s.hub.Params.Theta, s.hub.Params.MuX, x[f.base:f.lead]) {
			values = append(values, bounded(math.Abs(v)))
			for _, z := range s.release.Z {
				values = append(values, bounded(v)*bounded(z))
			}
		}
		for k, v := range s.pooled.Own {
			values = append(values, bounded(math.Abs(v-s.hub.Centre[k])/f.hub.Spread.Tau[k]))
		}
	}
	return values
}

// moveScores are those of how far a kernel's move takes the expectations of functions of
// parameters and z, all drawn forwards; see flipScores.
func moveScores(t *testing.T, s model.Shape, v variant, draws int, move func(k *nuts.Sampler, rng *rand.Rand)) []float64 {
	t.Helper()
	c := &modeltest.Custodians{Shape: s, Prior: model.Normal.BoxPrior(s), Shared: v.shared, Partial: true}
	for range 2 {
		c.Sites = append(c.Sites, modeltest.Custodian{N: 5, Kind: release.Laplace, Scale: 0.7, Units: 1})
	}
	rng := rand.New(rand.NewPCG(63, 1))
	_, problem := c.Draw(rng)
	k := must.Get(newSitesKernel(problem, v.clamping, rng))(t)
	f := k.Chain.(*sites)
	return must.Moved(draws, func() {
		forwards(f, problem, k.Position(), rng)
		k.Moved()
	}, func() { move(k, rng) }, func(dst []float64) []float64 { return append(dst, f.of(k.Position())...) })
}

// TestSitesMovesAreInvariant: each of some 1300 scores passes 6 with probability 2e-9. Flips
// without a test, and Ω moved with coordinates and not coefficients held, are found.
func TestSitesMovesAreInvariant(t *testing.T) {
	testsize.Full(t, "TestFlipsAreInvariant has one release")
	moves := map[string]func(k *nuts.Sampler, rng *rand.Rand){
		"flips": func(k *nuts.Sampler, rng *rand.Rand) {
			for range 3 {
				k.Chain.(*sites).flip(k, rng)
			}
		},
		"interweave": func(k *nuts.Sampler, rng *rand.Rand) { k.Chain.(*sites).interweave(k, rng) },
	}
	faults := map[string]func(k *nuts.Sampler, rng *rand.Rand){
		"flips": func(k *nuts.Sampler, rng *rand.Rand) {
			k.MoveTo(k.Position(), math.Inf(-1), make([]float64, k.Chain.Dim()))
			k.Chain.(*sites).flip(k, rng)
		},
		"interweave": func(k *nuts.Sampler, rng *rand.Rand) {
			f := k.Chain.(*sites)
			f.weave.Step(k.Position()[:f.lead], rng)
		},
	}
	for i, v := range []variant{{false, true, false}, {true, true, true}} {
		for k, s := range []model.Shape{{P: 1, Intercept: true}, {P: 2}} {
			for name, move := range moves {
				if worst := must.Largest(moveScores(t, s, v, 6000, move)); worst > 6 {
					t.Errorf("%s %+v, %s: the largest score is %.1f", v, s, name, worst)
				}
				if i != k { // with each sharing and each shape once
					continue
				}
				if worst := must.Largest(moveScores(t, s, v, 10_000, faults[name])); worst < 10 {
					t.Errorf("%s %+v, %s that are wrong went unnoticed: %.1f", v, s, name, worst)
				}
			}
		}
	}
}
