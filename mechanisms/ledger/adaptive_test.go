package ledger

import (
	"math"
	"math/big"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/internal/testsize"
)

func tail(x float64) float64 { return math.Erfc(x/math.Sqrt2) / 2 }

// hockey is E[(1 − e^{x−W})₊] for W ~ N(τ/2, τ): δ(x, τ), for every real x.
func hockey(x, square float64) float64 {
	mu := math.Sqrt(square)
	return max(0, tail(x/mu-mu/2)-math.Exp(x)*tail(x/mu+mu/2))
}

// response is the same for randomised response, the least private mechanism of ε: the
// loss is ±ε, +ε with probability e^ε/(1 + e^ε).
func response(x, epsilon float64) float64 {
	p := 1 / (1 + math.Exp(-epsilon))
	part := func(loss float64) float64 { return max(0, -math.Expm1(x-loss)) }
	return p*part(epsilon) + (1-p)*part(-epsilon)
}

// adversary is the δ at total ε that somebody gets who asks for first, of Gaussian noise
// (a run may be one release), looks at the loss it caused, and then takes what is worst of
// what the account still allows: all of the rest as one pure release, as one Gaussian one,
// or as a run that tells the data with a probability of δ.
func adversary(t *testing.T, first Charge, after account) float64 {
	t.Helper()
	epsilon, _ := after.total.Epsilon.Float64()
	square, _ := after.square.Float64()
	most := func(next func(x float64) Charge) float64 {
		low, high := 0.0, 100.0
		for range 30 {
			middle := (low + high) / 2
			a, c := after, next(middle)
			a.add(&c)
			if ok, err := a.within(); err != nil {
				t.Fatal(err)
			} else if ok {
				low = middle
			} else {
				high = middle
			}
		}
		return low
	}
	pure := most(func(x float64) Charge { return Charge{Noise: Laplace, Epsilon: number.Exactly(x), Delta: new(big.Rat)} })
	// What it states is beyond any sum: only the count decides.
	more := most(func(x float64) Charge {
		return Charge{Noise: Gaussian, Epsilon: rat("1e9"), Delta: rat("0.5"), Sensitivity: max(x, 1e-300), Scale: 1}
	})
	told := most(func(x float64) Charge {
		return Charge{Noise: Sampled, Epsilon: rat("1e-12"), Delta: number.Exactly(x), Sensitivity: 1e-9, Scale: 1}
	})
	worst := 0.0
	const step = 4e-3
	for z := -9.; z < 12; z += step {
		loss := square/2 + math.Sqrt(square)*z
		value := max(response(epsilon-loss, pure), hockey(epsilon-loss, max(more*more, 1e-300)), told+(1-told)*response(epsilon-loss, 0))
		worst += step * value * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
	}
	return worst
}

// The filter holds against one who chooses by what was seen; the same rule with all
// of δ for both counts, the least of two filters, would not: that is why δ is shared.
func TestAdaptiveAdversary(t *testing.T) {
	overspent := 0.0
	for _, total := range []Budget{budget("2", "1e-6", Auto), budget("2", "1e-5", Auto), budget("8", "1e-5", Auto)}[:testsize.Of(1, 3)] {
		delta, _ := total.Delta.Float64()
		for _, asked := range []string{"0.5", "1", "1.5"} {
			for _, d := range []string{"4e-7", "1e-6", "4e-6", "1e-5"} {
				first := gaussian(t, asked, d)
				a, ok := afterFirst(t, total, first)
				if !ok {
					continue
				}
				if got := adversary(t, first, a); got > delta {
					t.Errorf("total (%v, %v): after (%s, %s) δ = %v can be had", total.Epsilon, delta, asked, d, got)
				}
				a.forSum, a.forCount = total.Delta, total.Delta
				if got := adversary(t, first, a) / delta; got > overspent {
					overspent = got
					t.Logf("total (%s, %v), first (%s, %s): the least of two filters gives away %.3g δ", total.Epsilon.RatString(), delta, asked, d, got)
				}
			}
		}
	}
	if overspent < 1.2 {
		t.Error("the adversary is too weak to overspend the least of two filters")
	}
}

func afterFirst(t *testing.T, total Budget, first Charge) (a account, ok bool) {
	t.Helper()
	a = newAccount(total)
	a.add(&first)
	return a, must.Get(a.within())(t)
}

// It holds where the first one is a run, too.
func TestAdaptiveAdversaryAfterRun(t *testing.T) {
	total := budget("2", "1e-5", Auto)
	for _, d := range []string{"1e-6", "4e-6", "1e-5"} {
		first := gaussian(t, "1", d)
		first.Noise = Sampled
		a, ok := afterFirst(t, total, first)
		if !ok {
			t.Fatalf("no room for (1, %s)", d)
		}
		if got := adversary(t, first, a); got > 1e-5 {
			t.Errorf("after (1, %s) δ = %v can be had", d, got)
		}
	}
}

// A pure release is never worth more than the Gaussian one that it counts as.
func TestPureCountsAsGaussian(t *testing.T) {
	factor, _ := halfPi.Float64()
	if factor < math.Pi/2 {
		t.Errorf("%v is below π/2", factor)
	}
	for epsilon := 0.01; epsilon < 12; epsilon *= 1.1 {
		for x := -15.; x < 15; x += 0.01 {
			if pure, counted := response(x, epsilon), hockey(x, factor*epsilon*epsilon); pure > counted+1e-13 {
				t.Fatalf("ε = %v: at %v δ is %v, and counted %v", epsilon, x, pure, counted)
			}
		}
	}
}
