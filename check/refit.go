package check

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/agree"
	"github.com/dpreg/dpreg/internal/parallel"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
)

// calibrate ranks the p-values of z among those of K times releases simulated at draws of
// the posterior, in the order of checkers.run.
func calibrate(ctx context.Context, f *dpreg.Fit, o Options, draws [][][]float64) ([]float64, error) {
	p := make([][]float64, o.Calibrate+1)
	err := parallel.Each(ctx, o.Workers, len(p), o.Progress, func(ctx context.Context, k int) (err error) {
		p[k], err = refit(ctx, f, o.Seed, k, draws)
		return err
	})
	if err != nil {
		return nil, err
	}
	return ranks(p), nil
}

// ranks are those of p[0] among all, from 1/(K+1) to 1, ties in disfavour of
// finding anything.
func ranks(p [][]float64) []float64 {
	out := make([]float64, len(p[0]))
	for i, own := range p[0] {
		below := 0
		for _, other := range p {
			if other[i] <= own {
				below++
			}
		}
		out[i] = float64(below) / float64(len(p))
	}
	return out
}

// refit returns the p-values of releases simulated at one of the draws; of z itself for
// k = 0.
func refit(ctx context.Context, f *dpreg.Fit, seed uint64, k int, draws [][][]float64) ([]float64, error) {
	custodians, rng := f.Custodians, mcmc.Stream(seed, k+1)
	if k > 0 {
		var err error
		if custodians, err = simulated(f, draws[rng.IntN(len(draws))], rng); err != nil {
			return nil, err
		}
	}
	o := f.Options()
	// These 1000 draws leave a Monte Carlo error in the p-values, which those of z have as well: z is
	// refitted in the same way, so that the error costs power and not calibration.
	o.Plan = mcmc.Plan{Chains: 2, Warmup: 500, Draws: 500, Workers: 1, Seed: rng.Uint64()}
	fit, err := dpreg.Infer(ctx, custodians, o)
	if err != nil {
		return nil, err
	}
	c, err := newCheckers(custodians, f.Family, fit.Kurtosis())
	if err != nil {
		return nil, err
	}
	own, _, err := drawsOf(ctx, fit)
	if err != nil {
		return nil, err
	}
	return c.run(ctx, own, rng)
}

// simulated are releases that follow the model at a draw, a row for each.
func simulated(f *dpreg.Fit, rows [][]float64, rng *rand.Rand) ([]dpreg.Custodian, error) {
	custodians := f.Custodians
	c, err := newCheckers(custodians, f.Family, f.Kurtosis())
	if err != nil {
		return nil, err
	}
	if !c.given(rows) {
		return nil, errNoReplicate
	}
	out := make([]dpreg.Custodian, len(custodians))
	c.draw(rng)
	for j, site := range c.sites {
		r := *custodians[j].Release
		r.Simulated = true
		if l := r.Levels; l != nil {
			first := r.FactorFirst()
			site.state(first.Measured())
			first.TakeLevels(l, site.rep)
			if r.LevelsAreOfResponse() {
				first = first.FactorLast()
			}
			out[j] = dpreg.Custodian{Name: custodians[j].Name, Release: first}
			continue
		}
		if r.NNoise > 0 {
			r.N = int64(math.Round(site.n + model.RandNoise(r.Noise.Kind, r.NNoise, rng)))
		}
		site.state(r.Statistics.Vector())
		r.Statistics = release.StatisticsFromVector(r.Dim(), site.rep)
		out[j] = dpreg.Custodian{Name: custodians[j].Name, Release: &r}
	}
	return out, nil
}

// state takes z_rep to what a release states: where rows are clipped, less what inference puts back, which is the same
// in z. What z is of is stated.
func (c *checker) state(stated []float64) {
	for e, v := range stated {
		c.rep[e] -= c.z[e] - v
	}
}

// drawsOf are the draws that a check takes, a row of each release: in the order of
// model.Shape.Names, then n where that is latent, in its own scaled units.
func drawsOf(ctx context.Context, f *dpreg.Fit) (draws [][][]float64, warnings []string, err error) {
	all := f.Apparent(dpreg.Scaled)
	rows := thinned(all)
	draws = make([][][]float64, len(rows))
	for j, c := range f.Custodians {
		own := f.Family.Design(&c.Release.Schema).Frame()
		s := agree.NewSite(all, model.ShapeOf(c.Release), f.Frame(), own, j)
		covariates, from := s, rows
		if all.Index("mu_x[1]") < 0 {
			fit, err := alone(ctx, f, j)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", c.Name, err)
			}
			if ok, reason := fit.Converged(); !ok {
				warnings = append(warnings, fmt.Sprintf("the covariates of %s, inferred from it alone: not converged: %s", c.Name, reason))
			}
			other := fit.Apparent(dpreg.Scaled)
			covariates, from = agree.NewSite(other, model.ShapeOf(c.Release), own, own, 0), thinned(other)
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
	original, err := f.Prior.Original(f.Frame())
	if err != nil {
		return nil, err
	}
	o := dpreg.Options{Method: f.Method, Family: f.Family, Kernel: f.Kernel, Plan: f.Options().Plan}
	if o.Prior, err = original.FromOriginal(f.Family.Design(&r.Schema).Frame()); err != nil {
		return nil, err
	}
	o.Plan.Seed = mcmc.Stream(o.Plan.Seed, j+1).Uint64()
	return dpreg.Infer(ctx, dpreg.One(r), o)
}
