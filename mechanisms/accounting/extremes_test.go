package accounting

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
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
		training := Training{Multiplier: power(-1, 3), Rate: power(-7, 0), Steps: int(power(0, 6)), Scheme: Scheme(rng.IntN(3))}
		if rng.IntN(6) == 0 {
			training.Rate = 1 - power(-12, -1)
		}
		delta := power(-15, -0.1)
		if rng.IntN(8) == 0 {
			delta = power(-150, -15)
		}
		c, err := training.composition()
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Epsilon(delta)
		if err != nil {
			t.Fatal(err)
		}
		rdp, err := training.Epsilon(RDP, delta)
		if err != nil || !(got.Lower <= got.Upper && got.Upper <= rdp*(1+1e-4)) {
			t.Errorf("%+v, δ = %v: %v, RDP %v: %v", training, delta, got, rdp, err)
		}
		back, err := c.Delta(got.Upper)
		if err != nil || !(back.Lower <= back.Upper && back.Lower <= delta*(1+1e-6)) {
			t.Errorf("%+v, δ = %v: %v has δ %v: %v", training, delta, got, back, err)
		}
		if width := got.Upper - got.Lower; width <= 1e-4*got.Upper || got.Upper < 1e-9 {
			narrow++
		} else if width <= 0.01*got.Upper {
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
		var c Composition
		count := int(power(0, 9))
		what := Repeated{Multiplier: power(-1, 6), Count: count}
		err := c.Laplace(what.Multiplier, 1, count)
		if rng.IntN(3) == 0 {
			err = errors.Join(err, c.Pure(power(-6, 2), 1+count/2))
		}
		if err != nil {
			t.Fatal(err)
		}
		delta := power(-15, -0.1)
		if rng.IntN(8) == 0 {
			delta = power(-150, -15)
		}
		got, err := c.Epsilon(delta)
		rdp := (&renyi{Composition: &c}).epsilon(delta)
		if err != nil || !(got.Lower <= got.Upper && got.Upper <= rdp*(1+1e-4)) {
			t.Errorf("%+v of %d kinds, δ = %v: %v, RDP %v: %v", what, len(c.pairs), delta, got, rdp, err)
		}
		for _, epsilon := range []float64{got.Upper, power(-3, 9)} {
			if back, err := c.Delta(epsilon); err != nil || !(back.Lower <= back.Upper && (epsilon < got.Upper || back.Lower <= delta*(1+1e-6))) {
				t.Errorf("%+v of %d kinds, δ = %v: %v has δ %v: %v", what, len(c.pairs), delta, epsilon, back, err)
			}
		}
	}
}
