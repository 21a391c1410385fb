package accounting

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
)

// Rényi divergences of any order against a sum over a fine grid, which for such a
// smooth integrand is exact to rounding.
func TestRenyi(t *testing.T) {
	for _, s := range []sampled{{sigma: 0.7, q: 0.004}, {sigma: 4, q: 0.3}, {sigma: 1.5, q: 0.05, replace: true}, {sigma: 0.6, q: 0.6, replace: true}} {
		for _, order := range []float64{1.05, 2, 3.8, 17.5} {
			density := func(x, mean float64) float64 {
				return (1-s.q)*math.Exp(-x*x/(2*s.sigma*s.sigma)) + s.q*math.Exp(-(x-mean)*(x-mean)/(2*s.sigma*s.sigma))
			}
			other := 0.
			if s.replace {
				other = -1
			}
			step := math.Min(s.sigma, s.sigma*s.sigma) / 40
			sum := 0.
			for x := -12 * s.sigma; x < 2*order+12*s.sigma; x += step {
				sum += math.Exp(order*math.Log(density(x, 1)) + (1-order)*math.Log(density(x, other)))
			}
			want := math.Log(sum*step/(s.sigma*math.Sqrt(2*math.Pi))) / (order - 1)
			if got := s.renyi(order); math.Abs(got-want) > 1e-10*want+2*momentError/(order-1) {
				t.Errorf("%+v, order %v: %v, want %v", s, order, got, want)
			}
		}
	}
}

// The divergence of a law's cells, which merge outcomes, is less, and not by much.
func TestRenyiOfLaws(t *testing.T) {
	for _, p := range []pair{laplace{1}, laplace{7}, pure{0.5}, sampled{sigma: 1, q: 1}} {
		step := p.law(resolution{step: math.Inf(1), tail: 1e-100}).reach() / 1000
		l := p.law(resolution{step: step, tail: 1e-100, focus: focus{slope: 6, most: math.Inf(1)}})
		for _, order := range []float64{1.5, 2, 7} {
			got, cells := p.renyi(order), l.logMoment(order-1)/(order-1)
			if !(cells <= got*(1+1e-9) && cells > got*(1-1e-2)) {
				t.Errorf("%#v, order %v: %v, of the cells %v", p, order, got, cells)
			}
		}
	}
}

// Accountants are in order, and ε, δ, σ, T and q of one are each other's inverses.
func TestInverses(t *testing.T) {
	testsize.Full(t, "TestCalibrationGoldens has the inverses that other software has")
	base := Training{Multiplier: 3, Rate: 0.02, Steps: 200}
	const delta = 1e-5
	last := 0.
	for _, a := range []Accountant{Optimistic, PLD, RDP} {
		epsilon := must.Get(base.Epsilon(a, delta))(t)
		if epsilon < last {
			t.Errorf("%v: ε = %v after %v", a, epsilon, last)
		}
		last = epsilon
		if d, err := base.Delta(a, epsilon); err != nil || math.Abs(math.Log(d/delta)) > 2e-4 {
			t.Errorf("%v: δ = %v: %v", a, d, err)
		}
		if a == Optimistic && testing.Short() { // as PLD
			continue
		}
		if sigma, err := base.FindMultiplier(a, epsilon, delta); err != nil || math.Abs(sigma-3) > 3e-5 {
			t.Errorf("%v: σ = %v: %v", a, sigma, err)
		}
		if a == Optimistic && !*all { // as PLD
			continue
		}
		if q, err := base.FindRate(a, epsilon, delta); err != nil || math.Abs(q-0.02) > 2e-7 {
			t.Errorf("%v: q = %v: %v", a, q, err)
		}
		steps, err := base.FindSteps(a, epsilon*(1+1e-4), delta)
		if err != nil || steps != 200 {
			t.Errorf("%v: T = %v: %v", a, steps, err)
		}
	}
}

