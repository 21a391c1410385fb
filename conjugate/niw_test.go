package conjugate

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/internal/dense"
)

// muCDF returns the cdf of μ_j, Student t with ν−p+1 degrees of freedom.
func muCDF(d *NIW, j int) func(float64) float64 {
	p := d.Dim()
	nu := d.Dof - float64(p) + 1
	return distuv.StudentsT{Mu: d.Mean[j], Sigma: math.Sqrt(d.Scale[j*p+j] / (d.Kappa * nu)), Nu: nu}.CDF
}

// quadCDF returns the cdf of uᵀTu: uᵀΨu/uᵀTu ~ χ²(ν−p+1).
func quadCDF(d *NIW, u []float64) func(float64) float64 {
	law := distuv.ChiSquared{K: d.Dof - float64(d.Dim()) + 1}
	psi := dense.QuadForm(d.Scale, d.Dim(), u)
	return func(v float64) float64 { return law.Survival(psi / v) }
}

func TestNIWRand(t *testing.T) {
	d, rng := testNIW(), source()
	p := d.Dim()
	d.Dof = 14 // fourth moments of T exist, for the standard errors
	s := NewNIWSampler(p)
	if !s.Set(d) {
		t.Fatal("refused")
	}
	mu, tau := make([]float64, p), make([]float64, p*p)
	mus, taus := make([][]float64, p), make([][]float64, p*p)
	var quad, sums []float64
	for range draws {
		s.Rand(mu, tau, rng)
		for i, v := range tau {
			taus[i] = append(taus[i], v)
		}
		sums = append(sums, tau[0]+2*tau[1]+tau[3])
		f := append([]float64(nil), tau...)
		dense.Cholesky(f, p)
		for j, v := range mu {
			mus[j] = append(mus[j], v)
			mu[j] = v - d.Mean[j]
		}
		dense.SolveLower(f, p, mu)
		quad = append(quad, d.Kappa*floats.Dot(mu, mu))
	}
	for j := range p {
		follows(t, "μ", mus[j], muCDF(d, j))
	}
	for i, psi := range d.Scale {
		averages(t, "T", taus[i], psi/(d.Dof-float64(p+1)))
	}
	follows(t, "sum of T", sums, quadCDF(d, []float64{1, 1}))
	follows(t, "T₁₁", taus[0], quadCDF(d, []float64{1, 0}))
	follows(t, "κdᵀT⁻¹d", quad, distuv.ChiSquared{K: float64(p)}.CDF)
}

// logNIW is the log density at (μ, T) by gonum: Wishart's of T⁻¹, times the Jacobian
// |T|^{−(p+1)}, and the normal one of μ.
func logNIW(d *NIW, mu, tau []float64) float64 {
	p := d.Dim()
	inverse := func(a []float64) (*mat.SymDense, float64) {
		var c mat.Cholesky
		out := mat.NewSymDense(p, nil)
		if !c.Factorize(mat.NewSymDense(p, slices.Clone(a))) || c.InverseTo(out) != nil {
			panic("gonum refused")
		}
		return out, c.LogDet()
	}
	psi, _ := inverse(d.Scale)
	precision, logDet := inverse(tau)
	wishart, ok := distmat.NewWishart(psi, d.Dof, nil)
	logp := wishart.LogProbSym(precision) - float64(p+1)*logDet
	precision.ScaleSym(d.Kappa, precision)
	normal, ok2 := distmv.NewNormalPrecision(d.Mean, precision, nil)
	if !ok || !ok2 {
		panic("gonum refused")
	}
	return logp + normal.LogProb(mu)
}

func rows(mu, f []float64, n int, normal func() float64) (x [][]float64, sx, sxx []float64) {
	p := len(mu)
	sx, sxx = make([]float64, p), make([]float64, p*p)
	for range n {
		row := make([]float64, p)
		for j := range row {
			row[j] = normal()
		}
		dense.MulLowerVec(row, f, p, row)
		for j := range row {
			row[j] += mu[j]
			sx[j] += row[j]
		}
		for j := range row {
			for k := range row {
				sxx[j*p+k] += row[j] * row[k]
			}
		}
		x = append(x, row)
	}
	return
}

