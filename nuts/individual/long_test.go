package individual

import (
	"context"
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/release"
)

var (
	rows     = flag.Float64("individual.rows", 0, "time a run on so many rows")
	epsilon  = flag.Float64("individual.eps", 1, "and its ε, of Laplace noise")
	clamping = flag.Bool("individual.clamping", false, "and whether it models clamping")
)

// TestManyRows says how long four chains of 500 + 1000 iterations take on two cores:
//
//	go test ./nuts/individual -run ManyRows -individual.rows 10000 -v -timeout 1h
func TestManyRows(t *testing.T) {
	if *rows == 0 {
		t.Skip("no number of rows given")
	}
	s := model.Shape{P: 1, Intercept: true}
	c := modeltest.Simulation{Shape: s, Prior: model.DefaultPrior(s), N: *rows, Kind: release.Laplace, Scale: modeltest.LaplaceScale(s, *epsilon)}
	_, obs := c.Draw(rand.New(rand.NewPCG(4, 4)))
	begin := time.Now()
	d := must.Get(Method{ModelClamping: *clamping}.Sample(context.Background(), modeltest.Problem(obs, c.Prior),
		mcmc.Plan{Chains: 4, Warmup: 500, Draws: 1000, Seed: 1, Workers: 2}))(t)
	worst, j := d.MinESS(0)
	t.Logf("n = %g, ε = %g, clamping %v: %.0f s, %.1f leapfrog steps a draw, least ESS %.0f (%s), warnings %v",
		*rows, *epsilon, *clamping, time.Since(begin).Seconds(), d.InfoMean("n_leapfrog__"), worst, d.Names[j], d.Warnings)
}
