package mcmc

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/posterior"
)

// ar is a stationary AR(1) process of variance 1: the effective size of n
// draws is n(1−ρ)/(1+ρ) for large n.
type ar struct {
	rho, x  float64
	steps   int
	adapted []int
}

func (k *ar) Step(rng *rand.Rand) float64 {
	k.x = k.rho*k.x + math.Sqrt(1-k.rho*k.rho)*rng.NormFloat64()
	k.steps++
	return -k.x * k.x / 2
}

func (k *ar) Params(dst []float64) { dst[0], dst[1] = k.x, float64(k.steps) }

func startAR(rho float64) func(int, *rand.Rand) (Kernel[float64], error) {
	return func(_ int, rng *rand.Rand) (Kernel[float64], error) {
		return &ar{rho: rho, x: rng.NormFloat64()}, nil
	}
}

func keepLP(lp float64, dst []float64) { dst[0] = lp }

var arColumns = Columns{Params: []string{"x", "steps"}, Info: []string{"lp__"}}

func TestRowsHoldStateAndInfoOfTheSameStep(t *testing.T) {
	plan := Plan{Chains: 3, Warmup: 7, Draws: 1234, Seed: 1}
	d := must.Get(Run(t.Context(), arColumns, startAR(0.5), keepLP, plan))(t)
	if d.NumChains() != 3 || d.NumDraws() != 1234 || d.Warmup != 7 || !(d.Seconds > 0) || d.Warnings != nil {
		t.Fatalf("%d chains of %d draws, warm-up %d, %v s, warnings %q", d.NumChains(), d.NumDraws(), d.Warmup, d.Seconds, d.Warnings)
	}
	for c := range d.Chains {
		for i := range d.NumDraws() {
			x, steps, lp := d.Chains[c][2*i], d.Chains[c][2*i+1], d.Info[c][i]
			if lp != -x*x/2 || steps != float64(7+i+1) {
				t.Fatalf("chain %d, draw %d: x %v, steps %v, lp__ %v", c, i, x, steps, lp)
			}
		}
	}
}

func TestDrawsDependOnSeedAndChainOnly(t *testing.T) {
	draw := func(chains, workers int, seed uint64) [][]float64 {
		t.Helper()
		plan := Plan{Chains: chains, Warmup: 10, ESS: 3000, Seed: seed, Workers: workers}
		d := must.Get(Run(t.Context(), Columns{Params: []string{"x"}}, startX(0.6), nil, plan))(t)
		return d.Chains
	}
	want := draw(5, 1, 3)
	for _, workers := range []int{2, 5, 0} {
		if !reflect.DeepEqual(draw(5, workers, 3), want) {
			t.Errorf("%d workers give other draws than 1", workers)
		}
	}
	seen := map[float64]bool{}
	for _, chains := range [][][]float64{want, draw(5, 2, 4)} {
		for _, chain := range chains {
			if seen[chain[0]] {
				t.Error("two streams begin alike")
			}
			seen[chain[0]] = true
		}
	}
	fixed, err := Run(t.Context(), Columns{Params: []string{"x"}}, startX(0.6), nil,
		Plan{Chains: 2, Warmup: 10, Draws: len(want[0]), Seed: 3})
	if err != nil || !reflect.DeepEqual(fixed.Chains, want[:2]) {
		t.Error("draws depend on the number of chains or on the rule that stops them")
	}
}

// onlyX keeps nothing but the state.
type onlyX struct{ ar }

func (k *onlyX) Params(dst []float64) { dst[0] = k.x }

func startX(rho float64) func(int, *rand.Rand) (Kernel[float64], error) {
	return func(_ int, rng *rand.Rand) (Kernel[float64], error) {
		return &onlyX{ar{rho: rho, x: rng.NormFloat64()}}, nil
	}
}

// lengths are those at which a run by ESS is looked at.
var lengths = []int{500, 700, 1000, 1400, 2000, 2800, 4000, 5600, 8000, 11200, 16000}

