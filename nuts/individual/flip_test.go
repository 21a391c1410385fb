package individual

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts"
	"github.com/dpreg/dpreg/release"
)

// flipScores draws parameters, rows and z forwards, flips, and returns the scores of
// how far the expectations of functions of coordinates and z have moved, 0 in
// expectation if flips leave the posterior invariant. Differences are of the same
// draws before and after, so that a score is that of a mean of independent terms.
func flipScores(s model.Shape, clamping, always bool) []float64 {
	const flips = 3
	draws := testsize.Of(8000, 20_000)
	rng := rand.New(rand.NewPCG(5, 5))
	prior := model.BoxPrior(s)
	obs := invented(s, 6, 0.7, release.Laplace)
	f := newDensity(obs, prior, clamping)
	params, conditionals := model.NewParams(s), model.NewConditionals(s, prior, true)
	x, grad := make([]float64, f.Dim()), make([]float64, f.Dim())
	k, err := nuts.New(f, x, nuts.Options{})
	if err != nil {
		panic(err)
	}
	x = k.Position()
	var sum, squares []float64
	moved := 0
	for range draws {
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
		before := functions(f, f.signs, x)
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
		for i, v := range functions(f, f.signs, x) {
			if sum == nil {
				sum, squares = make([]float64, len(before)), make([]float64, len(before))
			}
			d := v - before[i]
			sum[i] += d
			squares[i] += d * d
		}
	}
	for i := range sum {
		sum[i] /= math.Sqrt(squares[i] + 1e-300)
	}
	return append(sum, float64(moved))
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
			if worst := furthest(scores[:last]); worst > 5.5 {
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
	if worst := furthest(scores[:len(scores)-1]); worst < 5.5 {
		t.Errorf("flips without a test went unnoticed: the largest score is %.1f", worst)
	}
}

func furthest(z []float64) float64 {
	m := 0.0
	for _, v := range z {
		m = max(m, math.Abs(v))
	}
	return m
}
