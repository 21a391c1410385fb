package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
)

// A skewed law of dependent covariates on [−1, 1].
func skewed(dst []float64, rng *rand.Rand) {
	u := rng.Float64()
	for j := range dst {
		v := rng.Float64()
		dst[j] = 2*u*v*v - 1
		u = v
	}
}

func uniform(dst []float64, rng *rand.Rand) {
	for j := range dst {
		dst[j] = 2*rng.Float64() - 1
	}
}

func normal(dst []float64, rng *rand.Rand) { // covariances 0.09 and 0.03
	common := math.Sqrt(0.03) * rng.NormFloat64()
	for j := range dst {
		dst[j] = 0.2 + common + math.Sqrt(0.06)*rng.NormFloat64()
	}
}

func normalLaw(p int) NormalX {
	l := NormalX{make([]float64, p), make([]float64, p*p)}
	for j := range p {
		l.Mean[j] = 0.2
		for k := range p {
			l.Covariance[j*p+k] = 0.03
		}
		l.Covariance[j*p+j] = 0.09
	}
	return l
}

// laws of x, each with a sampler. The moments of skewed come from 20 times
// as many draws as the tests compare them with.
func laws(p, draws int) map[string]struct {
	XLaw
	draw func([]float64, *rand.Rand)
} {
	type law = struct {
		XLaw
		draw func([]float64, *rand.Rand)
	}
	return map[string]law{
		"uniform": {UniformX{}, uniform}, "normal": {normalLaw(p), normal},
		"skewed": {sampledX{draws: draws, seed: 1, rand: skewed}, skewed},
	}
}

// sampledX is a law by the means over draws.
type sampledX struct {
	draws int
	seed  uint64
	rand  func(dst []float64, rng *rand.Rand)
}

func (l sampledX) Moments(p int) (*XMoments, error) {
	rng, v := rand.New(rand.NewPCG(l.seed, 0)), make([]float64, p)
	u := factors(p)
	x := &XMoments{P: p, M: make([]float64, len(u)*len(u))}
	row := make([]float64, len(u))
	for range l.draws {
		l.rand(v, rng)
		for i, of := range u {
			row[i] = 1
			for _, j := range of {
				row[i] *= v[j]
			}
		}
		for r, a := range row {
			for c, b := range row {
				x.M[r*len(u)+c] += a * b / float64(l.draws)
			}
		}
	}
	return x, nil
}

func fixedLaw(t testing.TB, s Shape, l XLaw) *FixedMoments {
	t.Helper()
	x := must.Get(l.Moments(s.P))(t)
	return must.Get(NewFixedMoments(s, x))(t)
}

func randomRegression(s Shape, rng *rand.Rand) *Params {
	x := NewRegressionParams(s)
	for k := range x.Theta {
		x.Theta[k] = rng.NormFloat64()
	}
	x.Sigma2 = 0.1 + rng.Float64()
	return x
}

// TestFixedMomentsOfRows: the statistics of simulated rows have the moments μ_t,
// Σ_t, whatever the law of x.
func TestFixedMomentsOfRows(t *testing.T) {
	for _, s := range []Shape{{P: 1, Intercept: true}, {P: 1, Intercept: false}, {P: 2, Intercept: true}, {P: 3, Intercept: false}} {
		for name, law := range laws(s.P, testsize.Of(500_000, 2_000_000)) {
			rng := rand.New(rand.NewPCG(21, 1))
			f, x := fixedLaw(t, s, law), randomRegression(s, rng)
			f.Set(x)
			want := newSampled(f, s, 1)
			v, d := make([]float64, s.M()), make([]float64, s.Statistics())
			for range testsize.Of(30_000, 100_000) {
				law.draw(v[:s.P], rng)
				y := math.Sqrt(x.Sigma2) * rng.NormFloat64()
				if s.Intercept {
					y += x.Theta[0]
				}
				for j := range s.P {
					y += x.Theta[s.first()+j] * v[j]
				}
				v[s.P] = y
				row(d, v)
				want.add(d)
			}
			want.check(t, fmt.Sprintf("%s %+v", name, s))
		}
	}
}