func TestStopByESS(t *testing.T) {
	for _, target := range []float64{100, 1000, 5000} {
		d := must.Get(Run(t.Context(), Columns{Params: []string{"x"}}, startX(0.8), nil,
			Plan{Chains: 4, ESS: target, Seed: 5}))(t)
		n, before := d.NumDraws(), 0
		for _, length := range lengths {
			if length < n {
				before = length
			}
		}
		if !slices.Contains(lengths, n) {
			t.Fatalf("stopped at %d draws, which is none of %d", n, lengths)
		}
		if ess, _ := d.MinESS(1); ess < target {
			t.Errorf("stopped at ESS %v, below %v", ess, target)
		}
		if n > firstCheck {
			for c, chain := range d.Chains {
				d.Chains[c] = chain[:before]
			}
			if ess, _ := d.MinESS(1); ess >= target {
				t.Errorf("ESS was %v ≥ %v at %d draws, but the run went on to %d", ess, target, before, n)
			}
		}
	}
}

// A run by ESS goes on until its draws have mixed, as it does for ESS, and ends at the
// limit in any case. It is asked of draws that have the ESS, and where Draws is set, of none.
func TestRunGoesOnUntilMixed(t *testing.T) {
	for _, c := range []struct {
		plan  Plan
		mixed int // draws of each chain from which they have
		want  int
		asked []int
	}{
		{Plan{ESS: 1000}, 0, 500, []int{500}},
		{Plan{ESS: 1000}, 1500, 2000, []int{500, 700, 1000, 1400, 2000}},
		{Plan{ESS: 5000}, 3000, 4000, []int{1400, 2000, 2800, 4000}},
		{Plan{ESS: 1000, MaxDraws: 1200}, 5000, 1200, []int{500, 700, 1000, 1200}},
		{Plan{Draws: 600}, 5000, 600, nil},
	} {
		var asked []int
		expected := 0
		c.plan.Chains = 4
		c.plan.Progress = func(p Progress) { expected = p.Total / 4 }
		c.plan.Mixed = func(d *posterior.Draws) bool {
			asked = append(asked, d.NumDraws())
			return d.NumDraws() >= c.mixed
		}
		d := must.Get(Run(t.Context(), Columns{Params: []string{"x"}}, startX(0), nil, c.plan))(t)
		if d.NumDraws() != c.want || expected != c.want || !slices.Equal(asked, c.asked) || len(d.Warnings) > 0 {
			t.Errorf("mixed at %d: %d draws, %d expected, asked at %v, warnings %q; want %d, asked at %v", c.mixed, d.NumDraws(), expected, asked, d.Warnings, c.want, c.asked)
		}
	}
}

// The effective size of a mean of n draws of AR(1) is n(1−ρ)/(1+ρ). Over 8
// chains × 20,000 draws its estimate, whose error comes from some 25 lags,
// has a relative standard deviation of about √(4·20/160000) = 2.2 %; 4.5 of
// those are 10 % (false alarms: 1e-5).
func TestESSOfAutoregression(t *testing.T) {
	const rho = 0.8
	d := must.Get(Run(t.Context(), Columns{Params: []string{"x"}}, startX(rho), nil,
		Plan{Chains: 8, Draws: 20000, Seed: 6}))(t)
	want := 8 * 20000 * (1 - rho) / (1 + rho)
	if got := posterior.Of(d.Column(0)).ESSMean(); math.Abs(got/want-1) > 0.1 {
		t.Errorf("ESS is %.0f, theory has %.0f", got, want)
	}
}

func TestLimitIsAWarning(t *testing.T) {
	for limit, want := range map[int]int{300: 300, 1300: 1300} {
		d := must.Get(Run(t.Context(), arColumns, startAR(0.99), keepLP,
			Plan{Chains: 2, ESS: 1e6, MaxDraws: limit, Seed: 1}))(t)
		if d.NumDraws() != want || len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "limit of") {
			t.Errorf("limit %d: %d draws, warnings %q", limit, d.NumDraws(), d.Warnings)
		}
	}
}

// adapting is a kernel that notes how it was adapted.
type adapting struct{ onlyX }

func (k *adapting) Adapt(iteration, warmup int) {
	k.adapted = append(k.adapted, iteration, warmup, k.steps)
}

func TestAdapterIsCalledAfterEachWarmUpStep(t *testing.T) {
	kernel := new(adapting)
	start := func(int, *rand.Rand) (Kernel[float64], error) { return kernel, nil }
	must.Get(Run(t.Context(), Columns{Params: []string{"x"}}, start, nil, Plan{Chains: 1, Warmup: 3, Draws: 5}))(t)
	if want := []int{0, 3, 1, 1, 3, 2, 2, 3, 3}; !reflect.DeepEqual(kernel.adapted, want) {
		t.Errorf("iteration, warm-up, steps: %v, want %v", kernel.adapted, want)
	}
}

