package exact

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/nuts"
	"github.com/dpreg/dpreg/release"
)

// TestOrder: covariates are taken by their spread beside those before, and draws are those of the order
// that was, under a prior that differs from one to another.
func TestOrder(t *testing.T) {
	shape, rng := model.Shape{P: 3, Intercept: true}, rand.New(rand.NewPCG(4, 4))
	x, law := model.NewParams(shape), model.NewMoments(shape)
	x.Sigma2, x.Tau = 0.05, []float64{0.04, 0, 0, 0, 0.3, 0.25, 0, 0.25, 0.25}
	copy(x.Theta, []float64{0.1, 0.2, 0.6, -0.5})
	law.Set(x)
	law.Factor()
	obs := &model.Observation{Shape: shape, N: 200, Kind: release.Gaussian, Z: make([]float64, shape.Statistics())}
	law.RandExact(obs.Z, obs.N, rng)
	for i := range obs.Z {
		obs.Scale = append(obs.Scale, 1)
		obs.Z[i] += 0.2 * rng.NormFloat64()
	}
	problem := modeltest.Problem(obs, mixedPrior(t, shape, rng))
	joint, err := Method{}.read(problem)
	if err != nil {
		t.Fatal(err)
	}
	if order := pivoted(joint); !slices.Equal(order, []int{1, 2, 0}) {
		t.Fatal(order)
	}
	plan := mcmc.Plan{Chains: 4, Warmup: 300, Draws: 1000, Seed: 1}
	want, err := nuts.Run(context.Background(), joint.Names(), func(_ int, rng *rand.Rand) (*nuts.Sampler, error) {
		return newKernel(joint.Sites[0], joint.Prior, nil, rng)
	}, nuts.Options{}, plan)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Method{}.Sample(context.Background(), problem, plan)
	if err != nil {
		t.Fatal(err)
	}
	modeltest.Agree(t, want, got, 4.8)
}