func TestNIWUpdateIsBayes(t *testing.T) {
	prior, rng := testNIW(), source()
	p := prior.Dim()
	for _, n := range []int{0, 1, 2, 10, 200} {
		x, sx, sxx := rows([]float64{3, -2}, []float64{1, 0, .5, 2}, n, rng.NormFloat64)
		before, after := NewNIWSampler(p), NewNIWSampler(p)
		post := prior.Clone()
		if !before.Set(prior) || !after.Update(post, prior, float64(n), sx, sxx) {
			t.Fatal("refused")
		}
		mu, f, e := make([]float64, p), make([]float64, p*p), make([]float64, p)
		var first float64
		for i := range 20 {
			before.Rand(mu, f, rng)
			evidence := logNIW(prior, mu, f) - logNIW(post, mu, f)
			dense.Cholesky(f, p)
			for _, row := range x {
				for j, v := range row {
					e[j] = v - mu[j]
				}
				dense.SolveLower(f, p, e)
				evidence -= (float64(p)*math.Log(2*math.Pi) + dense.LogDet(f, p) + floats.Dot(e, e)) / 2
			}
			if i == 0 {
				first = evidence
			}
			if math.Abs(evidence-first) > 1e-8*(1+math.Abs(first)) {
				t.Errorf("n=%d: evidence %.12g and %.12g", n, first, evidence)
			}
		}
	}
}

func TestNIWCalibrated(t *testing.T) {
	prior, rng := testNIW(), source()
	p := prior.Dim()
	truth, s := NewNIWSampler(p), NewNIWSampler(p)
	truth.Set(prior)
	post, mu, f, tau := prior.Clone(), make([]float64, p), make([]float64, p*p), make([]float64, p*p)
	u := make([][]float64, 5)
	for range 10000 {
		truth.Rand(mu, tau, rng)
		copy(f, tau)
		dense.Cholesky(f, p)
		_, sx, sxx := rows(mu, f, 5, rng.NormFloat64)
		if !s.Update(post, prior, 5, sx, sxx) {
			t.Fatal("refused")
		}
		for j := range p {
			u[j] = append(u[j], muCDF(post, j)(mu[j]))
		}
		for k, v := range [][]float64{{1, 0}, {0, 1}, {1, 1}} {
			u[p+k] = append(u[p+k], quadCDF(post, v)(dense.QuadForm(tau, p, v)))
		}
	}
	for _, v := range u {
		follows(t, "posterior probability of the truth", v, uniform)
	}
}

// TestNIWUpdateFarPrior: with a prior mean far away and a firm κ₀ the textbook
// subtracts numbers of size κ₀m₀² = 1e16; here the scatter keeps its digits.
// One covariate: Ψ_n = Ψ₀ + Σ(x−x̄)² + κ₀n/κ_n·(x̄−m₀)², known exactly.
func TestNIWUpdateFarPrior(t *testing.T) {
	prior := made(NewNIW([]float64{1e3}, 1e10, []float64{1}, 5))
	s, post := NewNIWSampler(1), prior.Clone()
	// x = 999, 1000, 1001, 1004: x̄ = 1001, scatter 14, distance 1.
	if !s.Update(post, prior, 4, []float64{4004}, []float64{4*1001*1001 + 14}) {
		t.Fatal("refused")
	}
	want := 1 + 14 + 1e10*4/(1e10+4)
	closeTo(t, "Ψ_n", post.Scale[0], want, 16*0x1p-53*4*1001*1001/want)
	if s.Update(post, prior, 4, []float64{4004}, []float64{4*1001*1001 - 1000}) {
		t.Error("accepted an improper posterior")
	}
}
