package dpreg

import (
	"context"
	"fmt"
	"strings"

	"github.com/dpreg/dpreg/gibbs"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts/exact"
	"github.com/dpreg/dpreg/release"
)

// DefaultMethod is the method of Options that name none.
const DefaultMethod = "gibbs-ss-update"

// Options of Infer and NonPrivate. The zero value serves.
type Options struct {
	// Method is the name of one of Methods; empty is DefaultMethod.
	Method string
	// Kernel is "exact" or "plain", for the methods gibbs-ss-; empty is exact.
	Kernel string
	// Prior is in scaled units; nil is model.DefaultPrior.
	Prior *model.Prior
	// Plan says how long to run. Where Chains, Warmup, Draws and ESS are all
	// zero, those of DefaultPlan serve, and the other fields stand.
	Plan mcmc.Plan
}

// DefaultPlan is 4 chains of 1000 warm-up steps each, then sampling until the
// smallest effective sample size is 1000, from seed 0.
func DefaultPlan() mcmc.Plan { return mcmc.Plan{Chains: 4, Warmup: 1000, ESS: 1000} }

func (o Options) plan() mcmc.Plan {
	p := o.Plan
	if p.Chains == 0 && p.Warmup == 0 && p.Draws == 0 && p.ESS == 0 {
		d := DefaultPlan()
		p.Chains, p.Warmup, p.ESS = d.Chains, d.Warmup, d.ESS
	}
	return p
}

// prior returns the prior to use, of the right sizes.
func (o Options) prior(s model.Shape) (*model.Prior, error) {
	if o.Prior == nil {
		return model.DefaultPrior(s), nil
	}
	return o.Prior, o.Prior.Check(s)
}

// Methods lists the methods that infer from a release, the default first.
func Methods() []model.Method {
	return []model.Method{gibbs.Update{}, gibbs.Prior{}, gibbs.Noisy{}, exact.Method{}, model.Naive{}}
}

// method finds the method that the options name.
func (o Options) method() (model.Method, error) {
	name := o.Method
	if name == "" {
		name = DefaultMethod
	}
	var names []string
	for _, m := range Methods() {
		names = append(names, m.Name())
		if m.Name() == name {
			return o.withKernel(m)
		}
	}
	if name == nonPrivate {
		return nil, fmt.Errorf("method %s needs the rows: it does not infer from a release", nonPrivate)
	}
	return nil, fmt.Errorf("no method %q; the methods are %s", name, strings.Join(names, ", "))
}

func (o Options) withKernel(m model.Method) (model.Method, error) {
	kernel := gibbs.Kernel(o.Kernel)
	switch m.(type) {
	case gibbs.Update:
		return gibbs.Update{Kernel: kernel}, nil
	case gibbs.Prior:
		return gibbs.Prior{Kernel: kernel}, nil
	case gibbs.Noisy:
		return gibbs.Noisy{Kernel: kernel}, nil
	}
	if o.Kernel != "" {
		return nil, fmt.Errorf("method %s has no choice of kernel, and kernel %q was asked for", m.Name(), o.Kernel)
	}
	return m, nil
}

// lawful methods infer with a law of the statistics.
type lawful interface {
	Law(*model.Problem) (model.Law, error)
}

// Infer draws from the posterior of the regression that r is a release of; see
// release.Release.Select for its sub-models. It costs no privacy. The result
// depends on r and o alone, not on the number of workers.
//
// Errors: a release that is not valid or that the method cannot use, a prior of
// other sizes, a plan that cannot stand, an unknown method or kernel, a context
// that is done.
func Infer(ctx context.Context, r *release.Release, o Options) (*Fit, error) {
	method, err := o.method()
	if err != nil {
		return nil, err
	}
	if err := r.Validate(); err != nil {
		return nil, err
	}
	f := &Fit{Release: r, Design: &r.Schema, Method: method.Name(), Kernel: o.Kernel, N: r.N, Plan: o.plan()}
	if f.Prior, err = o.prior(f.shape()); err != nil {
		return nil, err
	}
	problem := &model.Problem{Releases: []*release.Release{r}, Prior: f.Prior}
	if m, ok := method.(lawful); ok {
		f.law = func() (model.Law, error) { return m.Law(problem) }
	}
	draws, err := method.Sample(ctx, problem, f.Plan)
	if err != nil {
		return nil, err
	}
	draws.Warnings = append(append(r.Warnings(), f.normalityWarnings()...), draws.Warnings...)
	return f.with(draws)
}
