package exact

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/gibbs"
	"github.com/dpreg/dpreg/internal/cputime"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/nuts"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
)

// simulated is a release of n rows with Laplace noise for ε, that lie in their box; they are
// inferred with the default prior.
func simulated(p int, n, epsilon float64) *modeltest.Simulation {
	s := model.Shape{P: p, Intercept: true}
	return &modeltest.Simulation{Shape: s, Prior: model.Normal.BoxPrior(s), N: n, Kind: release.Laplace, Scale: modeltest.LaplaceScale(s, epsilon)}
}

func (c sized) problem() *model.Problem {
	s := simulated(c.p, c.n, c.epsilon)
	_, obs := s.Draw(rand.New(rand.NewPCG(uint64(c.p), 1)))
	return modeltest.Problem(obs, model.DefaultPrior(s.Shape))
}

// sized names a simulated release.
type sized struct {
	p          int
	n, epsilon float64
}

func (c sized) String() string { return fmt.Sprintf("p%d_n%g_eps%g", c.p, c.n, c.epsilon) }

// started returns a kernel after a warm-up.
func started(t testing.TB, c *modeltest.Simulation, rng *rand.Rand) *nuts.Sampler {
	t.Helper()
	_, obs := c.Draw(rng)
	k := must.Get(newKernel(newDensity(alone(obs), model.DefaultPrior(c.Shape)), rng))(t)
	for i := range 300 {
		k.Step(rng)
		k.Adapt(i, 300)
	}
	return k
}

// TestNoAllocation: neither the density nor a transition allocates.
func TestNoAllocation(t *testing.T) {
	for _, p := range []int{1, 3} {
		for _, count := range []float64{0, 5} {
			rng := rand.New(rand.NewPCG(1, 1))
			c := simulated(p, 100, 1)
			c.Count = count
			k := started(t, c, rng)
			grad := make([]float64, k.Chain.Dim())
			if n := testing.AllocsPerRun(100, func() { k.Chain.LogDensity(grad, k.Position()) }); n != 0 {
				t.Errorf("p = %d: the density allocates %g times", p, n)
			}
			if n := testing.AllocsPerRun(200, func() { k.Step(rng) }); n != 0 {
				t.Errorf("p = %d: a step allocates %g times", p, n)
			}
		}
	}
}

func BenchmarkLogDensity(b *testing.B) {
	for _, p := range []int{1, 2, 3, 5, 10, 20, 50} {
		b.Run(fmt.Sprintf("p=%d", p), func(b *testing.B) {
			k := started(b, simulated(p, 1000, 1), rand.New(rand.NewPCG(1, 1)))
			grad := make([]float64, k.Chain.Dim())
			b.ReportAllocs()
			for b.Loop() {
				k.Chain.LogDensity(grad, k.Position())
			}
		})
	}
}

// BenchmarkEffectiveDraws reports, for one chain on one core, the smallest over
// all parameters of bulk and tail ESS, a processor's second of the whole run,
// warm-up included; and leapfrog steps a draw.
func BenchmarkEffectiveDraws(b *testing.B) {
	for _, g := range modeltest.Goldens(b) {
		b.Run(g.Name, func(b *testing.B) { effective(b, g.Problem, 20_000) })
	}
	for _, p := range []int{5, 10, 20} {
		for _, epsilon := range []float64{0.1, 1} {
			c := sized{p, 1000, epsilon}
			b.Run(c.String(), func(b *testing.B) { effective(b, c.problem(), 20_000/p) })
		}
	}
}

// normalRows is a release of n rows at ε: x ~ N(mean, sd²) with correlations ρ, y of mean −mean,
// slopes 0.5/√p and a residual sd of sd, in boxes from −1 to 1, with Laplace noise, or of L2 sensitivity m + 1
// Gaussian noise, that of δ = 10⁻⁶ at ε = 1.
func normalRows(p int, n, sd, mean, rho float64, kind release.Kind, epsilon float64) *model.Problem {
	s := model.Shape{P: p, Intercept: true}
	rng := rand.New(rand.NewPCG(uint64(p), 5))
	x, law := model.NewParams(s), model.NewMoments(s)
	x.Sigma2, x.Theta[0] = sd*sd, -mean*(1+0.5*math.Sqrt(float64(p)))
	for j := range p {
		x.MuX[j], x.Theta[j+1] = mean, 0.5/math.Sqrt(float64(p))
		for l := range p {
			x.Tau[j*p+l] = rho * sd * sd
		}
		x.Tau[j*p+j] = sd * sd
	}
	law.Set(x)
	if !law.Factor() {
		panic("the law of the rows has no root")
	}
	obs := &model.Observation{Shape: s, N: n, Kind: kind, Z: make([]float64, s.Statistics())}
	law.RandExact(obs.Z, n, rng)
	scale := modeltest.LaplaceScale(s, epsilon)
	if kind == release.Gaussian {
		const oneUnit = 4.2246789 // of sensitivity
		scale = oneUnit * float64(s.M()+1) / epsilon
	}
	for i := range obs.Z {
		obs.Scale = append(obs.Scale, scale)
		obs.Z[i] += model.RandNoise(kind, scale, rng)
	}
	return modeltest.Problem(obs, model.DefaultPrior(s))
}

