package exact_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/gibbs"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/nuts/exact"
	"github.com/dpreg/dpreg/nuts/individual"
	"github.com/dpreg/dpreg/release"
)

// TestMethodsAgree runs the methods that share the exact posterior on releases
// of simulated rows. Each mean and sd may differ by 4.8 combined errors: false
// alarms of 1.6e-6 a comparison, 2e-4 over all. TestSBC has more columns of each method.
func TestMethodsAgree(t *testing.T) {
	for _, c := range []struct {
		p          int
		n, count   float64
		kind       release.Kind
		individual bool
		kurtosis   float64 // the most
	}{
		{1, 40, 0, release.Laplace, true, 100},
		{2, 30, 0, release.Gaussian, true, 0},
		{1, 60, 5, release.Laplace, false, 0},
	} {
		t.Run(fmt.Sprintf("p=%d n=%g%+g %s", c.p, c.n, c.count, c.kind), func(t *testing.T) {
			if testing.Short() && c.p > 1 {
				t.Skip("one covariate takes a tenth of the time")
			}
			t.Parallel()
			shape := model.Shape{P: c.p, Intercept: true}
			simulation := &modeltest.Simulation{Shape: shape, Prior: model.Normal.BoxPrior(shape), N: c.n,
				Kind: c.kind, Scale: math.Sqrt(c.n), Count: c.count}
			_, obs := simulation.Draw(rand.New(rand.NewPCG(uint64(c.p), 5)))
			problem := modeltest.Problem(obs, model.DefaultPrior(shape))
			problem.Prior.Kurtosis = model.Kurtosis{Least: 3, Most: c.kurtosis}
			plan := mcmc.Plan{Chains: 4, Warmup: testsize.Of(300, 500), Draws: testsize.Of(300, 1200), Seed: 1}
			want := must.Get(exact.Method{}.Sample(context.Background(), problem, plan))(t)
			if c.individual {
				got := must.Get(individual.Method{}.Sample(context.Background(), problem, plan))(t)
				modeltest.Agree(t, want, got, 4.8)
			}
			plan.Draws *= 6
			got := must.Get(gibbs.Method{Moments: gibbs.Update}.Sample(context.Background(), problem, plan))(t)
			modeltest.Agree(t, want, got, 4.8)
		})
	}
}

// TestMethodsAgreeOnSeveral does so on two releases, whose columns are so narrow that noise hides their
// spread, under the default prior. Each of some 50 means and sds a case may differ by 4.8 combined errors.
// TestJointlyMethodsAgree, TestJointlyMethodsAgreeOnCounts and TestPartialMethodsAgree have columns that fill their boxes.
func TestMethodsAgreeOnSeveral(t *testing.T) {
	testsize.Full(t, "they agree in TestJointlyMethodsAgree and TestPartialMethodsAgree, of other releases")
	for i, c := range []struct {
		shared, partial bool
		sd              float64
	}{{false, false, 0.05}, {true, false, 0.05}, {true, true, 0.05}} {
		t.Run(fmt.Sprintf("shared=%t partial=%t sd=%g", c.shared, c.partial, c.sd), func(t *testing.T) {
			t.Parallel()
			shape := model.Shape{P: 1, Intercept: true}
			problem := &model.Problem{Prior: model.DefaultPrior(shape), SharedCovariates: c.shared, PartialPooling: c.partial}
			problem.Prior.Kurtosis = model.Kurtosis{Least: 3, Most: 100}
			x, law, rng := model.NewParams(shape), model.NewMoments(shape), rand.New(rand.NewPCG(5, uint64(i)))
			x.MuX[0], x.Theta[1], x.Tau[0], x.Sigma2 = 0.1, 0.5, c.sd*c.sd, 0.75*c.sd*c.sd
			law.Set(x)
			law.Factor()
			for j, kind := range []release.Kind{release.Laplace, release.Gaussian} {
				obs := &model.Observation{Shape: shape, N: float64(60 - 20*j), Kind: kind, Z: make([]float64, shape.Statistics())}
				law.RandExact(obs.Z, obs.N, rng)
				for i := range obs.Z {
					obs.Scale = append(obs.Scale, 1)
					obs.Z[i] += model.RandNoise(kind, 1, rng)
				}
				problem.Releases = append(problem.Releases, modeltest.Problem(obs, problem.Prior).Releases[0])
			}
			plan := mcmc.Plan{Chains: 4, Warmup: 500, Draws: 1000, Seed: 1}
			want := must.Get(exact.Method{}.Sample(context.Background(), problem, plan))(t)
			got := must.Get(individual.Method{}.Sample(context.Background(), problem, plan))(t)
			modeltest.Agree(t, want, got, 4.8)
			plan.Draws *= 6
			got = must.Get(gibbs.Method{Moments: gibbs.Update}.Sample(context.Background(), problem, plan))(t)
			modeltest.Agree(t, want, got, 4.8)
		})
	}
}