func TestPlanIsValidated(t *testing.T) {
	for field, plan := range map[string]Plan{
		"Chains":           {Draws: 1},
		"Warmup":           {Chains: 1, Draws: 1, Warmup: -1},
		"Draws is":         {Chains: 1, Draws: -1},
		"ESS is":           {Chains: 1, ESS: math.NaN()},
		"ESS is +":         {Chains: 1, ESS: math.Inf(1)},
		"neither":          {Chains: 1},
		"exclude":          {Chains: 1, Draws: 1, ESS: 1},
		"MaxDraws":         {Chains: 1, ESS: 1, MaxDraws: -1},
		"Workers is -1; i": {Chains: 1, Draws: 1, Workers: -1},
	} {
		_, err := Run(t.Context(), arColumns, startAR(0), keepLP, plan)
		must.Fail(t, err, field)
	}
}

func TestProgressCountsAllSteps(t *testing.T) {
	var last Progress
	plan := Plan{Chains: 3, Warmup: 20, Draws: 700, Progress: func(p Progress) { last = p }}
	must.Get(Run(t.Context(), arColumns, startAR(0), keepLP, plan))(t)
	if want := (Progress{Phase: Sampling, Done: 2160, Total: 2160}); last != want {
		t.Errorf("last report %+v, want %+v", last, want)
	}
	plan.Draws, plan.ESS = 0, 100
	d := must.Get(Run(t.Context(), Columns{Params: []string{"x"}}, startX(0), nil, plan))(t)
	ess, _ := d.MinESS(1)
	if want := (Progress{Phase: Sampling, Done: 1560, Total: 1560, ESS: ess, Target: 100}); last != want {
		t.Errorf("last report %+v, want %+v", last, want)
	}
}

// TestTotalOfARunByESS: before the first check it is the least, and the first check lets
// expect the length at which a chain whose draws are worth 1/19 each has enough.
func TestTotalOfARunByESS(t *testing.T) {
	var r *run[float64]
	plan := Plan{Chains: 2, Warmup: 10, ESS: 300}
	r = &run[float64]{columns: Columns{Params: []string{"x"}}, start: startX(0.9), plan: plan}
	must.Do(t, r.sample(t.Context()))
	if kept := r.chains[0].kept; kept != 2800 || r.expected != 2800 && r.expected != 4000 {
		t.Errorf("%d draws of each chain, expected %d; 300·19/2 is 2850", kept, r.expected)
	}
	for _, c := range []struct {
		plan   Plan
		enough float64
		want   int
	}{
		{plan, 0, 500}, {plan, 500, 500}, {plan, 501, 700}, {plan, 701, 1000}, {plan, math.Inf(1), DefaultMaxDraws},
		{Plan{ESS: 1, MaxDraws: 1100}, 1050, 1100}, {Plan{ESS: 1, MaxDraws: 80}, 0, 80}, {Plan{Draws: 7}, 1000, 7},
	} {
		if got := c.plan.length(c.enough); got != c.want {
			t.Errorf("%+v: %d draws of each chain have %v, want %d", c.plan, got, c.enough, c.want)
		}
	}
	least, most := Plan{Chains: 5, Warmup: 100, ESS: 2500, Workers: 2}.Foresee(time.Second, 2*time.Second)
	if least != 3*600*time.Second || most != 3*2*2100*time.Second {
		t.Errorf("five chains by two: %v to %v", least, most)
	}
}

func TestStepsDoNotAllocate(t *testing.T) {
	allocations := func(draws int) float64 {
		return testing.AllocsPerRun(5, func() {
			must.Get(Run(context.Background(), arColumns, startAR(0.5), keepLP, Plan{Chains: 1, Warmup: draws, Draws: draws}))(t)
		})
	}
	// Doubling the storage from 1,000 to 64,000 rows allocates 6 × 2 times.
	if few, many := allocations(1000), allocations(64000); many-few > 20 {
		t.Errorf("%v allocations at 1000 draws, %v at 64000", few, many)
	}
}

func TestStreamsDiffer(t *testing.T) {
	seen := map[uint64]bool{}
	for seed := range uint64(100) {
		for index := range 100 {
			seen[Stream(seed, index).Uint64()] = true
		}
	}
	if len(seen) != 100*100 {
		t.Errorf("%d different first outputs of 10000 streams", len(seen))
	}
}

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
