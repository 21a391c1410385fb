package check

import (
	"context"
	"fmt"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/agree"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/posterior"
)

// drawsOf are the draws that a check takes, a row of each release: in the order of
// model.Shape.Names, then n where that is latent, in its own scaled units.
func drawsOf(ctx context.Context, f *dpreg.Fit) (draws [][][]float64, warnings []string, err error) {
	all := f.Draws(dpreg.Scaled)
	rows := thinned(all)
	draws = make([][][]float64, len(rows))
	for j, c := range f.Custodians {
		own := c.Release.Schema.Frame()
		s := agree.NewSite(all, f.Design.Frame(), own, j)
		covariates, from := s, rows
		if all.Index("mu_x[1]") < 0 {
			fit, err := alone(ctx, f, j)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", c.Name, err)
			}
			if ok, reason := fit.Converged(); !ok {
				warnings = append(warnings, fmt.Sprintf("the covariates of %s, inferred from it alone: not converged: %s", c.Name, reason))
			}
			other := fit.Draws(dpreg.Scaled)
			covariates, from = agree.NewSite(other, own, own, 0), thinned(other)
			draws = draws[:min(len(draws), len(from))]
		}
		for i := range draws {
			draws[i] = append(draws[i], covariates.Covariates(s.Regression(rows[i]), from[i]))
		}
	}
	return draws, warnings, nil
}

// thinned are at most 2000 draws, evenly spaced.
func thinned(d *posterior.Draws) [][]float64 {
	const most = 2000
	rows := d.Thin(most)
	if step := (len(rows) + most - 1) / most; step > 1 { // Thin gives up to twice as many
		kept := rows[:0]
		for i := step - 1; i < len(rows); i += step {
			kept = append(kept, rows[i])
		}
		return kept
	}
	return rows
}

// alone infers from the release of custodian j alone, under the same prior, by a plan of
// the same length.
func alone(ctx context.Context, f *dpreg.Fit, j int) (*dpreg.Fit, error) {
	r := f.Custodians[j].Release
	original, err := f.Prior.Original(f.Design.Frame())
	if err != nil {
		return nil, err
	}
	o := dpreg.Options{Method: f.Method, Kernel: f.Kernel, Plan: f.Options().Plan}
	if o.Prior, err = original.FromOriginal(r.Schema.Frame()); err != nil {
		return nil, err
	}
	o.Plan.Seed = mcmc.Stream(o.Plan.Seed, j+1).Uint64()
	return dpreg.Infer(ctx, dpreg.One(r), o)
}
