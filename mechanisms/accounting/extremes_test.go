package accounting

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

// Random cases far beyond use, some minutes of them: -all -v says how many brackets are
// wide. None may be empty, or go past Rényi's bound, or contradict its own inverse.
func TestFarCases(t *testing.T) {
	if !*all {
		t.Skip("-all runs it")
	}
	rng := rand.New(rand.NewPCG(9, 19))
	power := func(low, high float64) float64 { return math.Pow(10, low+(high-low)*rng.Float64()) }
	narrow, percent := 0, 0
	const cases = 140
	for range cases {
		training := Training{Multiplier: power(-1, 3), Rate: power(-7, 0), Steps: int(power(0, 6)), Scheme: Scheme(rng.IntN(2))}
		if rng.IntN(6) == 0 {
			training.Rate = 1 - power(-12, -1)
		}
		delta := power(-15, -0.1)
		if rng.IntN(8) == 0 {
			delta = power(-150, -15)
		}
		c := must.Get(training.composition())(t)
		got := must.Get(c.epsilon(delta))(t)
		rdp, err := training.Epsilon(RDP, delta)
		if err != nil || !(got.lower <= got.upper && got.upper <= rdp*(1+1e-4)) {
			t.Errorf("%+v, δ = %v: %v, RDP %v: %v", training, delta, got, rdp, err)
		}
		back := c.deltas()(got.upper)
		if !(back.lower <= back.upper && back.lower <= delta*(1+1e-6)) {
			t.Errorf("%+v, δ = %v: %v has δ %v", training, delta, got, back)
		}
		if width := got.upper - got.lower; width <= 1e-4*got.upper || got.upper < 1e-9 {
			narrow++
		} else if width <= 0.01*got.upper {
			percent++
		}
	}
	t.Logf("%d of %d narrower than 1e-4, %d others than 1 %%", narrow, cases, percent)
	if narrow < 120 {
		t.Errorf("%d of %d brackets only are narrow", narrow, cases)
	}
}

// The same of Laplace noise and whatever is pure, of which losses have atoms, up to a
// thousand million releases.
func TestFarAtoms(t *testing.T) {
	if !*all {
		t.Skip("-all runs it")
	}
	rng := rand.New(rand.NewPCG(9, 20))
	power := func(low, high float64) float64 { return math.Pow(10, low+(high-low)*rng.Float64()) }
	for range 40 {
		c := composition{laplace{power(-1, 6)}, math.Floor(power(0, 9))}
		if rng.IntN(3) == 0 {
			c.pair = pure{power(-6, 2)}
		}
		delta := power(-15, -0.1)
		if rng.IntN(8) == 0 {
			delta = power(-150, -15)
		}
		got, err := c.epsilon(delta)
		rdp := (&renyi{composition: c}).epsilon(delta)
		if err != nil || !(got.lower <= got.upper && got.upper <= rdp*(1+1e-4)) {
			t.Errorf("%+v, δ = %v: %v, RDP %v: %v", c, delta, got, rdp, err)
		}
		deltas := c.deltas()
		for _, epsilon := range []float64{got.upper, power(-3, 9)} {
			if back := deltas(epsilon); !(back.lower <= back.upper && (epsilon < got.upper || back.lower <= delta*(1+1e-6))) {
				t.Errorf("%+v, δ = %v: %v has δ %v", c, delta, epsilon, back)
			}
		}
	}
}
