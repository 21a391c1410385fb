package agree_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/agree"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

const columns = 4

// rowsOf are n correlated rows.
func rowsOf(n int, rng *rand.Rand) [][]float64 {
	rows := make([][]float64, n)
	for i := range rows {
		common := rng.NormFloat64()
		for range columns {
			rows[i] = append(rows[i], 0.3+0.1*common+0.02*rng.NormFloat64())
		}
	}
	return rows
}

// releaseOf has the sums of rows in a frame, or in the box, with noise on them and on n.
func releaseOf(rows [][]float64, f *release.Frame, rng *rand.Rand) *release.Release {
	const m = columns
	scale := 2.0
	if f == nil {
		scale = 0.02
	}
	r := &release.Release{Format: release.FormatFrame, Frame: f, NNoise: scale, N: int64(len(rows)) + int64(math.Round(scale*rng.NormFloat64())),
		Noise: release.Noise{Kind: release.Gaussian, Scale: scale, Cross: scale / math.Sqrt2, Linear: scale / math.Sqrt2}}
	for range m {
		r.Schema.Covariates = append(r.Schema.Covariates, schema.Column{Lower: -1, Upper: 1})
	}
	r.Schema.Response, r.Schema.Covariates = r.Schema.Covariates[m-1], r.Schema.Covariates[:m-1]
	z := make([]float64, release.Length(m))
	for _, v := range rows {
		u := v
		if f != nil {
			u = make([]float64, m)
			for j, row := range f.Matrix {
				for k, w := range row {
					u[j] += w * (v[k] - f.Centre[k])
				}
			}
		}
		for j := range m {
			z[j] += u[j]
			for k := j; k < m; k++ {
				z[release.Index(m, j, k)] += u[j] * u[k]
			}
		}
	}
	for i := range z { // squares are only used to foresee what rows do
		sd := scale
		if f != nil {
			sd = r.Noise.Cross
		}
		z[i] += sd * rng.NormFloat64()
	}
	r.Statistics = release.StatisticsFromVector(m, z)
	return r
}

// Of other rows of one law the likelihood ratio is 100 with probability 1/100 at most (Markov),
// here 20 times in 2000, with an sd of 4.5, or in short 5 in 500, with one of 2.2; of the same rows it nearly always is. Each is in a frame
// that whitens its rows, not quite the other's, or in the box.
func TestAlikeInFrames(t *testing.T) {
	pairs := testsize.Of(500, 2000)
	frame := func(by float64) *release.Frame {
		f := &release.Frame{Centre: []float64{0.3, 0.25, 0.35, 0.3}, Matrix: [][]float64{{10}, {-40, 40}, {-20, -20, 40}, {-13, -13, -13, 40}}, Radius: 100, Weight: 1}
		for j := range f.Matrix {
			f.Matrix[j][j] *= by
		}
		return f
	}
	for name, c := range map[string]struct{ a, b *release.Frame }{
		"one frame": {frame(1), frame(1)}, "two frames": {frame(1), frame(1.1)}, "a frame and the box": {frame(1), nil}, "the box and a frame": {nil, frame(1)},
	} {
		rng := rand.New(rand.NewPCG(3, 4))
		others, same := 0, 0
		for range pairs {
			rows := rowsOf(100, rng)
			a := releaseOf(rows, c.a, rng)
			if agree.Alike(a, releaseOf(rowsOf(100, rng), c.b, rng), false) >= math.Log(100) {
				others++
			}
			if agree.Alike(a, releaseOf(rows, c.b, rng), false) >= math.Log(100) {
				same++
			}
		}
		if float64(others) > float64(pairs)/100+5*math.Sqrt(float64(pairs)/80) {
			t.Errorf("%s: %d of %d pairs of other rows look alike", name, others, pairs)
		}
		if same < pairs*9/10 {
			t.Errorf("%s: %d of %d pairs of the same rows look alike", name, same, pairs)
		}
	}
}
