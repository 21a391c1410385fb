package dpreg

import (
	"cmp"
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
	// Family is the law of the response, on whose link's scale the prior and coefficients are; empty is
	// the normal one, of a line.
	Family model.Family
	// Covariates and Pooling say what several releases share: empty is SeparateCovariates,
	// CompletePooling.
	Covariates, Pooling string
	// SameRows: several releases are of one population of rows, and measure the same sums.
	SameRows bool
	// Prior is in scaled units; nil is model.Family.DefaultPrior of the releases.
	Prior *model.Prior
	// Plan says how long to run. Of Chains and Warmup what is zero is that of DefaultPlan, and
	// where neither Draws nor ESS says when to stop, its ESS does.
	Plan mcmc.Plan
}

// DefaultPlan is 4 chains of 500 warm-up steps, then draws until the smallest ESS is 1000; seed 0.
func DefaultPlan() mcmc.Plan { return mcmc.Plan{Chains: 4, Warmup: 500, ESS: 1000} }

func (o Options) plan() mcmc.Plan {
	p, d := o.Plan, DefaultPlan()
	p.Chains, p.Warmup = cmp.Or(p.Chains, d.Chains), cmp.Or(p.Warmup, d.Warmup)
	if p.Draws == 0 {
		p.ESS = cmp.Or(p.ESS, d.ESS)
	}
	return p
}

// prior returns the prior to use for a design and its releases, of the right sizes.
func (o Options) prior(d *schema.Design, releases ...*release.Release) (*model.Prior, error) {
	if o.Prior == nil {
		return o.Family.DefaultPrior(d, releases...)
	}
	return o.Prior, o.Prior.Check(model.DesignShape(d))
}

// Methods lists the methods that infer from a release. Auto chooses among them.
func Methods() []model.Method {
	return []model.Method{exact.Method{}, individual.Method{}, gibbs.Method{Moments: gibbs.Update}, gibbs.Method{Moments: gibbs.Prior}, gibbs.Method{Moments: gibbs.Noisy}, model.Naive{}}
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
	switch g := m.(type) {
	case gibbs.Method:
		m = gibbs.Method{Moments: g.Moments, Kernel: kernel}
	case individual.Method:
		m = individual.Method{ModelClamping: o.ModelClamping}
	}
	return m, nil
}

// Can returns what InferJointly, or of one release Infer, refuses before it draws anything.
func Can(custodians []Custodian, o Options) error {
	f, err := o.inquire(custodians)
	if err != nil {
		return err
	}
	if err := f.method.Can(&f.problem); err != nil {
		return f.chosen(f.naming(err))
	}
	return f.chosen(f.method.Traits().Check(f.Method, f.Plan))
}

// Infer draws from the posterior of one regression given the releases of one custodian or
// several, each with its own columns' bounds, rows, noise and privacy, and none of whom sees
// another's rows. Options.Prior is in common scaled units, see Join; of one release these are
// its own. See release.Release.Select for sub-models. The result depends on releases and
// options alone, not on the number of workers.
//
// With Options.SameRows the releases are several of one custodian's rows: measurements of the
// same sums. Of columns with the same bounds, and of rows of which all have a public number
// or all a noisy one, it is the posterior of one release of which these are the noise.
//
// It costs no privacy. Persons of whom two custodians have rows, or several releases the
// same, lose the sum of what the releases cost.
//
// Errors: those of Join; a release that the method cannot use, a prior of other sizes, a plan
// that cannot stand, an unknown method, kernel or sharing, a context that is done.
func Infer(ctx context.Context, custodians []Custodian, o Options) (*Fit, error) {
	f, err := o.inquire(custodians)
	if err != nil {
		return nil, err
	}
	draws, err := f.method.Sample(ctx, &f.problem, f.untilMixed())
	if err != nil {
		return nil, f.chosen(f.naming(err))
	}
	draws.Warnings = append(f.releaseWarnings(), draws.Warnings...)
	if f, err = f.with(draws); err != nil {
		return nil, err
	}
	f.doubt()
	if f.contradicting = f.contradictions(); f.contradicting != nil {
		f.draws.Warnings = append(f.draws.Warnings, contradictionWarning(f.Family, f.contradicting, len(custodians)))
	}
	return f, nil
}

// inquire asks of releases what Infer draws for: a fit before it has draws.
func (o Options) inquire(custodians []Custodian) (*Fit, error) {
	custodians, common, err := Join(custodians)
	if err != nil {
		return nil, err
	}
	problem, err := o.problem(custodians)
	if err != nil {
		return nil, err
	}
	method, why, err := o.method(custodians...)
	if err != nil {
		return nil, err
	}
	f := &Fit{Custodians: custodians, Design: common, Family: o.Family, Method: method.Name(), Why: why, Kernel: o.Kernel, ModelClamping: o.ModelClamping, Plan: o.plan(),
		method: method, problem: problem, stated: o.Prior}
	if f.Prior, err = o.prior(f.Design, problem.Releases...); err != nil {
		return nil, err
	}
	f.problem.Prior = f.Prior
	if f.N, err = rowsOf(&f.problem); err != nil {
		return nil, f.naming(err)
	}
	return f, nil
}

// Kurtosis is the prior of the residuals' kurtosis that the method takes, of all rows.
func (f *Fit) Kurtosis() model.Kurtosis {
	if f.problem.PartialPooling { // each custodian's rows have a σ_j of their own
		return model.Kurtosis{}
	}
	return f.Prior.OfRows(float64(f.N)).Kurtosis
}

// Checkable tells whether a method learns the law of the covariates, so that there
// is a fitted one to check.
func Checkable(method string) bool {
	return method == Auto || Traits(method).Covariates == model.LearntCovariates
}

// Law is the law of the statistics of all rows that the method infers with; nil where it has
// none, or draws leave it out, as they do where each of several custodians has its own.
func (f *Fit) Law() (model.Law, error) {
	m, ok := f.method.(model.Lawful)
	switch {
	case f.Family != model.Normal: // its moments are not those of a line
		return nil, nil
	case ok && len(f.Custodians) == 1:
		return m.Law(&f.problem)
	case f.problem.SharedCovariates && Checkable(f.Method):
		return model.NewMoments(f.shape()), nil
	}
	return nil, nil
}

// chosen says of an error of a method that Auto took why it did.
func (f *Fit) chosen(err error) error {
	if err == nil || f.Why == "" || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%w (%s was taken: %s)", err, f.Method, f.Why)
}

// UnitDesign is a regression of p covariates x1 … xp with an intercept, all
// bounds at -1 and 1, so that its units are the scaled ones.
func UnitDesign(p int) *schema.Design {
	d := &schema.Design{Response: schema.Column{Name: "y", Lower: -1, Upper: 1}, Intercept: true}
	for j := range p {
		d.Covariates = append(d.Covariates, schema.Column{Name: fmt.Sprintf("x%d", j+1), Lower: -1, Upper: 1})
	}
	return d
}
