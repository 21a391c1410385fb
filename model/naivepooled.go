package model

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/posterior"
)

// naivelyPooled draws from the posterior of partially pooled regressions of these
// statistics.
func (t *Joint) naivelyPooled(ctx context.Context, all [][]float64, plan mcmc.Plan) (*posterior.Draws, error) {
	start := func(_ int, rng *rand.Rand) (mcmc.Kernel[struct{}], error) {
		k := &pooledKernel{hierarchy: NewHierarchy(t.Shape, t.Prior, len(t.Sites))}
		for j, s := range all {
			if !k.hierarchy.Observe(j, s, t.Sites[j].N) {
				return nil, &SiteError{j, errors.New("naive: the statistics are not finite in common units")}
			}
		}
		k.hierarchy.Start(rng)
		return k, nil
	}
	columns := mcmc.Columns{Params: append(t.Shape.RegressionNames(), t.pooledNames()...)}
	return mcmc.Run(ctx, columns, start, func(struct{}, []float64) {}, plan)
}

// pooledKernel is a chain of Hierarchy, statistics held.
type pooledKernel struct {
	hierarchy *Hierarchy
	err       error
}

func (k *pooledKernel) Step(rng *rand.Rand) struct{} {
	if !k.hierarchy.Step(rng) {
		k.err = errors.New("naive: rounding leaves a posterior precision indefinite: columns are collinear and the prior is too weak to tell them apart")
	}
	return struct{}{}
}

// Err ends the run; see mcmc.Failer.
func (k *pooledKernel) Err() error { return k.err }

func (k *pooledKernel) Params(dst []float64) {
	h := k.hierarchy
	h.Write(dst[h.WriteShared(dst):])
}
