package conjugate

import (
	"math"
	"testing"

	"github.com/dpreg/dpreg/internal/dense"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/distuv"
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
	theta, sigma2, sigma := make([][]float64, q), make([]float64, draws), make([]float64, draws)
	quad := make([]float64, draws)
	x := make([]float64, q)
	for i := range draws {
		sigma2[i] = s.Rand(x, rng)
		sigma[i] = math.Sqrt(sigma2[i])
		for j, v := range x {
			theta[j] = append(theta[j], v)
			x[j] = v - d.Mean[j]
		}
		quad[i] = dense.QuadForm(d.Precision, q, x) / sigma2[i]
	}
	mean, variance := make([]float64, q), make([]float64, q)
	d.MeanTheta(mean)
	d.VarTheta(variance)
	for j := range q {
		averages(t, "θ", theta[j], mean[j])
		averages(t, "Var θ", squaredAbout(theta[j], mean[j]), variance[j])
		follows(t, "θ", theta[j], thetaCDF(d, j))
	}
	averages(t, "σ²", sigma2, d.MeanSigma2())
	averages(t, "σ", sigma, d.MeanSigma())
	averages(t, "Var σ", squaredAbout(sigma, d.MeanSigma()), d.VarSigma())
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

// TestNIGLogDensity compares with gonum's inverse gamma and normal densities.
func TestNIGLogDensity(t *testing.T) {
	d, rng := testNIG(), source()
	q := d.Dim()
	s := NewNIGSampler(q)
	s.Set(d)
	l, cov := append([]float64(nil), d.Precision...), make([]float64, q*q)
	dense.Cholesky(l, q)
	dense.InverseFromCholesky(cov, l, q)
	theta := make([]float64, q)
	for range 100 {
		sigma2 := s.Rand(theta, rng)
		c := mat.NewSymDense(q, nil)
		for i := range q {
			for j := range q {
				c.SetSym(i, j, sigma2*cov[i*q+j])
			}
		}
		normal, ok := distmv.NewNormal(d.Mean, c, nil)
		if !ok {
			t.Fatal("gonum refused")
		}
		want := normal.LogProb(theta) + distuv.InverseGamma{Alpha: d.Shape, Beta: d.Scale}.LogProb(sigma2)
		if got := s.LogDensity(theta, sigma2); math.Abs(got-want) > 1e-11 {
			t.Errorf("log density %g, want %g", got, want)
		}
	}
	for _, v := range []float64{0, -1, math.NaN()} {
		if got := s.LogDensity(theta, v); !math.IsInf(got, -1) {
			t.Errorf("σ² = %g: log density %g", v, got)
		}
	}
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
			evidence := before.LogDensity(theta, sigma2) - after.LogDensity(theta, sigma2)
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
		s.LogDensity(theta, s.Rand(theta, rng))
		w.Update(niwPost, niw, 50, []float64{1, 2}, []float64{50, 3, 3, 60})
		w.Rand(mu, tau, rng)
		w.LogDensity(mu, tau)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
