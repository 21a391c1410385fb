package calibration_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/mcmc"
)

// mean is a model of one's own, μ ~ N(0, 1) and ten values N(μ, 1), with a sampler of
// its posterior N(Σx/11, 1/11). sd is what the sampler takes the posterior's
// standard deviation for.
type mean struct{ sd float64 }

// Trial implements calibration.Subject.
func (m mean) Trial(ctx context.Context, data, sampler *rand.Rand) (*calibration.Sample, error) {
	mu, sum := data.NormFloat64(), 0.0
	for range 10 {
		sum += mu + data.NormFloat64()
	}
	start := func(_ int, rng *rand.Rand) (mcmc.Kernel[struct{}], error) {
		return &independent{sum / 11, m.sd, 0}, nil
	}
	draws, err := mcmc.Run(ctx, mcmc.Columns{Params: []string{"mu"}}, start, nil,
		mcmc.Plan{Chains: 1, Draws: 500, Seed: sampler.Uint64(), Workers: 1})
	return &calibration.Sample{Names: []string{"mu"}, Truth: []float64{mu}, Draws: draws}, err
}

// independent draws from a normal law at each step.
type independent struct{ mean, sd, at float64 }

func (k *independent) Step(rng *rand.Rand) (info struct{}) {
	k.at = k.mean + k.sd*rng.NormFloat64()
	return info
}

func (k *independent) Params(dst []float64) { dst[0] = k.at }

// A study of a model and a sampler of one's own: one that is right, and one that
// takes the posterior for half as wide as it is.
func Example() {
	study := &calibration.Study{Trials: 300, Seed: 1, Uniform: true}
	for name, sd := range map[string]float64{"right": math.Sqrt(1. / 11), "narrow": math.Sqrt(1./11) / 2} {
		study.Cells = append(study.Cells, calibration.Cell{Setting: calibration.Setting{Method: name}, Subject: mean{sd}})
	}
	trials, err := study.Run(context.Background(), calibration.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range study.Summarise(trials).Cells {
		q := c.Quantities[0]
		fmt.Printf("%s: uniform at level 0.01: %t; 95 %% intervals hold %s in %.0f %% of the trials\n",
			c.Method, *q.PBonferroni > 0.01, q.Name, 100*q.Coverage[3].Share)
	}
	// Unordered output:
	// right: uniform at level 0.01: true; 95 % intervals hold mu in 94 % of the trials
	// narrow: uniform at level 0.01: false; 95 % intervals hold mu in 66 % of the trials
}
