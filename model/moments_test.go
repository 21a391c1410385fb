package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/testsize"
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

var shapes = []Shape{{P: 1, Intercept: true}, {P: 1, Intercept: false}, {P: 2, Intercept: true}, {P: 3, Intercept: true}, {P: 3, Intercept: false}, {P: 6, Intercept: true}}

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

// sampled compares the mean and covariance of simulated draws with what Expect
// and Covariance say, entry by entry. The Monte Carlo sd of a covariance is
// estimated from the draws. The bound of 6 sds makes a false alarm over the some
// 5000 entries of the tests here 1e-5.
type sampled struct {
	mean, cov        []float64 // what is claimed
	draws            float64
	sum, prod, prod2 []float64 // of deviations, their products, and the squares of those
}

func newSampled(law Law, shape Shape, n float64) *sampled {
	q := shape.Statistics()
	s := &sampled{mean: make([]float64, q), cov: make([]float64, q*q),
		sum: make([]float64, q), prod: make([]float64, q*q), prod2: make([]float64, q*q)}
	law.Expect(s.mean, n)
	law.Covariance(s.cov, n)
	return s
}

// add takes a draw, which it overwrites.
func (s *sampled) add(d []float64) {
	q := len(d)
	s.draws++
	for r := range d {
		d[r] -= s.mean[r]
		s.sum[r] += d[r]
		for c := range r + 1 {
			p := d[r] * d[c]
			s.prod[r*q+c] += p
			s.prod2[r*q+c] += p * p
		}
	}
}

func (s *sampled) check(t *testing.T, what string) {
	t.Helper()
	q := len(s.mean)
	for r := range q {
		if e, sd := s.sum[r]/s.draws, math.Sqrt(s.cov[r*q+r]/s.draws); math.Abs(e) > 6*sd {
			t.Errorf("%s: mean %d is off by %g, %g sd", what, r, e, e/sd)
		}
		for c := range r + 1 {
			i := r*q + c
			p := s.prod[i] / s.draws
			sd := math.Sqrt((s.prod2[i]/s.draws - p*p) / s.draws)
			if e := p - s.cov[i]; math.Abs(e) > 6*sd {
				t.Errorf("%s: covariance %d,%d is off by %g, %g sd", what, r, c, e, e/sd)
			}
		}
	}
}

// TestMomentsOfRows: the statistics of simulated rows, drawn from the model as
// it is written down, have the moments μ_t, Σ_t.
func TestMomentsOfRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, s := range shapes {
		x, mo := randomParams(s, rng), NewMoments(s)
		mo.Set(x)
		want := newSampled(mo, s, 1)
		l := append([]float64(nil), x.Tau...)
		dense.Cholesky(l, s.P)
		v, g, d := make([]float64, s.M()), make([]float64, s.P), make([]float64, s.Statistics())
		for range 200_000 {
			for j := range g {
				g[j] = rng.NormFloat64()
			}
			dense.MulLowerVec(v[:s.P], l, s.P, g)
			y := math.Sqrt(x.Sigma2) * rng.NormFloat64()
			if s.Intercept {
				y += x.Theta[0]
			}
			for j := range g {
				v[j] += x.MuX[j]
				y += x.Theta[s.first()+j] * v[j]
			}
			v[s.P] = y
			row(d, v)
			want.add(d)
		}
		want.check(t, fmt.Sprintf("%+v", s))
	}
}

// TestRandMoments: the CLT's law and the exact one share mean and covariance.
func TestRandMoments(t *testing.T) {
	const n = 40
	rng := rand.New(rand.NewPCG(2, 1))
	for _, s := range shapes {
		mo := NewMoments(s)
		mo.Set(randomParams(s, rng))
		if !mo.Factor() {
			t.Fatal("V is not positive definite")
		}
		d := make([]float64, s.Statistics())
		for name, draw := range map[string]func([]float64, float64, *rand.Rand){"CLT": mo.Rand, "exact": mo.RandExact} {
			want := newSampled(mo, s, n)
			for range testsize.Of(30_000, 100_000) {
				draw(d, n, rng)
				want.add(d)
			}
			want.check(t, fmt.Sprintf("%s %+v", name, s))
		}
	}
}