// BenchmarkEngines puts gibbs-ss-update beside mcmc-exact where a release has a Clearance of 4
// or more, with the prior and the plan of dpreg infer: effective draws a CPU second of
// mcmc-exact after warm-up; over these, those of gibbs-ss-update; and how many times as fast
// that has 1000 of them from four chains, warm-up included.
//
//	go test ./nuts/exact -run xxx -bench Engines -benchtime 1x -timeout 2h
func BenchmarkEngines(b *testing.B) {
	for _, p := range []int{1, 2, 3, 5, 7, 10, 20} {
		b.Run(fmt.Sprintf("p=%d/plain", p), func(b *testing.B) { raceOver(b, p, 0, 0) })
		b.Run(fmt.Sprintf("p=%d/off-centre", p), func(b *testing.B) { raceOver(b, p, 0.8, 0) })
		b.Run(fmt.Sprintf("p=%d/correlated", p), func(b *testing.B) { raceOver(b, p, 0, 0.8) })
	}
}

func raceOver(b *testing.B, p int, mean, rho float64) {
	for _, kind := range []release.Kind{release.Gaussian, release.Laplace} {
		for _, n := range []float64{300, 1000, 10_000, 100_000} {
			for _, sd := range []float64{0.05, 0.1, 0.3} {
				for _, epsilon := range []float64{0.3, 1, 10} {
					b.Run(fmt.Sprintf("%s/n=%g/sd=%g/eps=%g", kind, n, sd, epsilon), func(b *testing.B) {
						race(b, normalRows(p, n, sd, mean, rho, kind, epsilon), 20_000/(p+1))
					})
				}
			}
		}
	}
}

func race(b *testing.B, problem *model.Problem, draws int) {
	obs := must.Get(problem.Single())(b)
	if Clearance(obs) < 4 {
		b.Skip("noise hides the scatter")
	}
	problem.Prior = must.Get(model.Normal.DefaultPrior(&problem.Releases[0].Schema, problem.Releases...))(b)
	for b.Loop() {
		var rates, seconds [2]float64
		for i, m := range []model.Method{Method{}, gibbs.Method{Moments: gibbs.Update}} {
			_, warmup := sampled(b, m, problem, 2, 1)
			d, whole := sampled(b, m, problem, 2, draws)
			least, _ := d.MinESS(1)
			rates[i] = least / (whole - warmup)
			seconds[i] = 2*warmup + 1000/rates[i]
		}
		b.ReportMetric(Clearance(obs), "clearance")
		b.ReportMetric(math.Round(rates[0]), "ess/CPU-s")
		b.ReportMetric(rates[1]/rates[0], "times")
		b.ReportMetric(seconds[0]/seconds[1], "times-whole")
	}
}

// sampled draws after a warm-up of 1000, and returns what that took of processors.
func sampled(b *testing.B, m model.Method, problem *model.Problem, chains, draws int) (d *posterior.Draws, seconds float64) {
	begin := cputime.Used()
	d = must.Get(m.Sample(context.Background(), problem, mcmc.Plan{Chains: chains, Warmup: 1000, Draws: draws, Seed: 1, Workers: 1}))(b)
	return d, (cputime.Used() - begin).Seconds()
}

func effective(b *testing.B, problem *model.Problem, draws int) {
	for b.Loop() {
		d, seconds := sampled(b, Method{}, problem, 1, draws)
		least, _ := d.MinESS(1)
		b.ReportMetric(math.Round(least/seconds), "ess/CPU-s")
		b.ReportMetric(infoSum(d, "n_leapfrog__")/float64(draws), "leapfrogs/draw")
		b.ReportMetric(infoSum(d, "divergent__"), "divergent")
	}
}
