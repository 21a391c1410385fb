package gibbs

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/release"
)

func fixedLawOf(t testing.TB, s model.Shape, l model.XLaw) *model.FixedMoments {
	t.Helper()
	prior := model.DefaultPrior(s)
	prior.X = l
	return must.Get((Method{Moments: Prior}).fixedLaw(&model.Observation{Shape: s}, prior))(t)
}

// skewed is a law of x on [0, 1]^p, dependent.
var skewed = sampledX{1, func(dst []float64, rng *rand.Rand) {
	u := rng.Float64()
	for j := range dst {
		dst[j] = u * rng.Float64()
	}
}}

// sampledX is a law by the means over 20,000 draws.
type sampledX struct {
	seed uint64
	rand func(dst []float64, rng *rand.Rand)
}

func (l sampledX) Moments(p int) (*model.XMoments, error) {
	const draws = 20_000
	rng, d := rand.New(rand.NewPCG(l.seed, 0)), 1+p+p*(p+1)/2
	x, u := &model.XMoments{P: p, M: make([]float64, d*d)}, make([]float64, d)
	u[0] = 1
	for range draws {
		v, at := u[1:p+1], p+1
		l.rand(v, rng)
		for j := range v {
			for _, w := range v[j:] {
				u[at] = v[j] * w
				at++
			}
		}
		for r, a := range u {
			for c, b := range u {
				x.M[r*d+c] += a * b / draws
			}
		}
	}
	return x, nil
}

// noisyMoments are moments of n rows of a law, with Gaussian noise.
func noisyMoments(t testing.TB, p int, l model.XLaw, n, sd float64, rng *rand.Rand) *model.NoisyMoments {
	t.Helper()
	x := must.Get(l.Moments(p))(t)
	u := [][]int{make([]int, p)} // exponents of the monomials that M is of
	for j := range p {
		e := make([]int, p)
		e[j]++
		u = append(u, e)
	}
	for j := range p {
		for k := j; k < p; k++ {
			e := make([]int, p)
			e[j]++
			e[k]++
			u = append(u, e)
		}
	}
	m, seen := &model.NoisyMoments{P: p, N: n}, map[string]bool{}
	for r := range u {
		for c := range u[:r+1] {
			e := make([]int, p)
			for j := range e {
				e[j] = u[r][j] + u[c][j]
			}
			if key := fmt.Sprint(e); r+c > 0 && !seen[key] {
				seen[key] = true
				m.Exponents = append(m.Exponents, e)
				m.Sums = append(m.Sums, n*x.M[r*len(u)+c]+sd*rng.NormFloat64())
				m.SD = append(m.SD, sd)
			}
		}
	}
	return m
}

// TestGewekeFixed is Geweke's test of the default kernel of gibbs-ss-prior and
// gibbs-ss-noisy against the CLT model. The long form: go test ./gibbs -run GewekeFixed -geweke.long
func TestGewekeFixed(t *testing.T) {
	draws := testsize.Of(2000, 10_000)
	if *gewekeLong {
		draws *= 40
	}
	noisy := func(p int) func(t *testing.T) *model.FixedMoments {
		return func(t *testing.T) *model.FixedMoments {
			m := noisyMoments(t, p, skewed, 500, 5, rand.New(rand.NewPCG(7, 1)))
			return must.Get((Method{Moments: Noisy}).fixedLaw(&model.Observation{Shape: model.Shape{P: p, Intercept: true}, Moments: m}, nil))(t)
		}
	}
	prior := func(p int) func(t *testing.T) *model.FixedMoments {
		return func(t *testing.T) *model.FixedMoments {
			return fixedLawOf(t, model.Shape{P: p, Intercept: true}, model.UniformX{})
		}
	}
	for _, c := range []struct {
		name  string
		p     int
		law   func(*testing.T) *model.FixedMoments
		n, b  float64
		kind  release.Kind
		count float64
	}{
		{"prior", 1, prior(1), 12, 6, release.Laplace, 0}, {"prior", 3, prior(3), 25, 10, release.Laplace, 0},
		{"prior, n latent", 1, prior(1), 12, 6, release.Gaussian, 4},
		{"noisy", 1, noisy(1), 12, 6, release.Laplace, 0}, {"noisy", 2, noisy(2), 20, 8, release.Laplace, 0},
	} {
		t.Run(fmt.Sprintf("%s p=%d", c.name, c.p), func(t *testing.T) {
			if testing.Short() && c.p > 1 {
				t.Skip("the cases of one covariate are the faster ones")
			}
			t.Parallel()
			g := newJoint(t, c.p, c.n, c.b)
			g.law, g.kind, g.count = c.law(t), c.kind, c.count
			z := g.scores(draws, 1)
			if worst := must.Largest(z); !(worst < gewekeBound) {
				t.Errorf("the largest of %d scores is %.2f, beyond %g: %.2f", len(z), worst, gewekeBound, z)
			}
		})
	}
}

