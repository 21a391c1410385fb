package gibbs

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
)

// TestPooledGradient is TestSitesGradient where pooling is partial.
func TestPooledGradient(t *testing.T) {
	for _, c := range []modeltest.Custodians{
		{Shape: model.Shape{P: 2, Intercept: true}}, {Shape: model.Shape{P: 2, Intercept: true}, Shared: true}, {Shape: model.Shape{P: 3}},
	} {
		c.Sites, c.Partial = modeltest.Unequal(3), true
		rng := rand.New(rand.NewPCG(72, 1))
		_, problem := c.Draw(rng)
		k := newExactSites(problem, rng)
		for j, s := range k.all {
			before := slices.Clone(s.params.Theta)
			if !s.ancillary.hold(s.phi) {
				t.Fatal("no coordinates")
			}
			again := make([]float64, s.q)
			s.ancillary.move(s.phi)
			s.ancillary.write(again)
			for i, v := range s.s {
				if d := again[i] - v; !(math.Abs(d) < 1e-9*s.n) {
					t.Errorf("shared=%t: statistic %d is off by %g", c.Shared, i, d)
				}
			}
			for i, v := range before {
				if d := k.hierarchy.At[j][i] - v; !(math.Abs(d) < 1e-12*(1+math.Abs(v))) {
					t.Errorf("shared=%t: coefficient %d is off by %g", c.Shared, i, d)
				}
			}
			for i := range s.regression.slope {
				s.regression.slope[i] = 0.3 * rng.NormFloat64()
			}
			q := s.rough.q
			for i := range q {
				s.rough.guess.Mean[i], s.rough.guess.Precision[i*q+i] = rng.NormFloat64(), rng.ExpFloat64()
			}
			if !s.rough.at(k.hierarchy) {
				t.Fatal("no coordinates of w_j")
			}
			x := slices.Clone(s.phi[k.lead:])
			s.rough.toC(x[:q])
			copy(s.ancillary.phi, s.phi)
			checkSlope(t, s.own.target, x, s)
			s.rough.toOwn(x[:q])
			for i, v := range x {
				if d := s.phi[k.lead+i] - v; !(math.Abs(d) < 1e-12) {
					t.Errorf("shared=%t: own coordinate %d is off by %g", c.Shared, i, d)
				}
			}
		}
		if c.Shared {
			checkSlope(t, k.target, k.all[0].phi[:k.lead], k.all...)
			checkSlope(t, rigid{k.target}, k.all[0].phi[:k.lead], k.all...)
		}
		k.spread.hold()
		checkSlope(t, k.spread, k.spread.now, k.all...)
	}
}

// pooledSites is jointSites where pooling is partial.
type pooledSites struct{ *jointSites }

func newPooledSites(t *testing.T, shared, counts bool) pooledSites {
	g := pooledSites{newJointSites(t, shared, counts)}
	g.Partial = true
	return g
}

// scores are those of the mean difference that sweeps make to functions of a draw from the
// joint law: all are 0 if and only if the kernel leaves that law invariant (Gandy & Scott
// 2021, "Unit Testing for MCMC and Other Monte Carlo Methods"). Draws are independent, so
// that scores have no Monte Carlo error to be guessed from a chain, which so few rows
// let mix slowly.
func (g pooledSites) scores(draws int, seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 2))
	_, problem := g.Draw(rng)
	k := newExactSites(problem, rng)
	const warmup, sweeps = 1000, 3
	g.forward(k, rng)
	for i := range warmup {
		for _, s := range k.all {
			observeAnew(s.state, rng)
		}
		k.Step(rng)
		k.Adapt(i, warmup)
	}
	g.fault(k)
	var before, after, sum, square []float64
	for range draws {
		g.forward(k, rng)
		before = g.test(before, k)
		for range sweeps {
			k.Step(rng)
		}
		after = g.test(after, k)
		if sum == nil {
			sum, square = make([]float64, len(after)), make([]float64, len(after))
		}
		for i, v := range after {
			d := v - before[i]
			sum[i] += d
			square[i] += d * d
		}
	}
	n := float64(draws)
	for i := range sum {
		mean := sum[i] / n
		if sum[i] = 0; square[i] > 0 { // a noisy count does not change
			sum[i] = mean / math.Sqrt((square[i]/n-mean*mean)/n)
		}
	}
	return sum
}

