package dpreg

import (
	"context"
	"fmt"

	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/schema"
)

// custodians are those of several releases, or the one of a release alone.
func (f *Fit) custodians() []Custodian {
	if f.Custodians != nil {
		return f.Custodians
	}
	return []Custodian{{f.name, f.Release}}
}

// checkSites are the draws that a check takes, a row of each site: in the order of
// model.Shape.Names, then n where that is latent, in the release's own scaled units.
func (f *Fit) checkSites(ctx context.Context) (draws [][][]float64, warnings []string, err error) {
	rows := f.checkDraws()
	if f.Custodians == nil {
		for _, row := range rows {
			draws = append(draws, [][]float64{row})
		}
		return draws, nil, nil
	}
	draws = make([][][]float64, len(rows))
	for j, c := range f.Custodians {
		s := f.site(j)
		var alone [][]float64
		if !f.hasCovariates() {
			fit, err := f.alone(ctx, j)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", c.Name, err)
			}
			if ok, reason := fit.Converged(); !ok {
				warnings = append(warnings, fmt.Sprintf("the covariates of %s, inferred from it alone: not converged: %s", c.Name, reason))
			}
			alone = fit.checkDraws()
			draws = draws[:min(len(draws), len(alone))]
		}
		for i := range draws {
			row := s.regression(rows[i])
			if alone != nil {
				row = append(row, alone[i][len(row):]...)
			} else {
				row = s.covariates(row, rows[i])
			}
			draws[i] = append(draws[i], row)
		}
	}
	return draws, warnings, nil
}

// alone infers from the release of custodian j alone, under the same prior, by a plan of
// the same length.
func (f *Fit) alone(ctx context.Context, j int) (*Fit, error) {
	r := f.Custodians[j].Release
	prior, err := f.original.FromOriginal(r.Schema.Frame())
	if err != nil {
		return nil, err
	}
	plan := f.silentPlan()
	plan.Seed = mcmc.Stream(plan.Seed, j+1).Uint64()
	return Infer(ctx, r, Options{Method: f.Method, Kernel: f.Kernel, Prior: prior, Plan: plan})
}

// site takes the parameters of one custodian out of a joint fit's draws.
type site struct {
	shape model.Shape
	own   schema.Frame // from common units, which take the place of scaled ones, to its own
	theta int          // where its coefficients are
	sigma int          // and its own σ_j; -1: it has none
	n     int          // and its latent number of rows; -1: it is public
}

func (f *Fit) site(j int) site {
	u := model.UnitsBetween(f.frame, f.Custodians[j].Release.Schema.Frame())
	s := site{shape: f.shape(), own: schema.Frame{Centre: u.Shift, Half: u.Scale, Intercept: f.Design.Intercept}}
	if f.partial {
		s.theta = f.at(model.Parameter{Kind: model.ThetaAt, Custodian: j + 1, K: s.shape.First()})
	}
	s.sigma = f.at(model.Parameter{Kind: model.SigmaAt, Custodian: j + 1})
	s.n = f.at(model.Parameter{Kind: model.Rows, Custodian: j + 1})
	return s
}

// regression are θ_j and σ_j² of a draw.
func (s site) regression(row []float64) []float64 {
	q := s.shape.Q()
	out := make([]float64, q, len(row))
	s.own.ThetaToOriginal(out, row[s.theta:s.theta+q])
	sigma2 := row[q]
	if s.sigma >= 0 {
		sigma2 = row[s.sigma] * row[s.sigma]
	}
	return append(out, s.own.Sigma2ToOriginal(sigma2))
}

// covariates appends the shared μ_x and T of a draw, and n.
func (s site) covariates(dst, row []float64) []float64 {
	p, at := s.shape.P, s.shape.Q()+1
	mu, tau := make([]float64, p), make([]float64, p*p)
	s.own.MuXToOriginal(mu, row[at:at+p])
	model.Expand(tau, row[at+p:], p)
	s.own.TauToOriginal(tau, tau)
	dst = append(dst, mu...)
	eachPair(p, false, func(j, k int) { dst = append(dst, tau[j*p+k]) })
	if s.n >= 0 {
		dst = append(dst, row[s.n])
	}
	return dst
}
