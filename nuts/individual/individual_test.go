package individual

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/release"
)

func TestNoAllocation(t *testing.T) {
	for _, clamping := range []bool{false, true} {
		s := model.Shape{P: 3, Intercept: true}
		rng := rand.New(rand.NewPCG(1, 1))
		k := must.Get(newKernel(invented(s, 50, 10, release.Laplace), model.DefaultPrior(s), clamping, rng))(t)
		for i := range 100 {
			k.Step(rng)
			k.Adapt(i, 100)
		}
		params := make([]float64, len(s.Names()))
		if n := testing.AllocsPerRun(100, func() { k.Step(rng); k.Params(params) }); n != 0 {
			t.Errorf("%g allocations a step", n)
		}
	}
}

// TestExpect: what a run is to take is told before its first step, does not change its
// draws, and grows with its length.
func TestExpect(t *testing.T) {
	shape := model.Shape{P: 1, Intercept: true}
	p := modeltest.Problem(invented(shape, 40, 5, release.Laplace), model.DefaultPrior(shape))
	p = &model.Problem{Releases: []*release.Release{p.Releases[0], p.Releases[0]}, Prior: p.Prior}
	for _, problem := range []*model.Problem{{Releases: p.Releases[:1], Prior: p.Prior}, p} {
		plan := mcmc.Plan{Chains: 1, Warmup: 100, Draws: 20, Seed: 3}
		silent := must.Get(Method{}.Sample(t.Context(), problem, plan))(t)
		var told []time.Duration
		stepped := false
		plan.Progress = func(mcmc.Progress) { stepped = true }
		plan.Expect = func(least, most time.Duration) {
			if told = append(told, most); stepped || !(0 < least && least < most) {
				t.Errorf("steps %v, from %v to %v", stepped, least, most)
			}
		}
		d, err := Method{}.Sample(t.Context(), problem, plan)
		if err != nil || !reflect.DeepEqual(d.Chains, silent.Chains) {
			t.Errorf("with Expect there are other draws: %v", err)
		}
		done, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := (Method{}).Sample(done, problem, plan); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if len(told) != 1 {
			t.Errorf("told %v", told)
		}
	}
}

func TestRefuses(t *testing.T) {
	shape := model.Shape{P: 1, Intercept: true}
	prior := model.DefaultPrior(shape)
	obs := invented(shape, 40, 5, release.Laplace)
	latent, large := *obs, *obs
	latent.Count = model.Count{Noisy: 40, Kind: release.Laplace, Scale: 5}
	large.N = mostRows + 1
	for _, c := range []struct {
		p    *model.Problem
		want []string
	}{
		{modeltest.Problem(&latent, prior), []string{"add-remove", "mcmc-exact"}},
		{modeltest.Problem(&large, prior), []string{"every row", "mcmc-exact"}},
		{modeltest.Problem(obs, model.DefaultPrior(model.Shape{P: 2, Intercept: true})), []string{"the model has 2"}},
	} {
		_, err := Method{}.Sample(context.Background(), c.p, mcmc.Plan{Chains: 1, Draws: 1})
		for _, want := range c.want {
			must.Fail(t, err, want)
		}
	}
	if _, err := (Method{ModelClamping: true}).Law(modeltest.Problem(obs, prior)); err == nil {
		t.Error("a law of clamped statistics")
	}
}
