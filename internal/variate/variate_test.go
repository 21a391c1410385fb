package variate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
)

// falseAlarm is the chance of a failure without a fault for one comparison.
// About a hundred are made in this package, on fixed seeds.
const falseAlarm = 1e-7

// zLimit is the standard normal quantile of falseAlarm, two-sided.
var zLimit = -distuv.UnitNormal.Quantile(falseAlarm / 2)

func source() *rand.Rand { return rand.New(rand.NewPCG(20, 26)) }

func draws(n int, f func() float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = f()
	}
	return x
}

// follows tests a sample against a continuous cdf.
func follows(t *testing.T, what string, x []float64, cdf func(float64) float64) {
	t.Helper()
	must.Follows(t, what, x, cdf, falseAlarm)
}

// averages tests the mean of a sample against its expectation, given the
// standard deviation of one draw; n is large enough for the normal law.
func averages(t *testing.T, what string, x []float64, mean, sd float64) {
	t.Helper()
	var s float64
	for _, v := range x {
		s += v / float64(len(x))
	}
	if limit := zLimit * sd / math.Sqrt(float64(len(x))); !(math.Abs(s-mean) <= limit) {
		t.Errorf("%s: mean %g, expected %g ± %g", what, s, mean, limit)
	}
}

func sample() int { return testsize.Of(50_000, 200_000) }

func TestGamma(t *testing.T) {
	rng := source()
	for _, shape := range []float64{.05, .3, .99, 1, 1.5, 3, 20, 1e4} {
		law := distuv.Gamma{Alpha: shape, Beta: 1}
		x := draws(sample(), func() float64 { return Gamma(shape, rng) })
		averages(t, fmt.Sprint("gamma ", shape), x, shape, math.Sqrt(shape))
		follows(t, fmt.Sprint("gamma ", shape), x, law.CDF)
	}
	for _, dof := range []float64{.5, 1, 7.5} {
		x := draws(sample(), func() float64 { return Chi2(dof, rng) })
		follows(t, fmt.Sprint("chi-squared ", dof), x, distuv.ChiSquared{K: dof}.CDF)
	}
	law := distuv.InverseGamma{Alpha: 3, Beta: 2}
	x := draws(sample(), func() float64 { return InverseGamma(3, 2, rng) })
	follows(t, "inverse gamma", x, law.CDF)
}

func TestGammaExtremes(t *testing.T) {
	rng := source()
	for _, shape := range []float64{1e-300, 1e-5, 1e15, 1e300} {
		for range 1000 {
			if g := Gamma(shape, rng); !(g >= 0 && g <= math.MaxFloat64) {
				t.Fatalf("gamma %g: drew %g", shape, g)
			}
		}
	}
	for _, shape := range []float64{0, -1, math.NaN()} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("shape %g: no panic", shape)
				}
			}()
			Gamma(shape, rng)
		}()
	}
}

// mills returns (1 − Φ(z))/φ(z) for z ≥ 0.
func mills(z float64) float64 {
	if z < 20 {
		return math.Erfc(z/math.Sqrt2) / 2 * math.Sqrt(2*math.Pi) * math.Exp(z*z/2)
	}
	s := 1 / (z * z)
	return (1 - s*(1-s*(3-15*s))) / z // error below 105/z⁸ < 1e-8
}

// reciprocalCDF is the cdf of reciprocal's law. With z₁ = (v−ρ)/√v and
// z₂ = (v+ρ)/√v, that of the inverse Gaussian at 1/v gives
//
//	Φ(z₁) − e^{2ρ}Φ(−z₂) = Φ(z₁) − φ(z₁) (1−Φ(z₂))/φ(z₂).
func reciprocalCDF(v, rho float64) float64 {
	if v < 1e-30*rho { // limit: both terms vanish, and z₂ overflows
		return 0
	}
	s := math.Sqrt(v)
	z1, z2 := s-rho/s, s+rho/s
	return max(0, distuv.UnitNormal.CDF(z1)-distuv.UnitNormal.Prob(z1)*mills(z2))
}

