package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/ssp"
)

// task is what a method is asked for, and the randomness that it may use.
type task struct {
	epsilon float64
	pooled  *law // of which DP-PVI is told σ²
	rng     *rand.Rand
}

// method learns from clients' rows under (ε, δ) for each client and its own rows.
type method struct {
	name  string
	learn func(context.Context, [][][]float64, task) (*law, traffic, error)
}

var methods = []method{
	{"releases, mcmc-exact", releases("mcmc-exact")},
	{"releases, naive", releases("naive")},
	{"DP-PVI, analytic", analytic},
	{"DP-PVI, gradients", gradients},
}

// releases is one release of each client, of the noise that is smaller, and the joint
// posterior by this method, of one law of the covariates, since rows are dealt at random.
// What is sent is the files.
func releases(name string) func(context.Context, [][][]float64, task) (*law, traffic, error) {
	return func(ctx context.Context, clients [][][]float64, t task) (*law, traffic, error) {
		sent := traffic{rounds: 1}
		var custodians []dpreg.Custodian
		for m, rows := range clients {
			s, err := dpreg.Accumulate(ctx, each(rows), design)
			if err != nil {
				return nil, sent, err
			}
			privacy := release.Privacy{Epsilon: t.epsilon, Delta: delta, Neighbours: release.AddRemove}
			r, err := ssp.Publish(ctx, s, design, privacy, ssp.Auto, ssp.Exact, mechanisms.Simulated(rand.New(rand.NewPCG(t.rng.Uint64(), 0))))
			if err != nil {
				return nil, sent, err
			}
			n, err := r.WriteTo(io.Discard)
			if err != nil {
				return nil, sent, err
			}
			sent.bytes += int(n)
			custodians = append(custodians, dpreg.Custodian{Name: fmt.Sprintf("client %d", m+1), Release: r})
		}
		plan := mcmc.Plan{Chains: 1, Warmup: 300, Draws: 700, Seed: t.rng.Uint64(), Workers: 1}
		fit, err := dpreg.Infer(ctx, custodians, dpreg.Options{Method: name, Covariates: dpreg.SharedCovariates, Plan: plan})
		if err != nil {
			return nil, sent, err
		}
		return of(fit), sent, nil
	}
}
