package conjugate

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/internal/dense"
)

const draws = 100_000

// thetaCDF returns the cdf of θ_j, Student t.
func thetaCDF(d *NIG, j int) func(float64) float64 {
	q := d.Dim()
	l, inverse := append([]float64(nil), d.Precision...), make([]float64, q*q)
	dense.Cholesky(l, q)
	dense.InverseFromCholesky(inverse, l, q)
	return distuv.StudentsT{Mu: d.Mean[j], Sigma: math.Sqrt(d.Scale / d.Shape * inverse[j*q+j]), Nu: 2 * d.Shape}.CDF
}

func TestNIGRand(t *testing.T) {
	d, rng := testNIG(), source()
	q := d.Dim()
	s := NewNIGSampler(q)
	if !s.Set(d) {
		t.Fatal("refused")
	}
	theta, sigma2 := make([][]float64, q), make([]float64, draws)
	quad := make([]float64, draws)
	x := make([]float64, q)
	for i := range draws {
		sigma2[i] = s.Rand(x, rng)
		for j, v := range x {
			theta[j] = append(theta[j], v)
			x[j] = v - d.Mean[j]
		}
		quad[i] = dense.QuadForm(d.Precision, q, x) / sigma2[i]
	}
	variance := make([]float64, q)
	d.VarTheta(variance)
	for j := range q {
		averages(t, "θ", theta[j], d.Mean[j])
		averages(t, "Var θ", squaredAbout(theta[j], d.Mean[j]), variance[j])
		follows(t, "θ", theta[j], thetaCDF(d, j))
	}
	follows(t, "σ²", sigma2, distuv.InverseGamma{Alpha: d.Shape, Beta: d.Scale}.CDF)
	follows(t, "dᵀΛd/σ²", quad, distuv.ChiSquared{K: float64(q)}.CDF) // correlations, and θ's scale given σ²
}

func squaredAbout(x []float64, m float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = (v - m) * (v - m)
	}
	return y
}

// logNIG is gonum's log density at (θ, σ²).
func logNIG(d *NIG, theta []float64, sigma2 float64) float64 {
	precision := mat.NewSymDense(d.Dim(), slices.Clone(d.Precision))
	precision.ScaleSym(1/sigma2, precision)
	normal, ok := distmv.NewNormalPrecision(d.Mean, precision, nil)
	if !ok {
		panic("gonum refused")
	}
	return normal.LogProb(theta) + distuv.InverseGamma{Alpha: d.Shape, Beta: d.Scale}.LogProb(sigma2)
}

// regression draws n rows (1, x, …) and y = θᵀx + σe, and their statistics.
func regression(theta []float64, sigma float64, n int, normal func() float64) (x [][]float64, y, xx, xy []float64, yy float64) {
	q := len(theta)
	xx, xy = make([]float64, q*q), make([]float64, q)
	for range n {
		row := []float64{1}
		for len(row) < q {
			row = append(row, normal())
		}
		v := sigma * normal()
		for j, u := range row {
			v += theta[j] * u
		}
		for j, u := range row {
			xy[j] += u * v
			for k, w := range row {
				xx[j*q+k] += u * w
			}
		}
		x, y = append(x, row), append(y, v)
		yy += v * v
	}
	return
}

// TestNIGUpdateIsBayes: log prior + log likelihood − log posterior is the same
// number, the evidence, at every (θ, σ²); and the evidence of two batches is
// the product of that of the first and that of the second given the first.
func TestNIGUpdateIsBayes(t *testing.T) {
	prior, rng := testNIG(), source()
	q := prior.Dim()
	for _, n := range []int{0, 1, 2, 10, 200} {
		x, y, xx, xy, yy := regression([]float64{1, 2, -3}, .7, n, rng.NormFloat64)
		before, after := NewNIGSampler(q), NewNIGSampler(q)
		post := prior.Clone()
		if !before.Set(prior) || !after.Update(post, prior, xx, xy, yy, float64(n)) {
			t.Fatal("refused")
		}
		theta := make([]float64, q)
		var first float64
		for i := range 20 {
			sigma2 := before.Rand(theta, rng)
			evidence := logNIG(prior, theta, sigma2) - logNIG(post, theta, sigma2)
			for r, row := range x {
				e := y[r]
				for j, u := range row {
					e -= theta[j] * u
				}
				evidence -= (math.Log(2*math.Pi*sigma2) + e*e/sigma2) / 2
			}
			if i == 0 {
				first = evidence
			}
			// Terms of up to 1e6 in size cancel.
			if math.Abs(evidence-first) > 1e-8*(1+math.Abs(first)) {
				t.Errorf("n=%d: evidence %.12g and %.12g", n, first, evidence)
			}
		}
	}
}