func TestCalibrationRefuses(t *testing.T) {
	base, whole := Training{Multiplier: 1, Rate: 0.02, Steps: 200}, Training{Multiplier: 1, Rate: 1, Steps: 200}
	nan := math.NaN()
	for i, call := range []func() error{
		func() error { _, err := base.FindMultiplier(PLD, 0, 1e-5); return err },
		func() error { _, err := base.FindMultiplier(PLD, nan, 1e-5); return err },
		func() error { _, err := base.FindMultiplier(RDP, 1, nan); return err },
		func() error { _, err := whole.FindMultiplier(RDP, 1e-9, 1e-100); return err },
		func() error { _, err := whole.FindSteps(PLD, 1e-9, 1e-100); return err },
		func() error { _, err := Training{Rate: 2, Steps: 10}.FindMultiplier(PLD, 1, 1e-5); return err },
		func() error { _, err := Training{Rate: 0.1}.FindMultiplier(PLD, 1, 1e-5); return err },
		func() error { _, err := base.Epsilon(PLD, 2); return err },
		func() error { _, err := base.Delta(PLD, -1); return err },
	} {
		if call() == nil {
			t.Errorf("call %d is accepted", i)
		}
	}
}

// Where a range ends with what serves, nothing is known that does not; but there is no
// rate above 1.
func TestWholeRangeServes(t *testing.T) {
	quiet := Training{Multiplier: MaxMultiplier, Rate: 1, Steps: 1}
	if steps, err := quiet.FindSteps(PLD, 10, 1e-5); err != nil || steps != MaxCount {
		t.Errorf("T = %v: %v", steps, err)
	}
	if steps, err := quiet.FindSteps(Optimistic, 10, 1e-5); err == nil {
		t.Errorf("more than T = %v is not allowed", steps)
	}
	if q, err := quiet.FindRate(Optimistic, 10, 1e-5); err != nil || q != 1 {
		t.Errorf("q = %v: %v", q, err)
	}
}

// No lattice is larger than memory allows, however many atoms the loss has.
func TestManyAtoms(t *testing.T) {
	d := composition{laplace{5}, 1e9}.direction(false, MinDelta)
	for distance := 1.; distance < 1e12; distance *= 10 {
		if g := d.grid(window{distance: distance}, 1e-3); g.n > 5*maxSize/2 || float64(g.n)*g.step < 2*distance {
			t.Errorf("a window of ±%v has %d points, %v apart", distance, g.n, g.step)
		}
	}
}

// What is found without sampling is what Epsilon accepts, to the last digit.
func TestMultiplierServes(t *testing.T) {
	for steps := 1; steps < 200; steps += 7 {
		run := Training{Rate: 1, Steps: steps, Scheme: PoissonReplaceOne}
		for _, epsilon := range []float64{0.01, 0.3, 1, 7} {
			run.Multiplier = must.Get(run.FindMultiplier(PLD, epsilon, 1e-5))(t)
			if got, err := run.Epsilon(PLD, 1e-5); !(got <= epsilon) || err != nil {
				t.Errorf("%d steps: ε = %v, not %v (%v)", steps, got, epsilon, err)
			}
		}
	}
}

// A search over whole numbers tries whole numbers only, and so ends.
func TestFewSteps(t *testing.T) {
	run := Training{Multiplier: 8, Rate: 1}
	steps, err := run.FindSteps(PLD, 0.7, 1e-4)
	for more, fits := range []bool{true, false} {
		run.Steps = steps + more
		if e, err2 := run.Epsilon(PLD, 1e-4); err != nil || err2 != nil || (e <= 0.7) != fits {
			t.Errorf("T = %d: ε = %v (%v, %v)", run.Steps, e, err, err2)
		}
	}
}

// ρ-zCDP has no smaller ε than Gaussian noise of μ = √(2ρ), which is ρ-zCDP, and no larger one
// than Bun & Steinke's ρ + 2√(ρ ln(1/δ)).
func TestZCDPEpsilon(t *testing.T) {
	for _, rho := range []float64{1e-8, 1e-3, 0.05, 0.5, 3, 100} {
		for _, delta := range []float64{1e-3, 1e-6, 1e-12, 1e-100} {
			got := must.Get(ZCDPEpsilon(rho, delta))(t)
			least := must.Get(Epsilon(1, delta, math.Sqrt(2*rho)))(t)
			if most := rho + 2*math.Sqrt(rho*math.Log(1/delta)); got < least || got > most*(1+1e-9) {
				t.Errorf("ρ = %v, δ = %v: ε = %v, not in [%v, %v]", rho, delta, got, least, most)
			}
		}
	}
	for _, bad := range [][2]float64{{0, 0.1}, {-1, 0.1}, {math.Inf(1), 0.1}, {math.NaN(), 0.1}, {1, 0}, {1, 1}} {
		if _, err := ZCDPEpsilon(bad[0], bad[1]); err == nil {
			t.Errorf("%v: no error", bad)
		}
	}
}

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