// forward draws everything from the prior on.
func (g pooledSites) forward(k *exactSites, rng *rand.Rand) {
	first := k.all[0]
	first.conditionals.DrawPrior(first.params, rng)
	centre, phi := append(slices.Clone(first.params.Theta), math.Log(first.params.Sigma2)), make([]float64, 4)
	for i, sd := range []float64{model.SpreadSD, model.SpreadSD, 2 * model.SpreadLogSigmaSD} {
		phi[i] = math.Log(sd * math.Abs(rng.NormFloat64()))
	}
	u := []float64{rng.Float64(), rng.Float64(), rng.Float64()} // the median is Beta(2, 2)
	slices.Sort(u)
	phi[3] = math.Atanh(2*u[1] - 1)
	k.hierarchy.Take(centre, phi)
	own := make([]float64, len(centre))
	for j, s := range k.all {
		switch {
		case j > 0 && g.Shared:
			s.params.Copy(first.params)
		case j > 0:
			s.conditionals.DrawPrior(s.params, rng)
		}
		k.hierarchy.Spread.Draw(own, centre, rng)
		s.params.Sigma2 = math.Exp(own[copy(s.params.Theta, own)])
		drawRows(s.state, rng)
		drawOmegaPrior(s.state, rng)
		s.law.Set(s.params)
		s.law.Factor()
		s.moments.RandExact(s.s, s.n, rng)
		observeAnew(s.state, rng)
	}
}

// test adds to those of jointSites functions of what all share, and of how w_j lies about
// its centre.
func (g pooledSites) test(dst []float64, k *exactSites) []float64 {
	dst = dst[:0]
	for _, v := range slices.Concat(k.hierarchy.Centre, k.hierarchy.Phi) {
		dst = append(dst, v, v*v)
	}
	for j, s := range k.all {
		p := s.params
		for i, v := range append(slices.Clone(p.Theta), math.Log(p.Sigma2)) {
			d := bounded(v - k.hierarchy.Centre[i])
			dst = append(dst, v, v*v, d*d, d*k.hierarchy.Phi[i])
		}
		if j == 0 || !g.Shared {
			dst = append(dst, p.MuX[0], p.MuX[0]*p.MuX[0], p.Tau[0], p.Tau[0]*p.Tau[0])
		}
		if s.obs.Count.Latent() {
			dst = append(dst, s.n, s.n*s.n, s.obs.Count.Noisy)
		}
		for i, v := range s.s {
			r, u := s.resid[i]/s.obs.Scale[i], bounded(v/s.n)
			dst = append(dst, u, u*u, r*r, u*bounded(p.Theta[0]), u*bounded(k.hierarchy.Theta[0]))
			if s.noise.latent() {
				dst = append(dst, math.Log(s.omega2[i]), bounded(s.resid[i]*s.resid[i]/s.omega2[i]))
			}
		}
	}
	return dst
}

// TestPooledInvariant: the default kernel leaves the joint law invariant where pooling is
// partial. The long form: go test ./gibbs -run PooledInvariant -geweke.long -timeout 2h
func TestPooledInvariant(t *testing.T) {
	draws := testsize.Of(400, 5000)
	if *gewekeLong {
		draws *= 60
	}
	for _, shared := range []bool{false, true} {
		for _, counts := range []bool{false, true} {
			if z := newPooledSites(t, shared, counts).scores(draws, 3); !(largest(z) < gewekeBound) {
				t.Errorf("shared=%t n latent=%t: the largest of %d scores is %.2f, beyond %g: %.2f", shared, counts, len(z), largest(z), gewekeBound, z)
			}
		}
	}
}

// flat leaves out the prior of w_j.
type flat struct{ *pooled }

func (f flat) LogPrior(grad []float64, x *model.Params) float64 {
	logp := f.pooled.LogPrior(grad, x)
	for k, g := range f.slope {
		logp -= 0.5 * g * (f.phi[k] - f.hierarchy.Centre[k])
		grad[f.lead+k] = 0
	}
	return logp
}

// TestPooledInvariantFindsFaults plants faults, which the test must find.
func TestPooledInvariantFindsFaults(t *testing.T) {
	testsize.Planted(t)
	t.Parallel()
	for name, c := range map[string]struct {
		shared bool
		fault  func(*exactSites)
	}{
		"(c) without the prior of w_j": {false, func(k *exactSites) {
			for _, s := range k.all {
				s.ancillary.law = flat{s.law.(*pooled)}
			}
		}},
		"Ω left behind where η is held": {false, func(k *exactSites) {
			k.spread.hierarchy = model.NewHierarchy(k.problem.Shape, k.problem.Prior, len(k.all))
		}},
	} {
		g := newPooledSites(t, c.shared, false)
		g.fault = c.fault
		if worst := largest(g.scores(5000, 4)); worst < gewekeBound {
			t.Errorf("%s went unnoticed: largest score %.2f", name, worst)
		}
	}
}

// TestPooledAllocates: no sweep does.
func TestPooledAllocates(t *testing.T) {
	for _, shared := range []bool{false, true} {
		rng := rand.New(rand.NewPCG(72, 5))
		_, problem := newPooledSites(t, shared, true).Draw(rng)
		k := newExactSites(problem, rng)
		for i := range 100 {
			k.Step(rng)
			k.Adapt(i, 100)
		}
		if n := testing.AllocsPerRun(20, func() { k.Step(rng) }); n != 0 {
			t.Errorf("shared=%t: %g allocations a sweep", shared, n)
		}
		plain := newPlain(newSites(problem, rng))
		if n := testing.AllocsPerRun(20, func() { plain.Step(rng) }); n != 0 {
			t.Errorf("shared=%t, plain: %g allocations a sweep", shared, n)
		}
	}
}
