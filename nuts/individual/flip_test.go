package individual

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts"
	"github.com/dpreg/dpreg/release"
)

// flipScores draws parameters, rows and z forwards, flips, and returns must.Moved's scores of functions of coordinates and
// z, and how many flips were accepted.
func flipScores(s model.Shape, clamping, always bool) []float64 {
	const flips = 3
	rng := rand.New(rand.NewPCG(5, 5))
	prior := model.Normal.BoxPrior(s)
	obs := invented(s, 6, 0.7, release.Laplace)
	f := newDensity(obs, prior, clamping)
	params, conditionals := model.NewParams(s), model.NewConditionals(s, prior, true)
	x, grad := make([]float64, f.Dim()), make([]float64, f.Dim())
	k, err := nuts.New(f, x, nuts.Options{})
	if err != nil {
		panic(err)
	}
	x = k.Position()
	moved := 0
	z := must.Moved(testsize.Of(8000, 20_000), func() {
		conditionals.DrawPrior(params, rng)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		f.coordinates(x, params)
		f.set(x)
		f.sums.write(f.s)
		for i, v := range f.s {
			obs.Z[i] = v + model.RandNoise(obs.Kind, obs.Scale[i], rng)
		}
	}, func() {
		for range flips {
			k.Moved()
			if always {
				k.MoveTo(x, math.Inf(-1), grad)
			}
			was := slices.Clone(x)
			f.Move(k, rng)
			if !slices.Equal(was, x) {
				moved++
			}
		}
	}, func(dst []float64) []float64 { return append(dst, functions(f, f.signs, x)...) })
	return append(z, float64(moved))
}

// functions are bounded: the sign that a coordinate shares with a released sum.
func functions(f *density, signs []int, x []float64) []float64 {
	var values []float64
	for _, at := range signs {
		a := x[at] / (1 + math.Abs(x[at]))
		for _, z := range f.obs.Z {
			values = append(values, a*z/(1+math.Abs(z)))
		}
	}
	return values
}

// TestFlipsAreInvariant: each of some 80 scores passes 5.5 with probability 4e-8.
func TestFlipsAreInvariant(t *testing.T) {
	for _, s := range []model.Shape{{P: 1, Intercept: true}, {P: 2, Intercept: true}, {P: 2}}[:testsize.Of(2, 3)] {
		for _, clamping := range []bool{false, true} {
			scores := flipScores(s, clamping, false)
			last := len(scores) - 1
			if worst := must.Largest(scores[:last]); worst > 5.5 {
				t.Errorf("%+v, clamping %v: the largest score is %.1f", s, clamping, worst)
			}
			if scores[last] < float64(testsize.Of(400, 1000)) {
				t.Errorf("%+v, clamping %v: %g flips were accepted", s, clamping, scores[last])
			}
		}
	}
	if testing.Short() {
		return
	}
	scores := flipScores(model.Shape{P: 1, Intercept: true}, false, true)
	if worst := must.Largest(scores[:len(scores)-1]); worst < 5.5 {
		t.Errorf("flips without a test went unnoticed: the largest score is %.1f", worst)
	}
}
