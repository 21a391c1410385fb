package mcmc

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

// trigger does something at one step.
type trigger struct {
	onlyX
	at   int
	then func()
	err  error
}

func (k *trigger) Step(rng *rand.Rand) float64 {
	if k.steps == k.at {
		k.then()
	}
	return k.onlyX.Step(rng)
}

func (k *trigger) Err() error { return k.err }

func TestCancelledRunKeepsEqualChains(t *testing.T) {
	for _, workers := range []int{1, 3} {
		ctx, cancel := context.WithCancel(t.Context())
		start := func(chain int, rng *rand.Rand) (Kernel[float64], error) {
			k := &trigger{onlyX: onlyX{ar{rho: 0.5}}, at: -1, then: cancel}
			if chain == 0 {
				k.at = 700
			}
			return k, nil
		}
		d, err := Run(ctx, Columns{Params: []string{"x"}}, start, nil, Plan{Chains: 3, Draws: 1 << 30, Workers: workers, Seed: 2})
		if !errors.Is(err, context.Canceled) || d == nil {
			t.Fatalf("%d workers: draws %v, error %v", workers, d != nil, err)
		}
		for _, chain := range d.Chains {
			if len(chain) != d.NumDraws() {
				t.Errorf("%d workers: chains of %d and %d draws", workers, d.NumDraws(), len(chain))
			}
		}
		if workers == 1 && d.NumDraws() != 0 {
			t.Errorf("chains that never began have %d draws", d.NumDraws())
		}
		cancel()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	start := func(int, *rand.Rand) (Kernel[float64], error) { return nil, errors.New("started") }
	if d, err := Run(ctx, Columns{Params: []string{"x"}}, start, nil, Plan{Chains: 3, Draws: 1}); err != context.Canceled || d.NumChains() != 3 {
		t.Errorf("cancelled before the start: %v", err)
	}
}

func TestFailuresNameTheChain(t *testing.T) {
	cause := errors.New("no such thing")
	plan := Plan{Chains: 4, Warmup: 5, Draws: 100}
	fail := func(do func(k *trigger) error) error {
		start := func(chain int, _ *rand.Rand) (Kernel[float64], error) {
			k := &trigger{at: -1}
			if chain != 2 {
				return k, nil
			}
			return k, do(k)
		}
		d, err := Run(t.Context(), Columns{Params: []string{"x"}}, start, nil, plan)
		if d != nil {
			t.Error("draws beside an error")
		}
		return err
	}
	for _, c := range []struct {
		what string
		do   func(k *trigger) error
		is   bool
	}{
		{"error of start", func(*trigger) error { return cause }, true},
		{"panic of start", func(*trigger) error { panic(cause) }, true},
		{"panic in warm-up", func(k *trigger) error { k.at, k.then = 2, func() { panic(cause) }; return nil }, true},
		{"panic in sampling", func(k *trigger) error { k.at, k.then = 50, func() { _ = []int{}[k.at] }; return nil }, false},
		{"error of a step", func(k *trigger) error { k.at, k.then = 50, func() { k.err = cause }; return nil }, true},
	} {
		err := fail(c.do)
		if err == nil || !strings.HasPrefix(err.Error(), "mcmc: chain 3: ") || errors.Is(err, cause) != c.is {
			t.Errorf("%s: %v", c.what, err)
		}
		if panicked := new(PanicError); strings.HasPrefix(c.what, "panic") && !(errors.As(err, &panicked) && len(panicked.Stack) > 0) {
			t.Errorf("%s is no PanicError: %v", c.what, err)
		}
	}
}