// spoilt is a source of another nΣ_t.
type spoilt struct {
	source
	covariance func(dst []float64, n float64)
}

// Covariance writes it.
func (s spoilt) Covariance(dst []float64, n float64) { s.covariance(dst, n) }

// TestGewekeFixedFindsFaults plants faults, which the test must find.
func TestGewekeFixedFindsFaults(t *testing.T) {
	testsize.Planted(t)
	t.Parallel()
	for name, fault := range map[string]func(t *testing.T, g *joint){
		"variance of y² given x dropped": func(_ *testing.T, g *joint) {
			g.fault = func(k *subject) {
				right := k.law
				k.law = spoilt{right, func(dst []float64, n float64) {
					right.Covariance(dst, n)
					dst[k.q*k.q-1] -= 2 * n * k.params.Sigma2 * k.params.Sigma2 // 2σ⁴
				}}
			}
		},
		"moments of another law of x": func(t *testing.T, g *joint) {
			g.fault = func(k *subject) {
				other := fixedLawOf(t, g.shape, skewed)
				k.law = spoilt{k.law, func(dst []float64, n float64) {
					other.Set(k.params)
					other.Covariance(dst, n)
				}}
			}
		},
		"omega scaled": func(_ *testing.T, g *joint) { g.omega = 1.5 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newJoint(t, 1, 12, 2)
			g.law = fixedLawOf(t, g.shape, model.UniformX{})
			fault(t, g)
			if worst := must.Largest(g.scores(10_000, 1)); worst < gewekeBound {
				t.Errorf("the fault went unnoticed: largest score %.2f", worst)
			}
		})
	}
}

// TestFixedGradient compares the gradient of the collapsed density in (θ, log σ²)
// with central differences.
func TestFixedGradient(t *testing.T) {
	const h = 1e-5
	for _, p := range []int{1, 3} {
		rng := rand.New(rand.NewPCG(9, 1))
		obs := simulated(p, 50, 1, rng)
		prior := model.DefaultPrior(obs.Shape)
		k := newCLT(obs, prior, newFixed(prior, fixedLawOf(t, obs.Shape, skewed)), rng)
		k.law.Unconstrain(k.phi, k.params)
		grad, other := make([]float64, len(k.phi)), make([]float64, len(k.phi))
		k.LogDensity(grad, k.phi)
		for i, old := range k.phi {
			k.phi[i] = old + h
			up := k.LogDensity(other, k.phi)
			k.phi[i] = old - h
			down := k.LogDensity(other, k.phi)
			k.phi[i] = old
			if got := (up - down) / (2 * h); math.Abs(got-grad[i]) > 1e-5*(1+math.Abs(grad[i])) {
				t.Errorf("p = %d: in coordinate %d the difference quotient is %g, the gradient %g", p, i, got, grad[i])
			}
		}
	}
}

// TestFixedRefuses: what the methods cannot use.
func TestFixedRefuses(t *testing.T) {
	p := modeltest.Goldens(t)[0].Problem
	plan := mcmc.Plan{Chains: 1, Warmup: 200, Draws: 10}
	for want, m := range map[string]model.Method{"--with-moments": Method{Moments: Noisy}, "unknown kernel": Method{Moments: Prior, Kernel: "fast"}} {
		must.Fail(t, must.Err(m.Sample(context.Background(), p, plan)), want)
	}
	if d, err := (Method{Moments: Prior}).Sample(context.Background(), p, plan); err != nil || !strings.Contains(strings.Join(d.Warnings, " "), "normal law") {
		t.Errorf("a prior without a law of x: no warning, %v", err)
	}
	other := *p.Prior
	other.X = model.NormalX{Mean: []float64{-0.8}, Covariance: []float64{0.01}}
	p.Prior = &other
	if d, err := (Method{Moments: Prior}).Sample(context.Background(), p, plan); err != nil || !strings.Contains(strings.Join(d.Warnings, " "), "are not the moments of its rows") {
		t.Errorf("a law of x far from the rows: no warning, %v", err)
	}
	other.X = model.NormalX{Mean: []float64{0, 0, 0, 0}, Covariance: make([]float64, 16)}
	if _, err := (Method{Moments: Prior}).Sample(context.Background(), p, plan); err == nil {
		t.Error("a law of another number of covariates is accepted")
	}
}
