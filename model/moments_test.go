package model

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/dense"
)

// randomParams draws parameters far from any special value.
func randomParams(s Shape, rng *rand.Rand) *Params {
	x := NewParams(s)
	for k := range x.Theta {
		x.Theta[k] = rng.NormFloat64()
	}
	x.Sigma2 = 0.1 + rng.Float64()
	a := make([]float64, s.P*s.P)
	for i := range a {
		a[i] = rng.NormFloat64()
	}
	dense.MulABt(x.Tau, a, a, s.P, s.P, s.P)
	for j := range s.P {
		x.MuX[j] = rng.NormFloat64()
		x.Tau[j*s.P+j] += 0.1
	}
	return x
}

var shapes = []Shape{{1, true}, {1, false}, {2, true}, {3, true}, {3, false}, {6, true}}

// row writes t(v) of one row.
func row(dst, v []float64) {
	at := copy(dst, v)
	for j := range v {
		for k := j; k < len(v); k++ {
			dst[at] = v[j] * v[k]
			at++
		}
	}
}

// TestMomentsOfRows compares μ_t and Σ_t with the sample moments of 200,000
// simulated rows' statistics. Each entry's Monte Carlo sd is estimated from the
// rows; the bound of 6 sd makes a false alarm over some 1200 entries 2e-6.
func TestMomentsOfRows(t *testing.T) {
	const n = 200_000
	rng := rand.New(rand.NewPCG(1, 1))
	for _, s := range shapes {
		x, mo := randomParams(s, rng), NewMoments(s)
		mo.Set(x)
		if !mo.Factor() {
			t.Fatal("V is not positive definite")
		}
		m, q := s.M(), s.Statistics()
		mean, cov := make([]float64, q), make([]float64, q*q)
		mo.Expect(mean, 1)
		mo.Covariance(cov, 1)
		l := make([]float64, s.P*s.P)
		copy(l, x.Tau)
		dense.Cholesky(l, s.P)
		sum, prod, prod2 := make([]float64, q), make([]float64, q*q), make([]float64, q*q)
		v, g, d := make([]float64, m), make([]float64, s.P), make([]float64, q)
		for range n {
			y := math.Sqrt(x.Sigma2) * rng.NormFloat64()
			if s.Intercept {
				y += x.Theta[0]
			}
			for j := range g {
				g[j] = rng.NormFloat64()
			}
			for j := range g {
				v[j] = x.MuX[j]
				for k := 0; k <= j; k++ {
					v[j] += l[j*s.P+k] * g[k]
				}
				y += x.Theta[s.first()+j] * v[j]
			}
			v[s.P] = y
			row(d, v)
			for r := range d {
				d[r] -= mean[r]
				sum[r] += d[r]
				for c := range r + 1 {
					p := d[r] * d[c]
					prod[r*q+c] += p
					prod2[r*q+c] += p * p
				}
			}
		}
		for r := range q {
			if e, sd := sum[r]/n, math.Sqrt(cov[r*q+r]/n); math.Abs(e) > 6*sd {
				t.Errorf("%+v: mean %d is off by %g, %g sd", s, r, e, e/sd)
			}
			for c := range r + 1 {
				e := prod[r*q+c]/n - cov[r*q+c]
				sd := math.Sqrt((prod2[r*q+c]/n - prod[r*q+c]/n*prod[r*q+c]/n) / n)
				if math.Abs(e) > 6*sd {
					t.Errorf("%+v: covariance %d,%d is off by %g, %g sd", s, r, c, e, e/sd)
				}
			}
		}
	}
}

// TestRandMoments draws from the CLT's law and from the exact one, which share
// mean and covariance, and compares both with Expect and Covariance. The bound
// of 6 Monte Carlo sds makes a false alarm over some 2400 entries 5e-6.
func TestRandMoments(t *testing.T) {
	const n, draws = 40, 100_000
	rng := rand.New(rand.NewPCG(2, 1))
	for _, s := range shapes {
		mo := NewMoments(s)
		mo.Set(randomParams(s, rng))
		mo.Factor()
		q := s.Statistics()
		mean, cov := make([]float64, q), make([]float64, q*q)
		mo.Expect(mean, n)
		mo.Covariance(cov, n)
		for name, draw := range map[string]func([]float64, float64, *rand.Rand){"CLT": mo.Rand, "exact": mo.RandExact} {
			d := make([]float64, q)
			sum, prod, prod2 := make([]float64, q), make([]float64, q*q), make([]float64, q*q)
			for range draws {
				draw(d, n, rng)
				for r := range d {
					d[r] -= mean[r]
					sum[r] += d[r]
					for c := range r + 1 {
						p := d[r] * d[c]
						prod[r*q+c] += p
						prod2[r*q+c] += p * p
					}
				}
			}
			for r := range q {
				if e, sd := sum[r]/draws, math.Sqrt(cov[r*q+r]/draws); math.Abs(e) > 6*sd {
					t.Errorf("%s %+v: mean %d is off by %g, %g sd", name, s, r, e, e/sd)
				}
				for c := range r + 1 {
					e := prod[r*q+c]/draws - cov[r*q+c]
					sd := math.Sqrt((prod2[r*q+c]/draws - prod[r*q+c]/draws*prod[r*q+c]/draws) / draws)
					if math.Abs(e) > 6*sd {
						t.Errorf("%s %+v: covariance %d,%d is off by %g, %g sd", name, s, r, c, e, e/sd)
					}
				}
			}
		}
	}
}

