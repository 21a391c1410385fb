package nuts

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/posterior"
)

var errBroken = errors.New("broken")

// normalUntil is a standard normal that answers otherwise beyond an edge.
func normalUntil(edge float64, logp float64, err error) Target {
	return function{1, func(g, x []float64) (float64, error) {
		if x[0] > edge {
			return logp, err
		}
		return standard(1).LogDensity(g, x)
	}}
}

// Rejections in any form end the trajectory, diverge, and leave the density cut.
func TestRejections(t *testing.T) {
	for what, target := range map[string]Target{
		"ErrReject": normalUntil(0.5, 0, fmt.Errorf("outside: %w", ErrReject)), "NaN": normalUntil(0.5, math.NaN(), nil),
		"-Inf": normalUntil(0.5, math.Inf(-1), nil), "+Inf": normalUntil(0.5, math.Inf(1), nil),
		"gradient": function{1, func(g, x []float64) (float64, error) {
			logp, err := standard(1).LogDensity(g, x)
			if x[0] > 0.5 {
				g[0] = math.NaN()
			}
			return logp, err
		}},
	} {
		d := draw(t, target, Options{}, mcmc.Plan{Chains: 4, Warmup: 300, Draws: 3000, Seed: 1})
		if total(InfoColumn(d, "divergent__")) == 0 {
			t.Errorf("%s: no divergence", what)
		}
		// E[x | x < e] = −φ(e)/Φ(e)
		x := d.Column(0)
		check(t, what+": mean", mean(x), -phi.Prob(0.5)/phi.CDF(0.5), mcseMean(x))
	}
}

func TestErrorsEndTheRun(t *testing.T) {
	plan := mcmc.Plan{Chains: 2, Warmup: 100, Draws: 100, Seed: 1}
	normal := func(int) Target { return standard(1) }
	var calls atomic.Int64
	counted := function{1, func(_, _ []float64) (float64, error) { calls.Add(1); return 0, errBroken }}
	for what, c := range map[string]struct {
		target func(int) Target
		o      Options
		says   string
	}{
		"a broken density": {func(int) Target { return normalUntil(0.5, 0, errBroken) }, Options{}, "broken"},
		"broken at once":   {func(int) Target { return counted }, Options{}, "the start: broken"},
		"no support":       {func(int) Target { return normalUntil(-9, 0, ErrReject) }, Options{}, "the start: the log density or its gradient is not finite"},
		"no gradient": {func(int) Target {
			return function{1, func(g, _ []float64) (float64, error) { g[0] = math.Inf(1); return 0, nil }}
		}, Options{}, "the start: the log density or its gradient is not finite"},
		"an improper density": {func(int) Target {
			return function{1, func(g, _ []float64) (float64, error) { g[0] = 0; return 0, nil }}
		}, Options{}, "improper"},
		"TargetAccept":        {normal, Options{TargetAccept: 1}, "TargetAccept is 1"},
		"TargetAccept, NaN":   {normal, Options{TargetAccept: math.NaN()}, "TargetAccept is NaN"},
		"MaxDepth":            {normal, Options{MaxDepth: 31}, "MaxDepth is 31"},
		"MaxDepth, negative":  {normal, Options{MaxDepth: -1}, "MaxDepth is -1"},
		"Dense":               {normal, Options{Dense: 2}, "Dense is 2"},
		"a panicking density": {func(int) Target { return function{1, func(_, _ []float64) (float64, error) { panic("oh") }} }, Options{}, "oh"},
		"a negative Dense":    {normal, Options{Dense: -1}, "Dense is -1"},
		"a gradient of others": {func(int) Target {
			return function{1, func(g, x []float64) (float64, error) { g[0] = 1e300 * x[0]; return 0, nil }}
		}, Options{}, "no step size"},
	} {
		d, err := sample(t.Context(), c.target, c.o, plan)
		if d != nil || err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", what, err)
		}
		if strings.Contains(what, "broken") && !errors.Is(err, errBroken) {
			t.Errorf("%s: %v does not wrap the target's error", what, err)
		}
	}
	if calls.Load() > int64(plan.Chains) {
		t.Errorf("%d calls of a density that is broken", calls.Load())
	}
}

