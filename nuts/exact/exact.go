// Package exact is the method mcmc-exact: the posterior under the exact law of the
// statistics of normal rows, without CLT and projection, at a cost that does not
// depend on the number of rows.
package exact

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts"
	"github.com/dpreg/dpreg/posterior"
)

// Method is mcmc-exact.
type Method struct{}

// Name returns the method's name on the command line.
func (Method) Name() string { return "mcmc-exact" }

// Traits are of a method that adapts, and has the covariates' law among its parameters.
func (Method) Traits() model.Traits {
	return model.Traits{Warmup: model.AdaptiveWarmup, Covariates: model.LearntCovariates}
}

// Law returns the law of the statistics, of whose moments forecasts and the price
// of privacy are made.
func (Method) Law(p *model.Problem) (model.Law, error) {
	return p.NormalLaw()
}

// Can refuses releases of fewer rows than columns and one more: their scatter has no
// density.
func (m Method) Can(p *model.Problem) error {
	_, err := m.read(p)
	return err
}

func (m Method) read(p *model.Problem) (*model.Joint, error) {
	joint, err := p.JoinLevels()
	if err != nil {
		return nil, err
	}
	if leveled(joint) && joint.Shared && len(joint.Sites) > 1 {
		return nil, errors.New("of sums by the levels of a factor (--by-level) each custodian's covariates have a law of their own: leave --covariates shared out")
	}
	return joint, joint.Each(func(obs *model.Observation) error {
		if counted(obs, joint.Family) {
			return nil
		}
		if joint.Family != model.Normal && obs.Told != nil && obs.Count.Latent() {
			return fmt.Errorf("family %s has no law of sums by levels (--by-level) where the number of rows is not public and a covariate is a number: leave the numbers out by --formula; or a release has it that the custodian makes with --neighbours replace-one, or without --by-level, for another ε", joint.Family)
		}
		if more := float64(obs.Shape.P + 4); joint.Family != model.Normal && obs.N < more {
			return fmt.Errorf("family %s of %d covariates needs at least %g rows, and the release has n = %g: take fewer by --formula", joint.Family, obs.Shape.P, more, obs.N)
		}
		if columns := obs.Shape.M(); !obs.Count.Latent() && obs.N < float64(columns+1) {
			return fmt.Errorf("%s: %d columns need at least %d rows, and the release has n = %g: the law of their scatter has no density; take --method mcmc-ind, which has no such limit", m.Name(), columns, columns+1, obs.N)
		}
		return nil
	})
}

// Sample draws from the posterior. Draws are in scaled units, named by
// model.Joint.Names; the sampler's columns are nuts.InfoNames, of which lp__ is the log
// density of the statistics, of several releases with the parameters that they share.
func (m Method) Sample(ctx context.Context, p *model.Problem, plan mcmc.Plan) (*posterior.Draws, error) {
	joint, err := m.read(p)
	if err != nil {
		return nil, err
	}
	if err := m.Traits().Check(m.Name(), plan); err != nil {
		return nil, err
	}
	order := toldFirst(joint)
	if order == nil {
		return sample(ctx, joint, joint.Names(), plan)
	}
	ordered, err := m.read(p.InOrder(order))
	if err != nil {
		return nil, err
	}
	draws, err := sample(ctx, ordered, model.Names(joint.Layout().InOrder(order)), plan)
	if draws != nil {
		draws = draws.InOrder(joint.Names())
	}
	return draws, err
}

func sample(ctx context.Context, joint *model.Joint, names []string, plan mcmc.Plan) (*posterior.Draws, error) {
	start := func(_ int, rng *rand.Rand) (*nuts.Sampler, error) {
		site, linked := joint.Sites[0], joint.Family != model.Normal
		switch byLevel := leveled(joint); {
		case len(joint.Sites) > 1 || site.PerLevel() || byLevel && (linked || site.Shape.Coding != nil):
			return newJointKernel(joint, rng)
		case byLevel:
			return newKernel(newByLevel(site, joint.Prior), rng)
		case linked:
			return newKernel(newGeneralized(site, joint.Prior, familyOf(joint.Family, site.Upper)), rng)
		}
		return newKernel(newDensity(site, joint.Prior), rng)
	}
	if plan.Expect != nil && joint.Shape.P >= manyColumns && !leveled(joint) && ctx.Err() == nil {
		if err := nuts.Expect(start, plan, manyLeapfrogs); err != nil {
			return nil, err
		}
	}
	return nuts.Run(ctx, names, start, nuts.Options{}, plan)
}

// manyColumns are so many that a run may take minutes; for manyLeapfrogs see nuts.Expect: 61 columns that noise hides took 19.
const manyColumns, manyLeapfrogs = 30, 20

// leveled tells whether a release has sums by the levels of a factor among the covariates.
func leveled(t *model.Joint) bool {
	return slices.ContainsFunc(t.Sites, func(s *model.Site) bool { return byFactor(s.Observation) })
}

func byFactor(o *model.Observation) bool {
	return o.Told != nil && o.Told.Response == nil && !o.Told.OfAllRows()
}