// TestNIGCalibrated draws truth and data from the prior: the posterior's cdf
// at the truth is uniform, as is the rank of the truth among draws (Cook,
// Gelman & Rubin 2006).
func TestNIGCalibrated(t *testing.T) {
	prior, rng := testNIG(), source()
	q := prior.Dim()
	truth, s := NewNIGSampler(q), NewNIGSampler(q)
	truth.Set(prior)
	post, theta, x := prior.Clone(), make([]float64, q), make([]float64, q)
	u := make([][]float64, 2*q+2)
	for range 10000 {
		sigma2 := truth.Rand(theta, rng)
		_, _, xx, xy, yy := regression(theta, math.Sqrt(sigma2), 6, rng.NormFloat64)
		if !s.Update(post, prior, xx, xy, yy, 6) {
			t.Fatal("refused")
		}
		for j := range q {
			u[j] = append(u[j], thetaCDF(post, j)(theta[j]))
		}
		u[q] = append(u[q], distuv.InverseGamma{Alpha: post.Shape, Beta: post.Scale}.CDF(sigma2))
		const ranks = 31
		var below [4]float64
		for range ranks {
			if s.Rand(x, rng) < sigma2 {
				below[q]++
			}
			for j := range q {
				if x[j] < theta[j] {
					below[j]++
				}
			}
		}
		for j := range q + 1 { // a uniform jitter makes the rank continuous
			u[q+1+j] = append(u[q+1+j], (below[j]+rng.Float64())/(ranks+1))
		}
	}
	for _, v := range u {
		follows(t, "posterior probability of the truth", v, uniform)
	}
}

func TestNIGUpdateRefuses(t *testing.T) {
	prior := testNIG()
	s, post := NewNIGSampler(3), prior.Clone()
	zero, m := make([]float64, 9), make([]float64, 3)
	indefinite := append([]float64(nil), zero...)
	indefinite[4] = -2
	for _, c := range []struct {
		xx []float64
		yy float64
	}{{indefinite, 1}, {zero, -1e6}, {zero, math.NaN()}} {
		if s.Update(post, prior, c.xx, m, c.yy, 10) {
			t.Error("accepted an improper posterior")
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a sampler without a law drew")
				}
			}()
			s.Rand(m, source())
		}()
	}
}

