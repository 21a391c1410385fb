package nuts

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/posterior"
)

// Trajectories of a length drawn keep their density: with steps near the limit of stability, that are made of
// smaller ones, that leave the support, and along another function's gradient. They do not if the
// end is always taken, or if the length depends on where they begin.
func TestTravelIsInvariant(t *testing.T) {
	none := math.Inf(-1)
	for _, c := range []struct {
		target       skewed
		epsilon, tau float64
		error        float64
		fault        string
	}{
		{skewed{none, false}, 0.4, 3, 0, ""}, {skewed{none, false}, 0.9, 6, 0, ""}, {skewed{-0.3, false}, 0.4, 3, 0, ""},
		{skewed{none, false}, 0.9, 3, 0.3, ""}, {skewed{-0.3, true}, 0.5, 2, 0.3, ""},
		{skewed{none, false}, 0.9, 3, 0, "always"}, {skewed{none, false}, 0.9, 6, 0, "length"},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			s := fixed(t, c.target, c.epsilon, Options{StepError: c.error})
			s.tau = c.tau
			lengths := map[int]int{}
			u, _, _ := transitions(t, c.target, s, func(s *Sampler, rng *rand.Rand) Info {
				switch c.fault {
				case "always":
					s.state.refresh(rng)
					for range 1 + rng.IntN(3) {
						s.leap(&s.state, c.epsilon)
					}
					return Info{}
				case "length":
					s.tau = c.tau / (1 + math.Exp(2*s.state.x[0]))
				}
				info := s.Step(rng)
				lengths[info.Leapfrogs]++
				return info
			})
			good := true
			for i := range u {
				good = good && uniform(u[i])
			}
			if good != (c.fault == "") {
				t.Errorf("fault %q: passed is %v", c.fault, good)
			}
			if c.fault == "" && len(lengths) < 2 {
				t.Errorf("lengths %v: nothing was tested", lengths)
			}
		})
	}
}

// Of a normal target τ is half the period, π, whatever its scales; and a leapfrog step gives 1.7 times what it
// gives in doubled trajectories, or more (2.3 were seen): effective draws of the squares of coordinates.
func TestLearntLengthOfNormals(t *testing.T) {
	const dim, draws = 40, 2000
	target := newAutoregressive(dim, 0, 3)
	leapfrogs, least := map[bool]float64{}, map[bool]float64{}
	for _, learn := range []bool{false, true} {
		s := must.Get(New(target, make([]float64, dim), Options{LearnLength: learn}))(t)
		kernel := func(int, *rand.Rand) (mcmc.Kernel[Info], error) { return s, nil }
		names := make([]string, dim)
		d := must.Get(mcmc.Run(t.Context(), mcmc.Columns{Params: names, Info: InfoNames}, kernel, Keep, mcmc.Plan{Chains: 1, Warmup: 500, Draws: draws, Seed: 3}))(t)
		if learn && math.Abs(s.tau/math.Pi-1) > 0.15 {
			t.Errorf("τ is %g, not about π", s.tau)
		}
		for _, n := range InfoColumn(d, "n_leapfrog__")[0] {
			leapfrogs[learn] += n / draws
		}
		least[learn] = math.Inf(1)
		for j := range dim {
			x := d.Column(j)
			m, sd := target.mean[j], target.sd[j]
			checkMoments(t, fmt.Sprint("coordinate ", j), x, m, sd*sd)
			for i := range x[0] {
				x[0][i] = (x[0][i] - m) * (x[0][i] - m)
			}
			least[learn] = min(least[learn], posterior.Of(x).ESSBulk())
		}
	}
	if !(least[true]/leapfrogs[true] > 1.7*least[false]/leapfrogs[false]) {
		t.Errorf("leapfrogs a draw %v, least ESS of a square %v of %d draws", leapfrogs, least, draws)
	}
}

// Without a last buffer of warm-up no length is learnt, and trajectories are doubled.
func TestLengthNeedsAWarmup(t *testing.T) {
	s := must.Get(New(standard(3), make([]float64, 3), Options{LearnLength: true}))(t)
	rng := rand.New(rand.NewPCG(1, 1))
	s.Step(rng)
	s.Adapt(0, 1)
	if s.Step(rng); s.tau != 0 || s.Err() != nil {
		t.Errorf("τ is %g, error %v", s.tau, s.Err())
	}
}
