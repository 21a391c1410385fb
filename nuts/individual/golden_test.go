package individual

import (
	"context"
	"flag"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/posterior"
)

var long = flag.Bool("individual.long", false, "reference posteriors of n = 1000 too, and calibration on eight times as many data sets")

// TestGoldens compares with Stan at ESS ≥ 5000: means and quantiles within four
// combined Monte Carlo errors, sds within 3 % beyond that. No transition may
// diverge, no more than 31 leapfrog steps be taken on average. In short form ESS ≥ 1000.
// Long form:
//
//	go test ./nuts/individual -individual.long -timeout 1h
func TestGoldens(t *testing.T) {
	ess := float64(testsize.Of(1000, 5000))
	for i, g := range modeltest.Goldens(t) {
		if testing.Short() && i%2 > 0 {
			continue
		}
		if g.Problem.Releases[0].N > 100 && !*long {
			continue
		}
		t.Run(g.Name, func(t *testing.T) {
			t.Parallel()
			plan := mcmc.Plan{Chains: 4, Warmup: 1000, ESS: ess, Seed: 1}
			d := must.Get(Method{}.Sample(context.Background(), g.Problem, plan))(t)
			g.Compare(t, d, 0)
			if worst, j := d.MinESS(0); worst < ess {
				t.Errorf("%s: the effective sample size is %.0f", d.Names[j], worst)
			}
			for j, name := range d.Names {
				if r := posterior.Of(d.Column(j)).RHat(); !(r <= 1.01) {
					t.Errorf("%s: R-hat %.3f", name, r)
				}
			}
			steps := d.InfoMean("n_leapfrog__")
			t.Logf("%s: %d draws, %.1f leapfrog steps each", g.Name, d.NumDraws()*d.NumChains(), steps)
			if steps > 31 {
				t.Error("more than 31 leapfrog steps a draw")
			}
			for _, w := range d.Warnings {
				t.Error("warning:", w)
			}
		})
	}
}