// TestRandFixed: Rand draws N(nμ_t, nΣ_t), of a singular Σ_t as well: a dummy
// has x² = 1.
func TestRandFixed(t *testing.T) {
	const n = 40
	dummy := sampledX{draws: 10_000, seed: 2, rand: func(dst []float64, rng *rand.Rand) {
		uniform(dst, rng)
		dst[0] = math.Copysign(1, dst[0]-0.3)
	}}
	for _, s := range []Shape{{P: 1, Intercept: true}, {P: 2, Intercept: false}, {P: 2, Intercept: true}} {
		for name, law := range map[string]XLaw{"uniform": UniformX{}, "dummy": dummy} {
			rng := rand.New(rand.NewPCG(22, 1))
			f := fixedLaw(t, s, law)
			f.Set(randomRegression(s, rng))
			want, d := newSampled(f, s, n), make([]float64, s.Statistics())
			for i := range want.mean { // a constant has no variance to compare; one of 10⁻⁹ is added to all
				want.cov[i*len(want.mean)+i] += 1e-9
			}
			for range testsize.Of(30_000, 100_000) {
				f.Rand(d, n, rng)
				for r := range d {
					d[r] += math.Sqrt(1e-9) * rng.NormFloat64()
				}
				want.add(d)
			}
			want.check(t, fmt.Sprintf("%s %+v", name, s))
		}
	}
}

// TestFixedIsHierarchical: for normal x both laws are one.
func TestFixedIsHierarchical(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 1))
	for _, s := range shapes {
		x, mo := randomParams(s, rng), NewMoments(s)
		f := fixedLaw(t, s, NormalX{x.MuX, x.Tau})
		mo.Set(x)
		f.Set(x)
		a, b := newSampled(f, s, 7), newSampled(mo, s, 7)
		for i := range a.cov {
			if math.Abs(a.cov[i]-b.cov[i]) > 1e-10*(1+math.Abs(b.cov[i])) {
				t.Fatalf("%+v: element %d of the covariance is %g, of the hierarchical law %g", s, i, a.cov[i], b.cov[i])
			}
		}
		for i := range a.mean {
			if math.Abs(a.mean[i]-b.mean[i]) > 1e-12*(1+math.Abs(b.mean[i])) {
				t.Fatalf("%+v: element %d of the mean is %g, of the hierarchical law %g", s, i, a.mean[i], b.mean[i])
			}
		}
	}
}

// TestFixedAdjoint compares Adjoint with central differences of a random linear
// function of (nμ_t, nΣ_t), parameter by parameter.
func TestFixedAdjoint(t *testing.T) {
	const n, h = 7, 1e-5
	rng := rand.New(rand.NewPCG(24, 1))
	for _, s := range shapes {
		for name, law := range laws(s.P, 1000) {
			q := s.Statistics()
			f, x := fixedLaw(t, s, law), randomRegression(s, rng)
			alpha, w := make([]float64, q), make([]float64, q*q)
			for i := range alpha {
				alpha[i] = rng.NormFloat64()
				for j := range i + 1 {
					w[i*q+j] = rng.NormFloat64()
				}
			}
			value := func() float64 {
				f.Set(x)
				at, sum := newSampled(f, s, n), 0.0
				for r := range q {
					sum += alpha[r]*at.mean[r] + w[r*q+r]*at.cov[r*q+r]
					for c := range r {
						sum += 2 * w[r*q+c] * at.cov[r*q+c]
					}
				}
				return sum
			}
			f.Set(x)
			grad := make([]float64, s.Q()+1)
			f.Adjoint(grad, alpha, w, n)
			for k := range grad {
				p := &x.Sigma2
				if k < s.Q() {
					p = &x.Theta[k]
				}
				old := *p
				*p = old + h
				up := value()
				*p = old - h
				down := value()
				*p = old
				if got := (up - down) / (2 * h); math.Abs(got-grad[k]) > 1e-5*(1+math.Abs(grad[k])) {
					t.Errorf("%s %+v: in parameter %d the difference quotient is %g, the gradient %g", name, s, k, got, grad[k])
				}
			}
		}
	}
}

// TestFixedMomentsRefuse: moments that no x has.
func TestFixedMomentsRefuse(t *testing.T) {
	x := uniformMoments(1)
	x.M[2], x.M[2*3] = 0.6, 0.6 // E x², with E x⁴ = 0.2
	if _, err := NewFixedMoments(Shape{P: 1, Intercept: true}, x); err == nil {
		t.Error("a negative variance of x² is accepted")
	}
	if _, err := NewFixedMoments(Shape{P: 2, Intercept: true}, uniformMoments(1)); err == nil {
		t.Error("moments of one covariate are accepted for two")
	}
}