func TestLaplaceMixture(t *testing.T) {
	rng := source()
	for _, b := range []float64{.3, 5} {
		for _, rho := range []float64{0, 1e-300, 1e-12, .01, .5, 1, 4, 100, 1e4} {
			what := fmt.Sprintf("ω²(b=%g, r=%g·b)", b, rho)
			x := draws(sample(), func() float64 { return LaplaceMixture(b, -rho*b, rng) })
			mean, sd := b*b*(1+rho), b*b*math.Sqrt(2+rho)
			averages(t, what, x, mean, sd)
			follows(t, what, x, func(w float64) float64 { return reciprocalCDF(w/b/b, rho) })
		}
	}
}

func TestLaplaceMixtureExtremes(t *testing.T) {
	rng := source()
	for _, rho := range []float64{0, 1e-300, 1e-160, 1e160, 1e300} {
		for range 1000 {
			w := LaplaceMixture(1, rho, rng)
			if !(w > 0 && w <= math.MaxFloat64) {
				t.Fatalf("r/b = %g: drew %g", rho, w)
			}
			if rho > 1e20 && math.Abs(w/rho-1) > 1e-9 {
				t.Fatalf("r/b = %g: drew %g, not near b|r|", rho, w)
			}
			if l := LaplaceMixtureLogDensity(w, 1, rho); math.IsNaN(l) || math.IsInf(l, 1) {
				t.Fatalf("r/b = %g: log density %g at %g", rho, l, w)
			}
		}
	}
}

// TestLaplaceMixtureMargin draws r from the Laplace law and ω² given r: ω² is
// then exponential of mean 2b², whatever the derivation above says.
func TestLaplaceMixtureMargin(t *testing.T) {
	rng := source()
	const b = 3
	x := draws(sample(), func() float64 {
		return LaplaceMixture(b, b*(rng.ExpFloat64()-rng.ExpFloat64()), rng)
	})
	follows(t, "ω²", x, distuv.Exponential{Rate: 1 / (2. * b * b)}.CDF)
}

// TestLaplaceMixtureLogDensity integrates the density over intervals of log ω²
// and compares with the cdf; the trapezoid rule is exact to 1e-8 here.
func TestLaplaceMixtureLogDensity(t *testing.T) {
	for _, b := range []float64{.2, 4} {
		for _, rho := range []float64{1e-3, .7, 10} {
			density := func(u float64) float64 {
				w := math.Exp(u)
				return w * math.Exp(LaplaceMixtureLogDensity(w, b, rho*b))
			}
			const steps = 40000
			lo, hi := -30+2*math.Log(b), 5+2*math.Log(b)
			h := (hi - lo) / steps
			total := 0.0
			for i := 1; i <= steps; i++ {
				u := lo + float64(i)*h
				total += h * (density(u-h) + density(u)) / 2
				if i%5000 == 0 {
					want := reciprocalCDF(math.Exp(u)/b/b, rho) - reciprocalCDF(math.Exp(lo)/b/b, rho)
					if math.Abs(total-want) > 1e-6 {
						t.Errorf("b=%g r/b=%g: ∫ to %g is %g, cdf %g", b, rho, u, total, want)
					}
				}
			}
		}
	}
}

// correlated returns a lower triangular factor, with NaN above, where nothing
// may look.
func correlated(p int) []float64 {
	l := make([]float64, p*p)
	for i := range p {
		for j := range p {
			switch {
			case j < i:
				l[i*p+j] = .5 - .3*float64(j)
			case j == i:
				l[i*p+i] = 1 + .5*float64(i)
			default:
				l[i*p+j] = math.NaN()
			}
		}
	}
	return l
}

