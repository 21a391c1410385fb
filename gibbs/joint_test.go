package gibbs

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/variate"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
)

// joint is one law of (parameters, s, ω, z) for Geweke's (2004) test, drawn in
// two ways: forwards, from the prior to z; and by a chain that alternates the
// kernel, which leaves parameters, s, ω | z invariant, with z | s, ω. Both have
// the same expectations if and only if the kernel is right.
type joint struct {
	shape model.Shape
	n, b  float64
	kind  release.Kind
	count float64 // scale of the noise on n; 0: n is public. Else n is uniform to 2n
	prior *model.Prior
	law   *model.FixedMoments // of the CLT model; nil: the exact model with normal x
	fault func(*subject)      // planted before the chain starts
	omega float64             // factor on ω² after each sweep: 1 unless a fault
}

// subject is the kernel on trial.
type subject struct {
	*state
	site   *site // of the exact model
	kernel interface {
		Step(*rand.Rand) Info
		Adapt(iteration, warmup int)
	}
	rand func(s []float64, n float64, rng *rand.Rand) // the law of s given parameters
}

func newJoint(t *testing.T, p int, n, b float64) *joint {
	t.Helper()
	s := model.Shape{P: p, Intercept: true}
	precision, scale := make([]float64, s.Q()*s.Q()), make([]float64, p*p)
	for k := range s.Q() {
		precision[k*s.Q()+k] = 1
	}
	for j := range p {
		scale[j*p+j] = 8
	}
	nig := must.Get(conjugate.NewNIG(make([]float64, s.Q()), precision, 12, 8))(t)
	niw := must.Get(conjugate.NewNIW(make([]float64, p), 2, scale, float64(p)+14))(t)
	return &joint{shape: s, n: n, b: b, kind: release.Laplace, prior: &model.Prior{Theta: nig, Covariates: niw}, omega: 1}
}

// start returns a kernel at a forward draw of everything.
func (g *joint) start(rng *rand.Rand) *subject {
	q := g.shape.Statistics()
	obs := &model.Observation{Shape: g.shape, N: g.n, Kind: g.kind, Z: make([]float64, q), Scale: make([]float64, q)}
	for i := range obs.Scale {
		obs.Scale[i] = g.b
	}
	if g.count > 0 {
		obs.Count = model.Count{Noisy: g.n, Kind: g.kind, Scale: g.count, Least: float64(g.shape.M() + 1), Most: 2 * g.n}
	}
	k := g.subject(obs, rng)
	g.forward(k, rng)
	return k
}

func (g *joint) subject(obs *model.Observation, rng *rand.Rand) *subject {
	if g.law != nil {
		k := newCLT(obs, g.prior, newFixed(g.prior, g.law), rng)
		k.hmc.restart(firstStepSize)
		return &subject{k.state, nil, k, k.law.Rand}
	}
	k := newExactSites(alone(obs, g.prior), rng)
	return &subject{k.all[0].state, k.all[0], k, k.all[0].moments.RandExact}
}

func (g *joint) forward(k *subject, rng *rand.Rand) {
	k.conditionals.DrawPrior(k.params, rng)
	drawOmegaPrior(k.state, rng)
	k.law.Set(k.params)
	k.law.Factor()
	drawRows(k.state, rng)
	k.rand(k.s, k.n, rng)
	observeAnew(k.state, rng)
}

// drawRows draws a latent n from its prior.
func drawRows(k *state, rng *rand.Rand) {
	if c := k.obs.Count; c.Latent() {
		k.n = c.Least + float64(rng.IntN(int(c.Most-c.Least)+1))
	}
}

// drawOmegaPrior draws ω from its prior.
func drawOmegaPrior(c *state, rng *rand.Rand) {
	v := 1.0
	if c.obs.Kind == release.Ball {
		v = variate.Chi2(c.obs.Freedom, rng)
	}
	for i, b := range c.obs.Scale {
		c.omega2[i] = b * b * v
		if c.obs.Kind == release.Laplace {
			c.omega2[i] *= 2 * rng.ExpFloat64()
		}
	}
}

// observeAnew draws z | s, ω.
func observeAnew(k *state, rng *rand.Rand) {
	for i, w := range k.omega2 {
		k.obs.Z[i] = k.s[i] + math.Sqrt(w)*rng.NormFloat64()
		k.resid[i] = k.obs.Z[i] - k.s[i]
	}
	switch c := &k.obs.Count; {
	case !c.Latent():
	case c.Kind == release.Laplace: // discrete: the difference of two geometric variates
		c.Noisy = k.n + math.Floor(c.Scale*rng.ExpFloat64()) - math.Floor(c.Scale*rng.ExpFloat64())
	default:
		c.Noisy = k.n + math.Round(c.Scale*rng.NormFloat64())
	}
}

