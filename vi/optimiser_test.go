package vi

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Every optimiser finds the top of −(x − 3)² − 10(y + 1)² given noisy gradients.
func TestOptimisers(t *testing.T) {
	for name, o := range map[string]Optimiser{
		"sgd":      &SGD{Rate: 0.003},
		"adam":     &Adam{Rate: 0.01},
		"adagrad":  &Adagrad{Rate: 0.3},
		"windowed": &Adagrad{Rate: 0.01, Window: 10},
	} {
		rng := rand.New(rand.NewPCG(22, 0))
		for range 2 { // the second time as if new
			x, sum := []float64{0, 0}, []float64{0, 0}
			o.Start(2)
			const steps = 8000
			for i := range steps {
				o.Step(x, []float64{-2*(x[0]-3) + rng.NormFloat64(), -20*(x[1]+1) + rng.NormFloat64()})
				if i >= steps/2 {
					sum[0] += x[0] / (steps / 2)
					sum[1] += x[1] / (steps / 2)
				}
			}
			if math.Abs(sum[0]-3) > 0.1 || math.Abs(sum[1]+1) > 0.1 {
				t.Errorf("%s ends at %v", name, sum)
			}
		}
	}
}

// The window forgets what left it: Adagrad's first step of constant gradients is Rate,
// and from the window's length on it is Rate/√window.
func TestWindow(t *testing.T) {
	a, x := &Adagrad{Rate: 1, Window: 4}, []float64{0}
	a.Start(1)
	a.Step(x, []float64{1000})
	for range 4 {
		a.Step(x, []float64{1})
	}
	before := x[0]
	a.Step(x, []float64{1})
	if math.Abs(x[0]-before-0.5) > 1e-9 {
		t.Errorf("a step of %v", x[0]-before)
	}
}

// Adam's first step is Rate, whatever the gradient's size.
func TestAdamFirstStep(t *testing.T) {
	a, x := &Adam{Rate: 0.1}, []float64{0, 0}
	a.Start(2)
	a.Step(x, []float64{1e-3, -1e6})
	if math.Abs(x[0]-0.1) > 1e-5 || math.Abs(x[1]+0.1) > 1e-9 {
		t.Errorf("%v", x)
	}
}