func lowerTriangular(t *testing.T, a []float64, p int) {
	t.Helper()
	for i := range p {
		for j := i + 1; j < p; j++ {
			if a[i*p+j] != 0 {
				t.Fatalf("%g above the diagonal", a[i*p+j])
			}
		}
	}
}

// TestWishartFactor uses that uᵀWu/uᵀu ~ χ²(dof) for every fixed u, and that
// uᵀu/uᵀW⁻¹u ~ χ²(dof − p + 1) (Muirhead 1982, theorems 3.2.8, 3.2.12); several
// u see the correlations too.
func TestWishartFactor(t *testing.T) {
	rng := source()
	for _, p := range []int{1, 2, 3, 5} {
		for _, dof := range []float64{float64(p) - .5, float64(p) + 6.5} {
			a, y := make([]float64, p*p), make([]float64, p)
			for k := range p {
				u := make([]float64, p)
				for i := range u {
					u[i] = math.Cos(float64(1 + i*(k+2)))
				}
				uu := norm2(u)
				var quad, inverse []float64
				for range testsize.Of(6000, 20000) {
					WishartFactor(a, p, dof, rng)
					lowerTriangular(t, a, p)
					dense.MulLowerTVec(y, a, p, u)
					quad = append(quad, norm2(y)/uu)
					copy(y, u)
					dense.SolveLower(a, p, y)
					inverse = append(inverse, uu/norm2(y))
				}
				what := fmt.Sprintf("Wishart p=%d dof=%g", p, dof)
				follows(t, what, quad, distuv.ChiSquared{K: dof}.CDF)
				follows(t, what+" inverse", inverse, distuv.ChiSquared{K: dof - float64(p) + 1}.CDF)
			}
		}
	}
}

func norm2(x []float64) (s float64) {
	for _, v := range x {
		s += v * v
	}
	return s
}

// TestInverseWishartFactor uses, with T = FFᵀ, T⁻¹ ~ Wishart(Ψ⁻¹, dof): uᵀΨu/uᵀTu ~ χ²(dof − p + 1)
// and uᵀT⁻¹u/uᵀΨ⁻¹u ~ χ²(dof) for fixed u.
func TestInverseWishartFactor(t *testing.T) {
	rng := source()
	for _, p := range []int{1, 2, 3, 5} {
		c := correlated(p)
		for _, dof := range []float64{float64(p) - .5, float64(p) + 6.5} {
			full, f := make([]float64, p*p), make([]float64, p*p)
			y, work := make([]float64, p), make([]float64, p)
			for k := range p {
				u := make([]float64, p)
				for i := range u {
					u[i] = math.Cos(float64(1 + i*(k+2)))
				}
				dense.MulLowerTVec(y, c, p, u)
				psi := norm2(y)
				copy(y, u)
				dense.SolveLower(c, p, y)
				psiInverse := norm2(y)
				var quad, inverse []float64
				for range testsize.Of(6000, 20000) {
					InverseWishartFactor(f, c, p, dof, work, rng)
					lowerTriangular(t, f, p)
					dense.LLt(full, f, p)
					quad = append(quad, psi/dense.QuadForm(full, p, u))
					copy(y, u)
					dense.SolveLower(f, p, y)
					inverse = append(inverse, norm2(y)/psiInverse)
				}
				what := fmt.Sprintf("inverse Wishart p=%d dof=%g", p, dof)
				follows(t, what, quad, distuv.ChiSquared{K: dof - float64(p) + 1}.CDF)
				follows(t, what+" inverse", inverse, distuv.ChiSquared{K: dof}.CDF)
			}
		}
	}
}

func TestNoAllocation(t *testing.T) {
	rng := source()
	const p = 4
	c := correlated(p)
	full, work := make([]float64, p*p), make([]float64, p*p)
	if got := testing.AllocsPerRun(10, func() {
		Gamma(.5, rng)
		LaplaceMixture(1, 2, rng)
		WishartFactor(full, p, 9, rng)
		InverseWishartFactor(full, c, p, 9, work, rng)
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
}