// test appends the functions whose expectations are compared: first and second
// moments of the parameters, of bounded functions of s, of the noise, and of ω.
func (g *joint) test(dst []float64, k *subject) []float64 {
	values := make([]float64, len(g.shape.Names()))
	values = values[:k.params.Write(values)]
	for _, v := range values {
		dst = append(dst, v, v*v)
	}
	dst = append(dst, math.Log(k.params.Sigma2))
	if k.obs.Count.Latent() {
		dst = append(dst, k.n, k.n*k.n, k.obs.Count.Noisy)
	}
	for i, s := range k.s {
		r := k.resid[i] / g.b
		u := bounded(s / g.n)
		dst = append(dst, u, u*u, r*r, u*bounded(values[0]))
		if k.obs.Kind != release.Gaussian {
			dst = append(dst, math.Log(k.omega2[i]))
		}
	}
	return dst
}

// bounded maps the line into (−1, 1). A quadratic statistic has moments of many
// degrees in parameters with long tails: a chain that has not met a rare
// excursion would look wrong, with a standard error that has not met it either.
func bounded(x float64) float64 { return x / (1 + math.Abs(x)) }

// scores returns the z-score of each function's difference between draws from the prior on and the chain, in which the
// kernel and z anew take turns.
func (g *joint) scores(draws int, seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 1))
	const chains = 4
	var buf []float64
	var forward, chain [][][]float64 // [function][chain][draw]
	add := func(to *[][][]float64, c int, values []float64) {
		if *to == nil {
			*to = make([][][]float64, len(values))
		}
		for f, v := range values {
			for len((*to)[f]) <= c {
				(*to)[f] = append((*to)[f], nil)
			}
			(*to)[f][c] = append((*to)[f][c], v)
		}
	}
	warmup := draws / 4
	for c := range chains {
		k := g.start(rng)
		for range draws {
			g.forward(k, rng)
			buf = g.test(buf[:0], k)
			add(&forward, c, buf)
		}
		if g.fault != nil {
			g.fault(k)
		}
		for i := range warmup + draws {
			k.kernel.Step(rng)
			if i < warmup {
				k.kernel.Adapt(i, warmup)
			}
			for j := range k.omega2 {
				k.omega2[j] *= g.omega
			}
			observeAnew(k.state, rng)
			if i >= warmup {
				buf = g.test(buf[:0], k)
				add(&chain, c, buf)
			}
		}
	}
	z := make([]float64, len(chain))
	for f := range z {
		a, _ := modeltest.Pooled(chain[f])
		b, _ := modeltest.Pooled(forward[f])
		z[f] = (a - b) / math.Hypot(posterior.Of(chain[f]).MCSEMean(), posterior.Of(forward[f]).MCSEMean())
	}
	return z
}

// alone is the joint problem of one release, in its own units.
func alone(obs *model.Observation, prior *model.Prior) *model.Joint {
	return &model.Joint{Shape: obs.Shape, Prior: prior, Shared: true, Sites: []*model.Site{{Observation: obs, Units: model.Identity(obs.Shape.M())}}}
}

// sampleAlone is Update of one release.
func sampleAlone(obs *model.Observation, prior *model.Prior, kernel Kernel, plan mcmc.Plan) (*posterior.Draws, error) {
	m := Method{Update, kernel}
	return m.sample(context.Background(), m.hierarchical(alone(obs, prior)), plan)
}

// jointSites is joint for several custodians, with few rows, where the exact law of the
// statistics is far from the CLT's.
type jointSites struct{ modeltest.Custodians }

// newJointSites has a conjugate prior, or where covariates are shared TamePrior.
func newJointSites(t *testing.T, shared, counts bool) *jointSites {
	prior := newJoint(t, 1, 0, 0).prior
	if shared {
		prior = modeltest.TamePrior(model.Shape{P: 1, Intercept: true})
	}
	return &jointSites{modeltest.Custodians{
		Shape: model.Shape{P: 1, Intercept: true}, Prior: prior, Shared: shared, Counts: counts,
		Sites: []modeltest.Custodian{{N: 6, Kind: release.Laplace, Scale: 2, Units: 1}, {N: 12, Kind: release.Gaussian, Scale: 2, Units: 0.8}, {N: 5, Kind: release.Ball, Scale: 0.7, Units: 0.9, Tilted: true}},
	}}
}

// forward draws everything from the prior on.
func (g *jointSites) forward(k *exactSites, rng *rand.Rand) {
	first := k.all[0].params
	for j, s := range k.all {
		switch {
		case j > 0 && g.Shared:
			s.params.Copy(first)
		default:
			s.conditionals.DrawPrior(s.params, rng)
			copy(s.params.Theta, first.Theta)
			s.params.Sigma2 = first.Sigma2
		}
		drawRows(s.state, rng)
		drawOmegaPrior(s.state, rng)
		s.law.Set(s.params)
		s.law.Factor()
		s.moments.RandExact(s.s, s.n, rng)
		observeAnew(s.state, rng)
	}
}
