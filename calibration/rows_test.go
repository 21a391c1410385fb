package calibration

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

func someParams() (*model.Params, model.Shape) {
	s := model.Shape{P: 2, Intercept: true}
	x := model.NewParams(s)
	copy(x.Theta, []float64{0.3, -0.5, 0.8})
	x.Sigma2 = 0.04
	copy(x.MuX, []float64{0.1, -0.2})
	copy(x.Tau, []float64{0.09, 0.03, 0.03, 0.05})
	return x, s
}

// Whatever their law, covariates have the mean and covariance of the parameters, and
// responses follow them: the sums of 200,000 rows are nμ_t, in means to 5 standard
// errors.
func TestRows(t *testing.T) {
	params, shape := someParams()
	const n = 200_000
	want := make([]float64, shape.Statistics())
	moments := model.NewMoments(shape)
	moments.Set(params)
	moments.Expect(want, n)
	for _, law := range []XLaw{NormalX, BinaryX, SkewedX} {
		r := must.Get(newRows(params, shape, law, rand.New(rand.NewPCG(1, 2))))(t)
		sums, squares, v, one := make([]float64, len(want)), make([]float64, len(want)), make([]float64, 3), make([]float64, len(want))
		for range n {
			r.next(v)
			clear(one)
			AddSums(one, v)
			for i, a := range one {
				sums[i] += a
				squares[i] += a * a
			}
		}
		for i := range want {
			m := sums[i] / n
			if e := math.Sqrt((squares[i]/n - m*m) / n); math.Abs(m-want[i]/n) > 5*e {
				t.Errorf("%s, sum %d: mean %v, want %v ± %v", law, i, m, want[i]/n, e)
			}
		}
	}
}

// True parameters are drawn from all that a prior says: where it is unscaled, θ does not vary
// with σ; and σ is half-t where its scale is free, P(σ < A t) for t the median of |t₃|. Bounds
// are of 5 standard errors.
func TestTruthsFollowThePrior(t *testing.T) {
	const trials, scale, median = 4000, 3.0, 0.7648923
	shape, rng := model.Shape{P: 1, Intercept: true}, rand.New(rand.NewPCG(4, 4))
	prior := model.Normal.BoxPrior(shape)
	prior.Unscaled, prior.Scales = true, []model.Scale{{SD: scale, Sigma: true}}
	prior.Theta.Shape, prior.Theta.Scale = 1.5, 3
	squares, below := 0.0, 0.0
	for range trials {
		rows := must.Get(simulate(&fitter{columns: dpreg.UnitDesign(shape.P), prior: prior}, NormalX, 1, rng))(t)
		slope := rows.params.Theta[1]
		squares += slope * slope * prior.Theta.Precision[3] / trials
		below += number.Indicator[float64](rows.params.Sigma2 < scale*scale*median*median) / trials
	}
	if math.Abs(squares-1) > 5*math.Sqrt(2./trials) || math.Abs(below-0.5) > 5*0.5/math.Sqrt(trials) {
		t.Errorf("variance of a slope over its prior's %v, P(σ < median) %v", squares, below)
	}
}

// Binary covariates take two values each where there is one, and skewed ones are not
// symmetric.
func TestLawsDiffer(t *testing.T) {
	params, shape := model.NewParams(model.Shape{P: 1, Intercept: true}), model.Shape{P: 1, Intercept: true}
	params.Sigma2, params.Tau[0] = 1, 0.25
	seen := make(map[float64]bool)
	r, _ := newRows(params, shape, BinaryX, rand.New(rand.NewPCG(1, 1)))
	v := make([]float64, 2)
	for range 100 {
		r.next(v)
		seen[v[0]] = true
	}
	if len(seen) != 2 || !seen[0.5] || !seen[-0.5] {
		t.Error(seen)
	}
	r, _ = newRows(params, shape, SkewedX, rand.New(rand.NewPCG(1, 1)))
	for range 1000 {
		if r.next(v); v[0] < -0.5 {
			t.Fatal(v[0])
		}
	}
}

// Clamped sums are those of rows within the box, and tell how many values were not;
// unclamped ones are of the rows as they came.
func TestSum(t *testing.T) {
	params, shape := someParams()
	params.Theta[0] = 0.9
	f := fitter{columns: dpreg.UnitDesign(2), arm: Arm{Method: noisyMoments}}
	sum := func(clamp bool) *summed {
		r := must.Get(newRows(params, shape, NormalX, rand.New(rand.NewPCG(3, 3))))(t)
		s := must.Get(f.sum(r.next, 1000, clamp, true))(t)
		kept := make([]float64, len(s.statistics.Vector()))
		for row := range slices.Chunk(s.rows, 3) {
			AddSums(kept, row)
		}
		for i, v := range s.statistics.Vector() { // clamped ones are rounded to 2⁻²⁰
			if math.Abs(v-kept[i]) > 1000*0x1p-20 {
				t.Errorf("clamped %t: sum %d is %v, of the rows that are kept %v", clamp, i, v, kept[i])
			}
		}
		return s
	}
	with, without := sum(true), sum(false)
	y := release.Index(3, 2, 2)
	if a, b := with.statistics.Vector()[y], without.statistics.Vector()[y]; !(a < b && a <= 1000) {
		t.Errorf("Σy² = %v clamped, %v not", a, b)
	}
	if with.outside < 0.02 || with.outside > 0.3 || without.outside != with.outside {
		t.Errorf("outside: %v, %v", with.outside, without.outside)
	}
	if with.statistics.N != 1000 || without.statistics.N != 1000 || with.moments.N() != 1000 {
		t.Error("other numbers of rows")
	}
	outside := func(v float64) bool { return v < -1 || v > 1 }
	if slices.ContainsFunc(with.rows, outside) || !slices.ContainsFunc(without.rows, outside) {
		t.Error("rows are clamped where they should not be, or not where they should")
	}
}

func TestClampRow(t *testing.T) {
	v := []float64{-1.5, -1, 0.5, 1, 2}
	if n := clampRow(v); n != 2 || v[0] != -1 || v[4] != 1 || v[2] != 0.5 {
		t.Error(n, v)
	}
}
