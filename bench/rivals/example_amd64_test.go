package rivals_test

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/dpreg/dpreg/bench/rivals"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
)

// The two rivals infer from the release of README.md, whose true values are θ = (0.4, −0.3)
// and σ = 0.22. Means, standard deviations and the least effective sample size of 16,000.
func Example() {
	r, err := release.Read(strings.NewReader(`{"format": "dpreg-release/1",
		"schema": {"response": {"name": "y", "lower": -1, "upper": 1},
		"covariates": [{"name": "x1", "lower": -1, "upper": 1}, {"name": "x2", "lower": -1, "upper": 1}], "intercept": false},
		"n": 10000, "noise": {"kind": "gaussian", "scale": 30},
		"statistics": {"sum_x": [10, -20], "sum_xx": [[1000, 200], [200, 900]], "sum_y": 5, "sum_xy": [340, -190], "sum_yy": 693}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	prior, err := model.Normal.DefaultPrior(&r.Schema, r)
	if err != nil {
		fmt.Println(err)
		return
	}
	problem := &model.Problem{Releases: []*release.Release{r}, Prior: prior}
	for _, m := range []model.Method{rivals.NormalX, rivals.FixedS} {
		draws, err := m.Sample(context.Background(), problem, mcmc.Plan{Chains: 4, Warmup: 1000, Draws: 4000, Seed: 1})
		if err != nil {
			fmt.Println(err)
			return
		}
		least := math.Inf(1)
		fmt.Printf("%s:", m.Name())
		for j, name := range []string{"x1", "x2", "σ"} {
			x := draws.Column(j)
			for _, chain := range x {
				for i := range chain {
					if name == "σ" {
						chain[i] = math.Sqrt(chain[i])
					}
				}
			}
			mean, sd := modeltest.Pooled(x)
			fmt.Printf(" %s %.3f (%.3f)", name, mean, sd)
			least = min(least, posterior.Of(x).ESSBulk())
		}
		fmt.Printf("; ESS %.0f\n", least)
	}
	// Output:
	// normalx: x1 0.401 (0.040) x2 -0.302 (0.044) σ 0.306 (0.349); ESS 138
	// fixeds: x1 0.400 (0.035) x2 -0.300 (0.038) σ 0.294 (0.329); ESS 410
}
