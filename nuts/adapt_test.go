package nuts

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

// Where a window ends with a new metric, the gradient at the state is whitened by
// that, and the step size is looked for anew.
func TestAdaptRenewsTheGradient(t *testing.T) {
	const dim, warmup = 6, 300
	target := newAutoregressive(dim, 0.8, 3)
	s := must.Get(New(target, make([]float64, dim), Options{Dense: 3}))(t)
	rng, g, renewed := rand.New(rand.NewPCG(1, 1)), make([]float64, dim), 0
	for i := range warmup {
		s.Step(rng)
		s.Adapt(i, warmup)
		if s.fresh {
			renewed++
		}
		target.LogDensity(g, s.Position())
		s.metric.Pull(g, g)
		for j := range g {
			if math.Abs(g[j]-s.state.g[j]) > 1e-9*(1+math.Abs(g[j])) {
				t.Fatalf("iteration %d: gradient %v, not %v", i, s.state.g, g)
			}
		}
	}
	if _, ends := schedule(warmup); renewed != len(ends) {
		t.Errorf("%d metrics of %d windows", renewed, len(ends))
	}
	settled := s.stepSize.Value()
	if info := s.Step(rng); info.StepSize != settled {
		t.Error("the step size changes after warm-up")
	}
}