// TestAdjoint compares Adjoint with central differences of a random linear
// function of (nμ_t, nΣ_t), along random directions in (μ, V).
func TestAdjoint(t *testing.T) {
	const n, h = 7, 1e-5
	rng := rand.New(rand.NewPCG(3, 1))
	for _, s := range shapes {
		m, q := s.M(), s.Statistics()
		mo := NewMoments(s)
		mo.Set(randomParams(s, rng))
		alpha, w := make([]float64, q), make([]float64, q*q)
		for i := range alpha {
			alpha[i] = rng.NormFloat64()
			for j := range i + 1 {
				w[i*q+j] = rng.NormFloat64()
			}
		}
		f := func() float64 {
			mean, cov := make([]float64, q), make([]float64, q*q)
			mo.Expect(mean, n)
			mo.Covariance(cov, n)
			sum := 0.0
			for r := range q {
				sum += alpha[r]*mean[r] + w[r*q+r]*cov[r*q+r]
				for c := range r {
					sum += 2 * w[r*q+c] * cov[r*q+c]
				}
			}
			return sum
		}
		gMean, gCov := make([]float64, m), make([]float64, m*m)
		mo.Adjoint(gMean, gCov, alpha, w, n)
		dMean, dCov := make([]float64, m), make([]float64, m*m)
		want := 0.0
		for j := range m {
			dMean[j] = rng.NormFloat64()
			for k := range j + 1 {
				d := rng.NormFloat64()
				dCov[j*m+k], dCov[k*m+j] = d, d
			}
		}
		for j := range dMean {
			want += gMean[j] * dMean[j]
		}
		for j := range dCov {
			want += gCov[j] * dCov[j]
		}
		move := func(h float64) float64 {
			for j := range dMean {
				mo.Mean[j] += h * dMean[j]
			}
			for j := range dCov {
				mo.Cov[j] += h * dCov[j]
			}
			return f()
		}
		up := move(h)
		got := (up - move(-2*h)) / (2 * h)
		if math.Abs(got-want) > 1e-6*(1+math.Abs(want)) {
			t.Errorf("%+v: difference quotient %g, gradient %g", s, got, want)
		}
	}
}

func BenchmarkCovariance(b *testing.B) {
	for _, p := range []int{1, 5, 10} {
		b.Run(shapeName(p), func(b *testing.B) {
			s := Shape{P: p, Intercept: true}
			mo := NewMoments(s)
			mo.Set(randomParams(s, rand.New(rand.NewPCG(1, 2))))
			q := s.Statistics()
			cov := make([]float64, q*q)
			for b.Loop() {
				mo.Covariance(cov, 100)
			}
		})
	}
}

func BenchmarkAdjoint(b *testing.B) {
	for _, p := range []int{1, 5, 10} {
		b.Run(shapeName(p), func(b *testing.B) {
			s := Shape{P: p, Intercept: true}
			mo := NewMoments(s)
			mo.Set(randomParams(s, rand.New(rand.NewPCG(1, 2))))
			m, q := s.M(), s.Statistics()
			alpha, w := make([]float64, q), make([]float64, q*q)
			gMean, gCov := make([]float64, m), make([]float64, m*m)
			for b.Loop() {
				mo.Adjoint(gMean, gCov, alpha, w, 100)
			}
		})
	}
}

func BenchmarkRand(b *testing.B) {
	for _, p := range []int{1, 5, 10} {
		b.Run(shapeName(p), func(b *testing.B) {
			s := Shape{P: p, Intercept: true}
			rng := rand.New(rand.NewPCG(1, 2))
			mo := NewMoments(s)
			mo.Set(randomParams(s, rng))
			mo.Factor()
			dst := make([]float64, s.Statistics())
			for b.Loop() {
				mo.Rand(dst, 100, rng)
			}
		})
	}
}

func shapeName(p int) string { return "p=" + string(rune('0'+p/10)) + string(rune('0'+p%10)) }