func TestNoAllocation(t *testing.T) {
	prior, rng := testNIG(), source()
	_, _, xx, xy, yy := regression([]float64{1, 2, -3}, .7, 50, rng.NormFloat64)
	s, post, theta := NewNIGSampler(3), prior.Clone(), make([]float64, 3)
	w, niw := NewNIWSampler(2), testNIW()
	niwPost, mu, tau := niw.Clone(), make([]float64, 2), make([]float64, 4)
	if n := testing.AllocsPerRun(100, func() {
		s.Update(post, prior, xx, xy, yy, 50)
		s.Rand(theta, rng)
		w.Update(niwPost, niw, 50, []float64{1, 2}, []float64{50, 3, 3, 60})
		w.Rand(mu, tau, rng)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestVarThetaUndefined(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for shape, want := range map[float64]float64{.3: nan, .5: nan, .8: inf, 1: inf, 1.5: 1, 2: .5} {
		d := &NIG{Mean: []float64{1}, Precision: []float64{2}, Shape: shape, Scale: 1}
		var got [1]float64
		if d.VarTheta(got[:]); got[0] != want && !math.IsNaN(got[0]+want) && !(math.Abs(got[0]-want) < 1e-14) {
			t.Errorf("shape %g: Var θ is %g, want %g", shape, got[0], want)
		}
	}
}

const bits = 400

func number(v float64) *big.Float { return new(big.Float).SetPrec(bits).SetFloat64(v) }

func times(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(bits).Mul(a, b) }

// exactScale returns b_n from the same float64 statistics in 400 bits, by
// eliminating the bordered matrix [Λ_n, Xᵀy+Λ₀μ₀; ·, yᵀy+μ₀ᵀΛ₀μ₀].
func exactScale(prior *NIG, xx, xy []float64, yy float64) float64 {
	q := prior.Dim()
	m := make([][]*big.Float, q+1)
	for i := range m {
		m[i] = make([]*big.Float, q+1)
		for j := range m[i] {
			m[i][j] = number(0)
		}
	}
	for i := range q {
		m[i][q].SetFloat64(xy[i])
		for j := range q {
			l := number(prior.Precision[i*q+j])
			m[i][j].Add(number(xx[i*q+j]), l)
			m[i][q].Add(m[i][q], times(l, number(prior.Mean[j])))
		}
	}
	m[q][q].SetFloat64(yy)
	for i := range q {
		m[q][i].Set(m[i][q])
		lm := new(big.Float).SetPrec(bits).Sub(m[i][q], number(xy[i])) // (Λ₀μ₀)_i
		m[q][q].Add(m[q][q], times(lm, number(prior.Mean[i])))
	}
	for k := range q {
		for i := k + 1; i <= q; i++ {
			f := new(big.Float).SetPrec(bits).Quo(m[i][k], m[k][k])
			for j := k; j <= q; j++ {
				m[i][j].Sub(m[i][j], times(f, m[k][j]))
			}
		}
	}
	b, _ := m[q][q].Float64()
	return prior.Scale + b/2
}

// scaleBound is the docstring's promise: a few units in the last place of
// yᵀy + |μ|ᵀ|XᵀX||μ|, and of b_n itself.
func scaleBound(post *NIG, xx []float64, yy float64) float64 {
	q := post.Dim()
	size := yy + post.Scale
	for i := range q {
		for j := range q {
			size += math.Abs(post.Mean[i] * xx[i*q+j] * post.Mean[j])
		}
	}
	return 4 * float64(q) * 0x1p-53 * size
}

// TestNIGScalePrecision: b_n where the textbook's formula has no digit left.
func TestNIGScalePrecision(t *testing.T) {
	rng := source()
	const cell = 0x1p-20 // rows on a lattice: sums of fewer than 2¹³ products are exact
	onLattice := func() float64 { return math.Floor(rng.Float64()*2/cell)*cell - 1 }
	truth := []float64{.25, .5, -.125}
	for _, c := range []struct {
		name  string
		mean  []float64
		tight float64 // prior precision
		noise float64
		n     int
	}{
		{"usual", []float64{0, 0, 0}, 1, .1, 1000},
		{"high signal to noise", []float64{0, 0, 0}, 1e-3, 1e-6, 8000},
		{"noiseless", []float64{0, 0, 0}, 1e-6, 0, 4000},
		{"tight prior far away", []float64{1e6, -1e6, 1e6}, 1e12, .1, 100},
		{"tight prior at the truth", truth, 1e20, 1e-5, 100},
		{"loose prior far away", []float64{1e5, 1e5, 1e5}, 1e-14, .1, 1000},
		{"no data", []float64{1, 2, 3}, 1e8, .1, 0},
		{"fewer rows than coefficients", []float64{0, 0, 0}, 1e-2, .1, 2},
	} {
		prior := made(NewNIG(c.mean, []float64{c.tight, 0, 0, 0, c.tight, 0, 0, 0, c.tight}, 2, 1e-9))
		_, _, xx, xy, yy := regression(truth, c.noise, c.n, onLattice)
		s, post := NewNIGSampler(3), prior.Clone()
		if !s.Update(post, prior, xx, xy, yy, float64(c.n)) {
			t.Errorf("%s: refused, b_n = %g", c.name, post.Scale)
			continue
		}
		want := exactScale(prior, xx, xy, yy)
		if off := math.Abs(post.Scale - want); !(off <= scaleBound(post, xx, yy)) {
			t.Errorf("%s: b_n = %.17g, exactly %.17g, off by %.2g, bound %.2g", c.name, post.Scale, want, off, scaleBound(post, xx, yy))
		}
	}
}
