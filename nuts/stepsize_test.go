package nuts

import (
	"math"
	"testing"
)

// The recursion as Hoffman and Gelman (2014, equation 6) have it.
func TestStepSizeRecursion(t *testing.T) {
	s := StepSize{Target: 0.8}
	s.Restart(0.5, 5)
	if math.Abs(s.Value()-0.5) > 1e-15 {
		t.Errorf("starts at %v", s.Value())
	}
	gap, logMean := 0.0, 0.0
	for n, accept := range []float64{0.3, 0.9, 1, 0, 0.75, 0.8} {
		m := float64(n + 1)
		s.Update(accept)
		gap = (1-1/(m+10))*gap + 1/(m+10)*(0.8-accept)
		log := math.Log(5) - math.Sqrt(m)/0.05*gap
		eta := math.Pow(m, -0.75)
		logMean = eta*log + (1-eta)*logMean
		if math.Abs(math.Log(s.Value())-log) > 1e-12 {
			t.Errorf("log ε is %v after %v, not %v", math.Log(s.Value()), m, log)
		}
	}
	s.Settle()
	if math.Abs(math.Log(s.Value())-logMean) > 1e-12 {
		t.Errorf("settles at %v, not %v", math.Log(s.Value()), logMean)
	}
}

func TestStepSizeFindsItsTarget(t *testing.T) {
	for _, target := range []float64{0.6, 0.8, 0.95} {
		s := StepSize{Target: target}
		s.Restart(3, 30)
		for range 2000 {
			s.Update(math.Exp(-s.Value()))
		}
		s.Settle()
		if accept := math.Exp(-s.Value()); math.Abs(accept-target) > 0.01 {
			t.Errorf("acceptance is %v, not %v", accept, target)
		}
	}
}
