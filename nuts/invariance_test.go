package nuts

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/posterior"
)

func mcseMean(x [][]float64) float64 { return posterior.Of(x).MCSEMean() }

// fixed is a sampler of a given step size, in the identity metric.
func fixed(t testing.TB, target Target, epsilon float64, o Options) *Sampler {
	t.Helper()
	x := make([]float64, target.Dim())
	for i := range x {
		x[i] = 0.3
	}
	s := must.Get(New(target, x, o))(t)
	s.fresh = false
	s.stepSize.Restart(epsilon, epsilon)
	return s
}

// skewed is x₀ = log G, G ~ Gamma(2, 1), and x₁ ~ N(x₀, ¼). Its distribution
// functions are known, and steps of order 1 in it have large energy errors.
// cut leaves x₀ > cut; smooth follows the gradient of two normals instead.
type skewed struct {
	cut    float64
	smooth bool
}

func (skewed) Dim() int { return 2 }

var gamma2 = distuv.Gamma{Alpha: 2, Beta: 1}

func (t skewed) LogDensity(grad, x []float64) (float64, error) {
	if x[0] <= t.cut {
		return 0, ErrReject
	}
	e, g := x[1]-x[0], math.Exp(x[0])
	grad[0], grad[1] = 2-g+4*e, -4*e
	if t.smooth {
		grad[0], grad[1] = 1-1.5*x[0]+3*e, -3*e
	}
	return 2*x[0] - g - 2*e*e, nil
}

func (t skewed) draw(x []float64, rng *rand.Rand) {
	for x[0] = math.Inf(-1); x[0] <= t.cut; {
		x[0] = math.Log(rng.ExpFloat64() + rng.ExpFloat64())
	}
	x[1] = x[0] + 0.5*rng.NormFloat64()
}

// uniforms are four functions of a draw, each uniform on (0, 1).
func (t skewed) uniforms(x []float64) [4]float64 {
	least := gamma2.CDF(math.Exp(t.cut))
	u := (gamma2.CDF(math.Exp(x[0])) - least) / (1 - least)
	v := phi.CDF(2 * (x[1] - x[0]))
	_, sum := math.Modf(u + v)
	_, difference := math.Modf(1 + u - v)
	return [4]float64{u, v, sum, difference}
}

// transitions begins at exact draws of the target, and returns the uniforms after
// some transitions, and what these did.
func transitions(t *testing.T, target skewed, s *Sampler, step func(*Sampler, *rand.Rand) Info) (u [4][]float64, broken, full int) {
	t.Helper()
	const replicates, steps = 20000, 4
	rng := rand.New(rand.NewPCG(6, 7))
	for range replicates {
		target.draw(s.Position(), rng)
		if !s.Moved() {
			t.Fatal(s.Err())
		}
		for range steps {
			info := step(s, rng)
			if info.Leapfrogs != 1<<info.Depth-1 {
				broken++
			}
			if info.Depth == s.options.MaxDepth {
				full++
			}
		}
		for i, v := range target.uniforms(s.Position()) {
			u[i] = append(u[i], v)
		}
	}
	return u, broken, full
}

