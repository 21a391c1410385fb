package exact

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// observeByResponse is what is observed of sums of n rows, in canonical order, by the levels of the response,
// in the box or in a frame.
func observeByResponse(t *testing.T, sums []float64, s model.Shape, n int, scale float64, kind release.Kind, framed bool, rng *rand.Rand) *model.Observation {
	t.Helper()
	m := s.M()
	r := &release.Release{Format: release.FormatLevels, Simulated: true, N: int64(n), Noise: release.Noise{Kind: kind, Scale: scale}}
	r.Schema = schema.Design{Intercept: true, Response: schema.Column{Name: "y", Upper: 1, Type: "boolean"}}
	for j := range s.P {
		r.Schema.Covariates = append(r.Schema.Covariates, schema.Column{Name: fmt.Sprintf("x%d", j+1), Lower: -1, Upper: 1})
	}
	r.Statistics, r.Levels = release.StatisticsFromVector(m, sums), &release.Levels{Factor: "y"}
	var noise *release.LevelNoise
	if framed {
		r.Frame = modeltest.Frame(s.P)
		r.Noise.Cross = scale / math.Sqrt2
		noise = &release.LevelNoise{Scale: scale, Count: scale / r.Frame.Weight}
		if kind == release.Ball {
			r.Noise.Freedom, noise.Freedom = float64(release.Length(s.P)-s.P+1), float64(s.P+2)
		}
		sums = slices.Clone(sums)
		model.Identity(m).In(r.Frame.Before(1)).Inverse().Common(sums, sums, float64(n))
	}
	var measured []float64
	for _, e := range r.MeasuredOfResponse() {
		measured = append(measured, e.Value(sums, float64(n)))
	}
	released := r.FactorFirst()
	observe := func() *model.Observation {
		released.TakeLevels(release.NewLevels("y", 1, noise), measured)
		return must.Get(model.Observe(released.FactorLast()))(t)
	}
	observe().Told.AddNoise(measured, 1, rng)
	return observe()
}

// TestByResponseGradient compares slopes with differences.
func TestByResponseGradient(t *testing.T) {
	for trial, kind := range []release.Kind{release.Gaussian, release.Gaussian, release.Ball, release.Gaussian} {
		rng := rand.New(rand.NewPCG(4, uint64(trial)))
		s := model.Shape{P: 1 + trial, Intercept: true}
		truth := model.NewParams(s)
		model.NewConditionals(s, linkPrior(s), true).DrawPrior(truth, rng)
		obs := observeByResponse(t, sumsOfRows(truth, s, 300, testFamilies[model.Binomial], rng), s, 300, 10, kind, trial > 0, rng)
		checkGradient(t, fmt.Sprintf("%s p=%d", kind, s.P), generalizedOf(obs, mixedPrior(t, s, rng), testFamilies[model.Binomial].family), 10, rng)
	}
}

// TestByResponseSBC is TestGeneralizedSBC of sums by the levels of the response. The long form:
//
//	go test ./nuts/exact -run TestByResponseSBC -sbc.long -v -timeout 2h
func TestByResponseSBC(t *testing.T) {
	trials := testsize.Of(8, dataSets/2)
	if *sbcLong {
		trials = 500
	}
	var common together
	t.Run("", func(t *testing.T) {
		for i, c := range []struct {
			p      int
			kind   release.Kind
			framed bool
			of     model.Family
		}{{1, release.Laplace, false, model.Binomial}, {2, release.Gaussian, true, model.Probit}, {2, release.Ball, true, model.Binomial}, {5, release.Gaussian, true, model.Binomial}} {
			if c.p > 2 && !*sbcLong {
				continue
			}
			t.Run(fmt.Sprintf("p=%d %s %s framed=%t", c.p, c.of, c.kind, c.framed), func(t *testing.T) {
				t.Parallel()
				s, of := model.Shape{P: c.p, Intercept: true}, testFamilies[c.of]
				observe := func(truth *model.Params, n int, rng *rand.Rand) *model.Observation {
					return observeByResponse(t, sumsOfRows(truth, s, n, of, rng), s, n, 10, c.kind, c.framed, rng)
				}
				names, ranks := calibrateGeneralized(t, uint64(70+i), s, 300, observe, of.family, false, trials)
				modeltest.Report(t, names, ranks)
				common.add(names, ranks, fmt.Sprint("framed: ", c.framed))
			})
		}
	})
	common.uniform(t)
}
