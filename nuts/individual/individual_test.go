package individual

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/release"
)

func TestNoAllocation(t *testing.T) {
	for _, clamping := range []bool{false, true} {
		s := model.Shape{P: 3, Intercept: true}
		rng := rand.New(rand.NewPCG(1, 1))
		k, err := newKernel(invented(s, 50, 10, release.Laplace), model.DefaultPrior(s), clamping, rng)
		if err != nil {
			t.Fatal(err)
		}
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
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, which does not say %q", err, want)
			}
		}
	}
	if _, err := (Method{ModelClamping: true}).Law(modeltest.Problem(obs, prior)); err == nil {
		t.Error("a law of clamped statistics")
	}
}
