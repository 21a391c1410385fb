package exact_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/gibbs"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/nuts/exact"
	"github.com/dpreg/dpreg/nuts/individual"
	"github.com/dpreg/dpreg/release"
)

// TestMethodsAgree runs the methods that share the exact posterior on releases
// of simulated rows. Each mean and sd may differ by 4.8 combined errors: false
// alarms of 1.6e-6 a comparison, 2e-4 over all.
func TestMethodsAgree(t *testing.T) {
	for _, c := range []struct {
		p          int
		n, count   float64
		kind       release.Kind
		individual bool
	}{
		{1, 40, 0, release.Laplace, true},
		{2, 60, 0, release.Gaussian, true},
		{3, 100, 0, release.Laplace, true},
		{1, 60, 5, release.Laplace, false},
	} {
		t.Run(fmt.Sprintf("p=%d n=%g%+g %s", c.p, c.n, c.count, c.kind), func(t *testing.T) {
			t.Parallel()
			shape := model.Shape{P: c.p, Intercept: true}
			simulation := &modeltest.Simulation{Shape: shape, Prior: model.DefaultPrior(shape), N: c.n,
				Kind: c.kind, Scale: math.Sqrt(c.n), Count: c.count}
			_, obs := simulation.Draw(rand.New(rand.NewPCG(uint64(c.p), 5)))
			problem := modeltest.Problem(obs, simulation.Prior)
			plan := mcmc.Plan{Chains: 4, Warmup: 1000, Draws: 2000, Seed: 1}
			want, err := exact.Method{}.Sample(context.Background(), problem, plan)
			if err != nil {
				t.Fatal(err)
			}
			if c.individual {
				got, err := individual.Method{}.Sample(context.Background(), problem, plan)
				if err != nil {
					t.Fatal(err)
				}
				modeltest.Agree(t, want, got, 4.8)
			}
			plan.Draws *= 6
			got, err := gibbs.Update{}.Sample(context.Background(), problem, plan)
			if err != nil {
				t.Fatal(err)
			}
			modeltest.Agree(t, want, got, 4.8)
		})
	}
}
