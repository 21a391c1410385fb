package model

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/posterior"
)

// Naive is the method that ignores the noise: the conjugate posterior of (θ, σ²)
// given z as if it were s. It is kept to show what that costs: its intervals
// are too narrow, the more so the more noise there is. Draws are independent, and
// named by Shape.RegressionNames.
type Naive struct{}

// Name returns the method's name on the command line.
func (Naive) Name() string { return "naive" }

// Sample draws from the NIG posterior; of several releases, that of their rows
// together. Where no data could have the statistics z of a release, they are projected
// first (Projection), and a warning says so. The plan's warm-up is not run.
func (Naive) Sample(ctx context.Context, p *Problem, plan mcmc.Plan) (*posterior.Draws, error) {
	joint, err := p.Join()
	if err != nil {
		return nil, err
	}
	if joint.Partial {
		return nil, errors.New("naive: it has one regression for all releases; mcmc-exact can pool them partially")
	}
	z, rows, projected, err := joint.total()
	if err != nil {
		return nil, err
	}
	sums := NewSums(joint.Shape)
	sums.Set(z, rows)
	start := func(int, *rand.Rand) (mcmc.Kernel[struct{}], error) {
		k := &naiveKernel{sampler: conjugate.NewNIGSampler(joint.Shape.Q()), theta: make([]float64, joint.Shape.Q())}
		if !k.sampler.Update(p.Prior.Theta.Clone(), p.Prior.Theta, sums.XX, sums.XY, sums.YY, rows) {
			return nil, errors.New("naive: the posterior precision is not positive definite: columns are collinear and the prior is too weak to tell them apart")
		}
		return k, nil
	}
	plan.Warmup = 0
	columns := mcmc.Columns{Params: joint.Shape.RegressionNames()}
	draws, err := mcmc.Run(ctx, columns, start, func(struct{}, []float64) {}, plan)
	if draws != nil {
		draws.Warnings = append(draws.Warnings, naiveWarnings(projected)...)
	}
	return draws, err
}

// total adds up the noisy statistics in common units, those projected that no rows
// could have.
func (t *Joint) total() (z []float64, rows float64, projected bool, err error) {
	z = make([]float64, t.Shape.Statistics())
	projection := NewProjection(t.Shape.M())
	for j, site := range t.Sites {
		if site.N < 1 {
			return nil, 0, false, &SiteError{j, fmt.Errorf("naive: the noisy count of rows is %g, and naive has to take it for exact; gibbs-ss-update infers the count", site.N)}
		}
		s := append([]float64(nil), site.Z...)
		if projection.Apply(s, site.N) {
			projected = true
		}
		site.Units.Common(s, s, site.N)
		for i, v := range s {
			z[i] += v
		}
		rows += site.N
	}
	return z, rows, projected, nil
}

func naiveWarnings(projected bool) []string {
	w := []string{"naive takes the noisy statistics for exact ones: its intervals are too narrow"}
	if projected {
		w = append(w, "the noisy statistics are such as no data could have: naive projected them, once")
	}
	return w
}

// naiveKernel draws (θ, σ²) independently at each step.
type naiveKernel struct {
	sampler *conjugate.NIGSampler
	theta   []float64
	sigma2  float64
}

func (k *naiveKernel) Step(rng *rand.Rand) struct{} {
	k.sigma2 = k.sampler.Rand(k.theta, rng)
	return struct{}{}
}

func (k *naiveKernel) Params(dst []float64) { dst[copy(dst, k.theta)] = k.sigma2 }
