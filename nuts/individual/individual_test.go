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
	latent, large, twice := *obs, *obs, modeltest.Problem(obs, prior)
	latent.Count = model.Count{Noisy: 40, Kind: release.Laplace, Scale: 5}
	large.N = mostRows + 1
	twice.Releases = append(twice.Releases, twice.Releases[0])
	for want, p := range map[string]*model.Problem{
		"add-remove": modeltest.Problem(&latent, prior),
		"every row":  modeltest.Problem(&large, prior),
		"releases":   twice,
		"dimension":  modeltest.Problem(obs, model.DefaultPrior(model.Shape{P: 2, Intercept: true})),
	} {
		_, err := Method{}.Sample(context.Background(), p, mcmc.Plan{Chains: 1, Draws: 1})
		if err == nil || !strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), "the model has") {
			t.Errorf("%s: error %v", want, err)
		}
		if strings.Contains(want, "r") && err != nil && want != "releases" && !strings.Contains(err.Error(), "mcmc-exact") {
			t.Errorf("%s: no way out in %v", want, err)
		}
	}
	if _, err := (Method{ModelClamping: true}).Law(modeltest.Problem(obs, prior)); err == nil {
		t.Error("a law of clamped statistics")
	}
}
