package calibration

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// The law of D_n where it has a closed form: for 1/2n ≤ d ≤ 1/n it is
// n!(2d − 1/n)ⁿ, and for d ≥ 1 − 1/n it is 1 − 2(1 − d)ⁿ (Ruben & Gambino 1982);
// and the example of Marsaglia, Tsang & Wang.
func TestKSExact(t *testing.T) {
	check := func(n int, d, want float64) {
		t.Helper()
		if got := ksExact(n, d); !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("P(D_%d < %v) = %.16g, want %.16g", n, d, got, want)
		}
	}
	check(10, 0.274, 0.6284796154565043)
	for _, n := range []int{1, 2, 3, 7, 20, 50} {
		f := float64(n)
		lg, _ := math.Lgamma(f + 1)
		for _, w := range []float64{0.55, 0.75, 1} {
			check(n, w/f, math.Exp(lg+f*math.Log(2*w/f-1/f)))
		}
		for _, w := range []float64{0.1, 0.5, 0.9} {
			if d := 1 - w/f; d >= 0.5 {
				check(n, d, 1-2*math.Pow(w/f, f))
				if got := oneSidedTail(n, d); !(math.Abs(got-math.Pow(w/f, f)) <= 1e-12) {
					t.Errorf("one-sided, n = %d, d = %v: %g", n, d, got)
				}
			}
		}
	}
}

// The three ways to a p-value agree where they meet.
func TestKSTailIsContinuous(t *testing.T) {
	for _, n := range []int{20, 50, 300, exactKS} {
		d := math.Sqrt(2.2 / float64(n))
		if twice, exact := 2*oneSidedTail(n, d), 1-ksExact(n, d); !(math.Abs(twice-exact) <= 1e-7) {
			t.Errorf("n = %d: %g and %g", n, twice, exact)
		}
	}
	for _, x := range []float64{0.5, 0.8, 1, 1.2, 1.4} {
		d := x / math.Sqrt(exactKS)
		exact := 1 - ksExact(exactKS, d)
		f := float64(exactKS)
		limit := ksLimitTail(x + 1/(6*math.Sqrt(f)) + (x-1)/(4*f))
		if !(math.Abs(exact-limit) <= 3e-5) {
			t.Errorf("x = %v: exact %g, limit %g", x, exact, limit)
		}
	}
}

func TestKS(t *testing.T) {
	d, p := KS([]float64{0.9, 0.2})
	if d != 0.4 || math.Abs(p-(1-2*math.Pow(0.8-0.5, 2))) > 1e-12 {
		// P(D_2 < 0.4): 2!(2·0.4 − ½)².
		t.Errorf("D = %v, p = %v", d, p)
	}
	if d, p := KS(nil); !math.IsNaN(d) || !math.IsNaN(p) {
		t.Errorf("of nothing: %v, %v", d, p)
	}
	if d, p := KS([]float64{1, 1, 1}); d != 1 || p != 0 {
		t.Errorf("of ones: %v, %v", d, p)
	}
}

// p-values of uniform samples are uniform: so says the test itself, on 1000 of
// them, with a false-alarm rate of 1e-5.
func TestKSOfUniform(t *testing.T) {
	for _, n := range []int{1, 10, 150, 1500} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(n), 3))
			values := make([]float64, 1000)
			for i := range values {
				u := make([]float64, n)
				for j := range u {
					u[j] = rng.Float64()
				}
				_, values[i] = KS(u)
			}
			if _, p := KS(values); p < 1e-5 {
				t.Errorf("p-values are not uniform: p = %g", p)
			}
		})
	}
}

// Critical values as tables have them: 1.3581/√n and 1.6276/√n for large n, and for
// n = 10 those of Miller (1956).
func TestKSCritical(t *testing.T) {
	for _, c := range []struct {
		n                  int
		level, want, error float64
	}{{10, 0.05, 0.40925, 1e-5}, {10, 0.01, 0.48893, 1e-5}, {1_000_000, 0.05, 0.0013581, 1e-6}, {1_000_000, 0.01, 0.0016276, 1e-6}} {
		if got := KSCritical(c.n, c.level); math.Abs(got-c.want) > c.error {
			t.Errorf("n = %d, %v: %v, want %v", c.n, c.level, got, c.want)
		}
	}
}
