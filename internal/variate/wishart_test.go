package variate

import (
	"fmt"
	"math"
	"testing"

	"github.com/dpreg/dpreg/internal/dense"
	"gonum.org/v1/gonum/stat/distuv"
)

func identity(p int) []float64 {
	a := make([]float64, p*p)
	for i := range p {
		a[i*p+i] = 1
	}
	return a
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
				for range 20000 {
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
				for range 20000 {
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
