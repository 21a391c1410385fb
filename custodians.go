package dpreg

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// Custodian is one of several releases of which one regression is inferred, and the
// name that results give it, such as its file's.
type Custodian struct {
	Name    string
	Release *release.Release
}

// How several releases share a regression, and how the covariates' law.
const (
	// CompletePooling is one θ for all.
	CompletePooling = "complete"
	// PartialPooling is a θ_j for each, from one normal law; see model.Spread.
	PartialPooling = "partial"
	// SeparateCovariates are a (μ_x, T) for each custodian, which draws leave out.
	SeparateCovariates = "separate"
	// SharedCovariates are one (μ_x, T) for all.
	SharedCovariates = "shared"
)

// fewCustodians is the number below which they tell little of the spread between them.
const fewCustodians = 5

// Join gives custodians' releases the same columns in the same order, those of the
// first, matched by name, and returns the design in common units: each column has the
// smallest box that holds all of theirs. Errors name both files; see schema.Hull.
func Join(custodians []Custodian) (arranged []Custodian, common *schema.Design, err error) {
	if len(custodians) == 0 {
		return nil, nil, errors.New("there is no release to infer from")
	}
	var names []string
	var designs []*schema.Design
	for _, c := range custodians {
		if err := c.Release.Validate(); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		names, designs = append(names, c.Name), append(designs, &c.Release.Schema)
	}
	if err := sameLevels(custodians); err != nil {
		return nil, nil, err
	}
	if common, err = schema.Hull(names, designs); err != nil {
		return nil, nil, err
	}
	for _, c := range custodians {
		arranged = append(arranged, Custodian{c.Name, c.Release.Arrange(common)})
	}
	return arranged, common, nil
}

// sameLevels looks at factors before schema.Hull looks at columns: a level more would be
// a dummy more, and "a column that one file lacks" would hide what is wrong.
func sameLevels(custodians []Custodian) error {
	first := custodians[0]
	for _, c := range custodians[1:] {
		for _, f := range first.Release.Schema.Factors {
			for _, g := range c.Release.Schema.Factors {
				if f.Name == g.Name && !slices.Equal(f.Levels, g.Levels) {
					return fmt.Errorf("%s and %s cannot be joined: factor %q has the levels %q in the first, %q in the second: publish with the same levels in the same order, or give a --formula without %q",
						first.Name, c.Name, f.Name, f.Levels, g.Levels, f.Name)
				}
			}
		}
	}
	return nil
}

// InferJointly draws from the posterior of one regression given the releases of
// several custodians, each with its own columns' bounds, rows, noise and privacy, and
// none of whom sees another's rows. Options.Prior is in common scaled units, see Join.
// One custodian alone has the posterior of Infer, draw by draw.
//
// With Options.SameRows the releases are several of one custodian's rows: measurements of the
// same sums. Of columns with the same bounds, and of rows of which all have a public number
// or all a noisy one, it is the posterior of one release of which these are the noise.
//
// It costs no privacy. Persons of whom two custodians have rows, or several releases the
// same, lose the sum of what the releases cost. Errors: those of Infer and Join, each for its
// release.
func InferJointly(ctx context.Context, custodians []Custodian, o Options) (*Fit, error) {
	if len(custodians) == 1 {
		f, err := Infer(ctx, custodians[0].Release, o)
		if err == nil {
			f.name = custodians[0].Name
		}
		return f, err
	}
	q, err := o.jointly(custodians)
	if err != nil {
		return nil, err
	}
	f := q.fit
	draws, err := q.method.Sample(ctx, q.problem, f.untilMixed())
	if err != nil {
		return nil, f.chosen(f.naming(err))
	}
	draws.Warnings = append(f.jointWarnings(), draws.Warnings...)
	if f, err = f.with(draws); err != nil {
		return nil, err
	}
	if f.contradicting = f.contradictions(); f.contradicting != nil {
		draws.Warnings = append(draws.Warnings, contradictionWarning(f.contradicting, len(custodians)))
	}
	return f, nil
}

// jointly asks of several releases.
func (o Options) jointly(custodians []Custodian) (*inquiry, error) {
	custodians, common, err := Join(custodians)
	if err != nil {
		return nil, err
	}
	shared, partial, err := o.sharing()
	if err != nil {
		return nil, err
	}
	problem := &model.Problem{SharedCovariates: shared, PartialPooling: partial, SameRows: o.SameRows}
	for _, c := range custodians {
		problem.Releases = append(problem.Releases, c.Release)
	}
	method, why, err := o.method(custodians...)
	if err != nil {
		return nil, err
	}
	f := &Fit{Custodians: custodians, Design: common, Method: method.Name(), Why: why, Kernel: o.Kernel, ModelClamping: o.ModelClamping, Plan: o.plan(), shared: shared, partial: partial, sameRows: o.SameRows, stated: o.Prior}
	if f.Prior, err = o.prior(f.Design, problem.Releases...); err != nil {
		return nil, err
	}
	problem.Prior = f.Prior
	if f.N, err = rowsOf(problem); err != nil {
		return nil, f.naming(err)
	}
	if shared && Checkable(f.Method) { // else draws leave it out
		f.law = func() (model.Law, error) { return model.NewMoments(f.shape()), nil }
	}
	return &inquiry{f, method, problem}, nil
}

// sharing reads Options.Covariates and Options.Pooling; the same rows share everything.
func (o Options) sharing() (shared, partial bool, err error) {
	switch o.Covariates {
	case "", SeparateCovariates:
	case SharedCovariates:
		shared = true
	default:
		return false, false, fmt.Errorf("covariates %q are neither %q nor %q", o.Covariates, SeparateCovariates, SharedCovariates)
	}
	switch o.Pooling {
	case "", CompletePooling:
	case PartialPooling:
		partial = true
	default:
		return false, false, fmt.Errorf("pooling %q is neither %q nor %q", o.Pooling, CompletePooling, PartialPooling)
	}
	if o.SameRows && partial {
		return false, false, errors.New("partial pooling is of several custodians, and these releases are of the same rows")
	}
	shared = shared || o.SameRows
	return shared, partial, nil
}

// Sharing says what several releases share in the fit, as Options.Covariates and
// Options.Pooling do.
func (f *Fit) Sharing() (covariates, pooling string) {
	covariates, pooling = SeparateCovariates, CompletePooling
	if f.shared {
		covariates = SharedCovariates
	}
	if f.partial {
		pooling = PartialPooling
	}
	return covariates, pooling
}

// naming puts the custodian's name where a method speaks of its release.
func (f *Fit) naming(err error) error {
	var of *model.SiteError
	if errors.As(err, &of) {
		return fmt.Errorf("%s: %w", f.Custodians[of.Site].Name, of.Err)
	}
	return err
}

func (f *Fit) jointWarnings() (warnings []string) {
	for _, c := range f.Custodians {
		for _, w := range c.Release.Warnings() {
			warnings = append(warnings, c.Name+": "+w)
		}
	}
	if f.partial && len(f.Custodians) < fewCustodians {
		warnings = append(warnings, fmt.Sprintf("partial pooling of %d custodians: fewer than %d tell little of the spread between them, which the prior then decides", len(f.Custodians), fewCustodians))
	}
	if !f.sameRows {
		warnings = append(warnings, f.sameRowsWarnings()...)
	}
	return append(warnings, f.normalityWarnings()...)
}

// FromRows tells whether the fit is of rows themselves, without noise: not private.
func (f *Fit) FromRows() bool { return f.Release == nil && f.Custodians == nil }