func TestCancelledRunKeepsItsDraws(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	target := function{1, func(g, x []float64) (float64, error) {
		if calls++; calls == 3000 {
			cancel()
		}
		return standard(1).LogDensity(g, x)
	}}
	d, err := sample(ctx, func(int) Target { return target }, Options{}, mcmc.Plan{Chains: 1, Draws: 1 << 30})
	if !errors.Is(err, context.Canceled) || d == nil || d.NumDraws() == 0 {
		t.Errorf("%v", err)
	}
}

// A state moved from outside is taken up; moved outside the support, it ends the
// run.
func TestMoved(t *testing.T) {
	s := fixed(t, normalUntil(2, 0, ErrReject), 0.5, Options{})
	rng := rand.New(rand.NewPCG(1, 1))
	s.Step(rng)
	s.Position()[0] = 1.5
	if !s.Moved() || s.LogDensity() != -0.5*1.5*1.5 {
		t.Errorf("log density %v after a move", s.LogDensity())
	}
	s.Position()[0] = 3
	if s.Moved() || s.Err() == nil {
		t.Error("moved outside the support")
	}
	before := s.info
	if s.Step(rng) != before || s.Position()[0] != 3 {
		t.Error("a failed chain steps on")
	}
}

func TestNewPanicsOnShape(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	New(standard(2), []float64{1}, Options{})
}

func TestStepsDoNotAllocate(t *testing.T) {
	for _, dense := range []int{0, 3, 8} {
		s := fixed(t, newAutoregressive(8, 0.9, 2), 0.02, Options{Dense: dense, MaxDepth: 7})
		rng := rand.New(rand.NewPCG(1, 1))
		for range 20 {
			s.Step(rng)
		}
		i := 0
		if a := testing.AllocsPerRun(200, func() { s.Step(rng); s.Adapt(i, 150); i++ }); a != 0 {
			t.Errorf("dense %d: %v allocations a step", dense, a)
		}
	}
}

func TestKeepWritesStansColumns(t *testing.T) {
	dst := make([]float64, len(InfoNames))
	Keep(Info{LogDensity: 1, Accept: 2, StepSize: 3, Depth: 4, Leapfrogs: 5, Divergent: true, Energy: 6}, dst)
	if got := fmt.Sprint(InfoNames, dst); got != "[lp__ accept_stat__ stepsize__ treedepth__ n_leapfrog__ divergent__ energy__] [1 2 3 4 5 1 6]" {
		t.Error(got)
	}
}

func TestWarnings(t *testing.T) {
	row := func(depth, divergent, energy float64) []float64 {
		return []float64{0, 0, 0, depth, 0, divergent, energy}
	}
	chain := func(rows ...[]float64) (c []float64) {
		for _, r := range rows {
			c = append(c, r...)
		}
		return c
	}
	d := &posterior.Draws{InfoNames: InfoNames, Info: [][]float64{
		chain(row(2, 0, 1), row(2, 0, 1), row(2, 0, 1)),                                                         // the energy never changes: no E-BFMI
		chain(row(10, 0, 1), row(3, 1, 2), row(3, 0, 3), row(3, 0, 4), row(3, 0, 5)),                            // 4/10
		chain(row(3, 0, 1), row(3, 0, 2), row(3, 0, 3), row(3, 0, 4), row(3, 0, 5), row(3, 0, 6), row(3, 0, 7)), // 6/28
	}}
	w := Warnings(d, Options{})
	if len(w) != 3 || !strings.HasPrefix(w[0], "1 of 15 transitions") || !strings.HasPrefix(w[1], "1 of 15 trajectories") || !strings.Contains(w[2], "0.21") {
		t.Errorf("%q", w)
	}
	if w := Warnings(d, Options{MaxDepth: 11}); len(w) != 2 {
		t.Errorf("%q", w)
	}
	if w := Warnings(&posterior.Draws{InfoNames: InfoNames}, Options{}); len(w) != 0 {
		t.Errorf("no draws: %q", w)
	}
}

// What a run is to take is no endless question to a chain that fails.
func TestExpectEndsWithItsChain(t *testing.T) {
	improper := function{1, func(g, _ []float64) (float64, error) { g[0] = 0; return 0, nil }}
	start := func(int, *rand.Rand) (*Sampler, error) { return New(improper, []float64{0}, Options{}) }
	plan := mcmc.Plan{Chains: 1, Warmup: 10, Draws: 10, Expect: func(_, _ time.Duration) { t.Error("it is told") }}
	if err := Expect(start, plan, 1); err == nil || !strings.Contains(err.Error(), "improper") {
		t.Error(err)
	}
}
