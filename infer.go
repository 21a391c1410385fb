package dpreg

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dpreg/dpreg/gibbs"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts/exact"
	"github.com/dpreg/dpreg/nuts/individual"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// DefaultMethod is the method of Options that name none.
const DefaultMethod = Auto

// Options of Infer and NonPrivate. The zero value serves.
type Options struct {
	// Method is Auto or the name of one of Methods; empty is DefaultMethod.
	Method string
	// Kernel is "exact" or "plain", for the methods gibbs-ss-; empty is exact.
	Kernel string
	// ModelClamping lets the rows be unbounded, and their sums be those of the
	// clamped rows: mcmc-ind alone can.
	ModelClamping bool
	// Covariates and Pooling say what several releases share, see InferJointly: empty
	// is SeparateCovariates, CompletePooling.
	Covariates, Pooling string
	// SameRows: several releases are of one population of rows, and measure the same sums.
	SameRows bool
	// Prior is in scaled units; nil is model.DefaultPriorFor the releases.
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

// prior returns the prior to use for a design and its releases, of the right sizes.
func (o Options) prior(d *schema.Design, releases ...*release.Release) (*model.Prior, error) {
	if o.Prior == nil {
		return model.DefaultPriorFor(d, releases...)
	}
	return o.Prior, o.Prior.Check(model.Shape{P: len(d.Covariates), Intercept: d.Intercept})
}

// Methods lists the methods that infer from a release. Auto chooses among them.
func Methods() []model.Method {
	return []model.Method{exact.Method{}, individual.Method{}, gibbs.Update{}, gibbs.Prior{}, gibbs.Noisy{}, model.Naive{}}
}

// method finds the method that the options name, and says why where it was chosen.
func (o Options) method(custodians ...Custodian) (m model.Method, why string, err error) {
	if o.Method == "" || o.Method == Auto {
		return o.choose(custodians)
	}
	names := []string{Auto}
	for _, m := range Methods() {
		names = append(names, m.Name())
		if m.Name() == o.Method {
			m, err = o.variant(m)
			return m, "", err
		}
	}
	if o.Method == nonPrivate {
		return nil, "", fmt.Errorf("method %s needs the rows: it does not infer from a release", nonPrivate)
	}
	return nil, "", fmt.Errorf("no method %q; the methods are %s", o.Method, strings.Join(names, ", "))
}

// Traits are those of the method of a name, and none where there is no such.
func Traits(method string) (t model.Traits) {
	for _, m := range Methods() {
		if m.Name() == method {
			t = m.Traits()
		}
	}
	return t
}

// variant gives a method the kernel and the model of clamping that were asked for.
func (o Options) variant(m model.Method) (model.Method, error) {
	can, kernel := m.Traits(), gibbs.Kernel(o.Kernel)
	switch {
	case !can.Kernels && o.Kernel != "":
		return nil, fmt.Errorf("method %s has no choice of kernel, and kernel %q was asked for", m.Name(), o.Kernel)
	case !can.Clamping && o.ModelClamping:
		return nil, fmt.Errorf("method %s cannot model clamping; mcmc-ind can", m.Name())
	}
	switch m.(type) {
	case gibbs.Update:
		m = gibbs.Update{Kernel: kernel}
	case gibbs.Prior:
		m = gibbs.Prior{Kernel: kernel}
	case gibbs.Noisy:
		m = gibbs.Noisy{Kernel: kernel}
	case individual.Method:
		m = individual.Method{ModelClamping: o.ModelClamping}
	}
	return m, nil
}

// Can returns what InferJointly, or of one release Infer, refuses before it draws anything.
func Can(custodians []Custodian, o Options) error {
	ask := o.jointly
	if len(custodians) == 1 {
		ask = o.alone
	}
	q, err := ask(custodians)
	if err != nil {
		return err
	}
	if err := q.method.Can(q.problem); err != nil {
		return q.fit.chosen(q.fit.naming(err))
	}
	if err := q.method.Traits().Check(q.method.Name(), q.fit.Plan); err != nil {
		return q.fit.chosen(err)
	}
	return nil
}

// inquiry is a fit before it has draws, with the method and the problem to draw for.
type inquiry struct {
	fit     *Fit
	method  model.Method
	problem *model.Problem
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
	q, err := o.alone([]Custodian{{Release: r}})
	if err != nil {
		return nil, err
	}
	draws, err := q.method.Sample(ctx, q.problem, q.fit.untilMixed())
	if err != nil {
		return nil, q.fit.chosen(err)
	}
	draws.Warnings = append(append(r.Warnings(), q.fit.normalityWarnings()...), draws.Warnings...)
	return q.fit.with(draws)
}

// alone asks of one release.
func (o Options) alone(custodians []Custodian) (*inquiry, error) {
	r := custodians[0].Release
	if o.Pooling == PartialPooling {
		return nil, errors.New("partial pooling is of several releases, and there is one")
	}
	method, why, err := o.method(custodians...)
	if err != nil {
		return nil, err
	}
	if err := r.Validate(); err != nil {
		return nil, err
	}
	f := &Fit{Release: r, Design: &r.Schema, Method: method.Name(), Why: why, Kernel: o.Kernel, ModelClamping: o.ModelClamping, N: r.N, Plan: o.plan(), stated: o.Prior}
	if f.Prior, err = o.prior(f.Design, r); err != nil {
		return nil, err
	}
	problem := &model.Problem{Releases: []*release.Release{r}, Prior: f.Prior}
	if m, ok := method.(lawful); ok {
		f.law = func() (model.Law, error) { return m.Law(problem) }
	}
	return &inquiry{f, method, problem}, nil
}

// chosen says of an error of a method that Auto took why it did.
func (f *Fit) chosen(err error) error {
	if f.Why == "" || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%w (%s was taken: %s)", err, f.Method, f.Why)
}