// A transition leaves its target invariant: at every greatest depth, with step
// sizes near the limit of stability, with trajectories broken off inside by a
// U-turn, by a divergence or by the edge of the support, and with a gradient
// that is another function's; and with steps that are made of smaller ones. Each of the
// tests has a false-alarm rate of 1e-6 at most.
func TestTransitionIsInvariant(t *testing.T) {
	none := math.Inf(-1)
	for i, c := range []struct {
		target  skewed
		epsilon float64
		depth   int
		error   float64
	}{
		{skewed{none, false}, 0.1, 10, 0}, {skewed{none, false}, 0.4, 1, 0}, {skewed{none, false}, 0.4, 2, 0},
		{skewed{none, false}, 0.3, 3, 0}, {skewed{none, false}, 0.5, 10, 0}, {skewed{none, false}, 0.8, 10, 0},
		{skewed{none, false}, 0.95, 10, 0}, {skewed{-0.3, false}, 0.4, 3, 0}, {skewed{-0.3, false}, 0.6, 10, 0},
		{skewed{none, true}, 0.4, 2, 0}, {skewed{none, true}, 0.3, 10, 0}, {skewed{none, true}, 0.7, 10, 0},
		{skewed{-0.3, true}, 0.3, 10, 0},
		{skewed{none, false}, 0.4, 3, 0.1}, {skewed{none, false}, 0.8, 10, 0.3}, {skewed{none, false}, 1.3, 10, 0.3},
		{skewed{-0.3, false}, 0.6, 10, 0.3}, {skewed{none, true}, 0.7, 10, 0.3}, {skewed{-0.3, true}, 0.8, 10, 0.1},
	} {
		if testing.Short() && i != 9 && i != 18 {
			continue
		}
		t.Run(fmt.Sprintf("%+v epsilon=%g depth=%d error=%g", c.target, c.epsilon, c.depth, c.error), func(t *testing.T) {
			s := fixed(t, c.target, c.epsilon, Options{MaxDepth: c.depth, StepError: c.error})
			u, broken, full := transitions(t, c.target, s, (*Sampler).Step)
			for i := range u {
				if !uniform(u[i]) {
					t.Errorf("function %d: D√n is %.2f", i, ks(u[i]))
				}
			}
			if c.depth > 2 && broken == 0 || c.depth <= 3 && full == 0 {
				t.Errorf("%d trajectories broken inside, %d at full depth: nothing was tested", broken, full)
			}
		})
	}
}

// The same in a metric, whose dense block and diagonal are far from the target's.
func TestMetricKeepsInvariance(t *testing.T) {
	target := skewed{cut: math.Inf(-1)}
	for dense := range 3 {
		s := fixed(t, target, 0.5, Options{Dense: dense})
		rng := rand.New(rand.NewPCG(8, 9))
		for range 50 {
			a := rng.NormFloat64()
			s.metric.Add([]float64{a, 0.5*rng.NormFloat64() - a})
		}
		if !s.metric.Update() {
			t.Fatal("no metric")
		}
		u, _, _ := transitions(t, target, s, (*Sampler).Step)
		for i := range u {
			if !uniform(u[i]) {
				t.Errorf("dense %d, function %d: D√n is %.2f", dense, i, ks(u[i]))
			}
		}
	}
}

// The test can fail: a transition that always goes forward, takes the new half
// whatever its weight, takes it as often as not, or takes a half that turned back
// within itself, is found out.
func TestInvarianceFindsFaults(t *testing.T) {
	testsize.Planted(t)
	target := skewed{cut: math.Inf(-1)}
	for _, fault := range []string{"", "direction", "always", "count", "turns"} {
		s := fixed(t, target, 0.5, Options{})
		u, _, _ := transitions(t, target, s, func(s *Sampler, rng *rand.Rand) Info { return s.faulty(rng, fault) })
		good := true
		for i := range u {
			good = good && uniform(u[i])
		}
		if good != (fault == "") {
			t.Errorf("fault %q: passed is %v", fault, good)
		}
	}
}

// faulty is Step, with a fault.
func (s *Sampler) faulty(rng *rand.Rand, fault string) Info {
	s.state.refresh(rng)
	s.initial = s.state.energy
	s.forward.copy(&s.state)
	s.back.copy(&s.state)
	s.tree.single(&s.state, 1)
	s.info = Info{StepSize: s.stepSize.Value()}
	for forward := true; s.info.Depth < s.options.MaxDepth; {
		end, epsilon := &s.forward, s.info.StepSize
		if rng.Uint64()&1 == 0 && fault != "direction" {
			end, epsilon = &s.back, -epsilon
		}
		if (epsilon > 0) != forward {
			s.tree.reverse()
			forward = !forward
		}
		if !s.grow(&s.added, s.info.Depth, end, epsilon, rng) && fault != "turns" {
			break
		}
		s.info.Depth++
		turned := turns(&s.tree, &s.added)
		take := rng.Float64()*s.tree.weight < s.added.weight || fault == "always"
		if fault == "count" {
			take = rng.Float64() < 0.5
		}
		s.grown.join(&s.tree, &s.added, take)
		s.tree, s.grown = s.grown, s.tree
		if turned {
			break
		}
	}
	s.state.x, s.tree.x = s.tree.x, s.state.x
	s.state.g, s.tree.g = s.tree.g, s.state.g
	s.state.logp = s.tree.logp
	return s.info
}
