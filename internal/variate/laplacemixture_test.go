package variate

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

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
			x := draws(sample, func() float64 { return LaplaceMixture(b, -rho*b, rng) })
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
	x := draws(sample, func() float64 {
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
