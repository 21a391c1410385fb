package vi

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Adam finds the top of −(x − 3)² − 10(y + 1)² given noisy gradients.
func TestAdam(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 0))
	x, sum, a := []float64{0, 0}, []float64{0, 0}, NewAdam(0.01, 2)
	const steps = 8000
	for i := range steps {
		a.Step(x, []float64{-2*(x[0]-3) + rng.NormFloat64(), -20*(x[1]+1) + rng.NormFloat64()})
		if i >= steps/2 {
			sum[0] += x[0] / (steps / 2)
			sum[1] += x[1] / (steps / 2)
		}
	}
	if math.Abs(sum[0]-3) > 0.1 || math.Abs(sum[1]+1) > 0.1 {
		t.Errorf("it ends at %v", sum)
	}
}

// Adam's first step is Rate, whatever the gradient's size.
func TestAdamFirstStep(t *testing.T) {
	a, x := NewAdam(0.1, 2), []float64{0, 0}
	a.Step(x, []float64{1e-3, -1e6})
	if math.Abs(x[0]-0.1) > 1e-5 || math.Abs(x[1]+0.1) > 1e-9 {
		t.Errorf("%v", x)
	}
}
