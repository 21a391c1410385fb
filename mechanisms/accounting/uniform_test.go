package accounting

import (
	"math"
	"testing"
)

// The Rényi divergence of batches without replacement is above that of the worst case by direct
// sums over x: of n records all but one are 0, and that one is 1 or −1, in a batch of m. It
// is less than twice as large; and so is ε, against a composition of that case alone.
func TestWithoutReplacement(t *testing.T) {
	for _, c := range []struct{ sigma, q, order float64 }{{1, 0.1, 2}, {1, 0.1, 8}, {2, 0.01, 1.5}, {5, 0.3, 20}, {0.7, 0.5, 3}} {
		density := func(x, mean float64) float64 {
			return (1-c.q)*math.Exp(-x*x/(2*c.sigma*c.sigma)) + c.q*math.Exp(-(x-mean)*(x-mean)/(2*c.sigma*c.sigma))
		}
		sum := func(p, q func(x float64) float64) float64 {
			total, step := 0., c.sigma*min(c.sigma, 1)/40
			for x := -2*c.order - 14*c.sigma; x < 2*c.order+14*c.sigma; x += step {
				total += math.Exp(c.order*math.Log(p(x)) + (1-c.order)*math.Log(q(x)))
			}
			return math.Log(total*step/(c.sigma*math.Sqrt(2*math.Pi))) / (c.order - 1)
		}
		got, err := Training{Multiplier: c.sigma, Rate: c.q, Steps: 1, Scheme: WithoutReplacement}.RDP(c.order)
		if err != nil {
			t.Fatal(err)
		}
		attained := sum(func(x float64) float64 { return density(x, 1) }, func(x float64) float64 { return density(x, -1) })
		// The other records may be at ±1, too: then the sum is shifted, and a record at 1 in
		// place of −1, sampled, is one of mean 2 against 0.
		shifted := sum(func(x float64) float64 { return density(x, 2) }, func(x float64) float64 { return density(x, 0) })
		if !(got >= attained && got >= shifted && got <= 2*max(attained, shifted)*(1+1e-9)) {
			t.Errorf("%+v: %v, attained %v and %v", c, got, attained, shifted)
		}
	}
}

// Every way to ask for ε is by Rényi divergences, and says so where there is none.
func TestWithoutReplacementAccountants(t *testing.T) {
	one := Training{Multiplier: 2, Rate: 0.01, Steps: 1000, Scheme: WithoutReplacement}
	byPLD, err := one.Epsilon(PLD, 1e-5)
	byRDP, _ := one.Epsilon(RDP, 1e-5)
	poisson, _ := Training{Multiplier: 2, Rate: 0.01, Steps: 1000, Scheme: PoissonReplaceOne}.Epsilon(PLD, 1e-5)
	if err != nil || byPLD != byRDP || !(byPLD > poisson && byPLD < 3*poisson) {
		t.Errorf("%v, %v, by Poisson %v (%v)", byPLD, byRDP, poisson, err)
	}
	if d, err := one.Delta(PLD, byPLD); err != nil || d > 1e-5*(1+1e-6) {
		t.Errorf("δ = %v (%v)", d, err)
	}
	sigma, err := one.FindMultiplier(PLD, byPLD, 1e-5)
	if err != nil || math.Abs(sigma-2) > 1e-4 {
		t.Errorf("σ = %v (%v)", sigma, err)
	}
	all := Training{Multiplier: 2, Rate: 1, Steps: 10, Scheme: WithoutReplacement}
	exact, _ := Training{Multiplier: 2, Rate: 1, Steps: 10, Scheme: PoissonReplaceOne}.Epsilon(PLD, 1e-5)
	if e, err := all.Epsilon(PLD, 1e-5); err != nil || e < exact || e > 1.1*exact {
		t.Errorf("all records: ε = %v, exactly %v (%v)", e, exact, err)
	}
	if _, err := one.Epsilon(Optimistic, 1e-5); err == nil {
		t.Error("a lower bound")
	}
}
