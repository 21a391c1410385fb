package gibbs

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/release"
)

// TestLatent: of each part's law Q and b are MᵀΛM and Mᵀg, M the part's directions in s, Λ and g
// the precision and the slope at s of N(nμ_t, nΣ_t)·N(z, diag ω²) by its dense covariance; and a
// step leaves what is kept of s as it would be afresh.
func TestLatent(t *testing.T) {
	rng := rand.New(rand.NewPCG(63, 1))
	for _, p := range []int{1, 2, 4} {
		for _, size := range []float64{1e-3, 1, 1e3} { // of the noise, in sds of s
			for range 5 {
				k := newJoint(t, p, 50, 1).start(rng).site
				x, m, q := k.latent, k.latent.m, k.q
				k.law.Set(k.params)
				k.moments.Factor()
				k.moments.RandExact(k.s, k.n, rng)
				covariance := make([]float64, q*q)
				k.law.Covariance(covariance, k.n)
				for i := range k.omega2 {
					k.omega2[i] = size * size * covariance[i*q+i] * rng.ExpFloat64()
				}
				observeAnew(k.state, rng)
				x.hold()
				for part := range m + 2 {
					q0, b0 := denseStep(t, k, covariance, directions(part, m, k.moments.Mean))
					x.load(part)
					for i := range m {
						if d := x.b[i] - b0[i]; !(math.Abs(d) < 1e-9*math.Sqrt(q0[i*m+i])*(1+math.Abs(b0[i])/math.Sqrt(q0[i*m+i]))) {
							t.Errorf("p = %d, noise %g, part %d: b_%d is %g, not %g", p, size, part, i, x.b[i], b0[i])
						}
						for j := range i + 1 {
							if d := x.q[i*m+j] - q0[i*m+j]; !(math.Abs(d) < 1e-10*math.Sqrt(q0[i*m+i]*q0[j*m+j])) {
								t.Errorf("p = %d, noise %g, part %d: Q_%d%d is %g, not %g", p, size, part, i, j, x.q[i*m+j], q0[i*m+j])
							}
						}
					}
					if !x.turn(rng) {
						t.Fatal("no factor")
					}
					x.take(part)
					copy(k.resid, x.to)
					for i, z := range k.obs.Z {
						k.s[i] = z - x.to[i]
					}
					r, e := append([]float64(nil), x.r...), append([]float64(nil), x.e...)
					x.hold()
					for i := range m {
						if d := e[i] - x.e[i]; !(math.Abs(d) < 1e-9*k.n) {
							t.Errorf("part %d: L⁻¹δ is off by %g", part, d)
						}
						for j := range i + 1 {
							if d := r[i*m+j] - x.r[i*m+j]; !(math.Abs(d) < 1e-9*k.n) {
								t.Errorf("part %d: L⁻¹EL⁻ᵀ is off by %g", part, d)
							}
						}
					}
				}
			}
		}
	}
}

// directions are the derivatives of s in the step Δ of a part, q×m.
func directions(part, m int, mean []float64) *mat.Dense {
	d := mat.NewDense(m+m*(m+1)/2, m, nil)
	for i := range m {
		if part < 2 {
			d.Set(i, i, 1)
		}
		for j := range m {
			at := release.Index(m, i, j)
			switch part {
			case 0: // S_ij moves by μ_iΔ_j + μ_jΔ_i
				d.Set(at, j, d.At(at, j)+mean[i]*weight(i, j))
				d.Set(at, i, d.At(at, i)+mean[j]*weight(i, j))
			case 1:
			default:
				if i == part-2 {
					d.Set(at, j, 1+number.Indicator[float64](i == j))
				}
			}
		}
	}
	return d
}

// weight counts a pair of columns once, in whichever order it comes.
func weight(i, j int) float64 {
	if i == j {
		return 1
	}
	return 0.5
}

// denseStep returns Q and b of directions d by the dense law.
func denseStep(t *testing.T, k *site, covariance []float64, d *mat.Dense) (q0, b0 []float64) {
	t.Helper()
	q := k.q
	_, m := d.Dims()
	full := append([]float64(nil), covariance...)
	dense.Symmetrise(full, q)
	var factor mat.Cholesky
	if !factor.Factorize(mat.NewSymDense(q, full)) {
		t.Fatal("no factor")
	}
	slope := mat.NewVecDense(q, nil)
	k.law.Expect(slope.RawVector().Data, k.n)
	slope.SubVec(slope, mat.NewVecDense(q, append([]float64(nil), k.s...)))
	var g, b mat.VecDense
	var solved, precision mat.Dense
	if factor.SolveVecTo(&g, slope) != nil || factor.SolveTo(&solved, d) != nil {
		t.Fatal("no solution")
	}
	var noisy mat.Dense
	noisy.CloneFrom(d)
	for i, w := range k.omega2 {
		g.SetVec(i, g.AtVec(i)+k.resid[i]/w)
		for j := range m {
			noisy.Set(i, j, d.At(i, j)/w)
		}
	}
	solved.Add(&solved, &noisy)
	precision.Mul(d.T(), &solved)
	b.MulVec(d.T(), &g)
	return precision.RawMatrix().Data, b.RawVector().Data
}
