package dpreg

import (
	"context"
	"errors"
	"fmt"
	"math"

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
	if common, err = schema.Hull(names, designs); err != nil {
		return nil, nil, err
	}
	for _, c := range custodians {
		arranged = append(arranged, Custodian{c.Name, c.Release.Arrange(common)})
	}
	return arranged, common, nil
}

// InferJointly draws from the posterior of one regression given the releases of
// several custodians, each with its own columns' bounds, rows, noise and privacy, and
// none of whom sees another's rows. Options.Prior is in common scaled units, see Join.
// One custodian alone has the posterior of Infer, draw by draw.
//
// It costs no privacy. Persons of whom two custodians have rows lose the sum of
// what their releases cost. Errors: those of Infer and Join, each for its release.
func InferJointly(ctx context.Context, custodians []Custodian, o Options) (*Fit, error) {
	if len(custodians) == 1 {
		return Infer(ctx, custodians[0].Release, o)
	}
	custodians, common, err := Join(custodians)
	if err != nil {
		return nil, err
	}
	shared, partial, err := o.sharing()
	if err != nil {
		return nil, err
	}
	releases, rows := make([]*release.Release, len(custodians)), int64(0)
	for j, c := range custodians {
		releases[j], rows = c.Release, rows+c.Release.N
	}
	method, why, err := o.method(releases...)
	if err != nil {
		return nil, err
	}
	f := &Fit{Custodians: custodians, Design: common, Method: method.Name(), Why: why, Kernel: o.Kernel, ModelClamping: o.ModelClamping, N: rows, Plan: o.plan(), partial: partial}
	if f.Prior, err = o.prior(f.shape()); err != nil {
		return nil, err
	}
	draws, err := method.Sample(ctx, &model.Problem{Releases: releases, Prior: f.Prior, SharedCovariates: shared, PartialPooling: partial}, f.Plan)
	if err != nil {
		return nil, f.naming(err)
	}
	draws.Warnings = append(f.jointWarnings(), draws.Warnings...)
	return f.with(draws)
}

// sharing reads Options.Covariates and Options.Pooling.
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
	return shared, partial, nil
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
	return append(warnings, f.normalityWarnings()...)
}

// FromRows tells whether the fit is of rows themselves, without noise: not private.
func (f *Fit) FromRows() bool { return f.Release == nil && f.Custodians == nil }

// Shrinkage returns, for each coefficient and of partial pooling, the share of the
// difference between custodians that their posterior means have lost (Gelman & Pardoe
// 2006, Technometrics 48, the pooling factor of a batch):
//
//	λ_k = 1 − Var_j(E[θ_jk − θ_k]) / E[Var_j(θ_jk − θ_k)],
//
// near 0 where each has its own, near 1 where all have one. It is nil without partial
// pooling.
func (f *Fit) Shrinkage(u Units) []float64 {
	if !f.partial {
		return nil
	}
	draws, q, sites := f.Draws(u), f.shape().Q(), len(f.Custodians)
	width, at := len(draws.Names), draws.Index(f.custodianName(0, 0))
	shrinkage := make([]float64, q)
	means, diff := make([]float64, sites), make([]float64, sites)
	for k := range q {
		clear(means)
		within, count := 0.0, 0.0
		for _, chain := range draws.Chains {
			for row := 0; row < len(chain); row += width {
				for j := range diff {
					diff[j] = chain[row+at+j*q+k] - chain[row+k]
					means[j] += diff[j]
				}
				within += variance([][]float64{diff})
				count++
			}
		}
		for j := range means {
			means[j] /= count
		}
		shrinkage[k] = 1 - variance([][]float64{means})/(within/count)
	}
	return shrinkage
}

// custodianName is the name in Draws of coefficient k at custodian j.
func (f *Fit) custodianName(j, k int) string {
	return fmt.Sprintf("theta_at[%d,%d]", j+1, k+f.firstIndex())
}

// firstIndex is the index in names of the first coefficient: 0 for an intercept.
func (f *Fit) firstIndex() int { return f.shape().P + 1 - f.shape().Q() }

// coefficients are the labels of θ.
func (f *Fit) coefficients() []string {
	var labels []string
	if f.Design.Intercept {
		labels = append(labels, "(Intercept)")
	}
	for _, c := range f.Design.Covariates {
		labels = append(labels, c.Name)
	}
	return labels
}

// jointColumns lists names and labels of what only several releases have, behind what
// one has: the spread between custodians, √Ω_kk, and each one's coefficients, where
// pooling is partial; and each latent n.
func (f *Fit) jointColumns() (names, labels []string) {
	if f.partial {
		for k, label := range f.coefficients() {
			names = append(names, fmt.Sprintf("spread[%d]", k+f.firstIndex()))
			labels = append(labels, fmt.Sprintf("spread(%s)", label))
		}
		for j, c := range f.Custodians {
			for k, label := range f.coefficients() {
				names, labels = append(names, f.custodianName(j, k)), append(labels, label+" @ "+c.Name)
			}
		}
	}
	for j := range f.Custodians {
		if name := fmt.Sprintf("n[%d]", j+1); f.draws.Index(name) >= 0 {
			names, labels = append(names, name), append(labels, "n @ "+f.Custodians[j].Name)
		}
	}
	return names, labels
}

// jointConverter maps the columns of jointColumns, which are the last of a draw.
func (f *Fit) jointConverter(u Units) func(dst, src []float64) {
	q := f.shape().Q()
	triangle := q * (q + 1) / 2
	columns, _ := f.jointColumns()
	own := len(columns) // in a draw of the method: Ω in place of the spreads
	if f.partial {
		own += triangle - q
	}
	a, _ := f.frame.ThetaMatrix()
	omega := make([]float64, q*q)
	return func(dst, src []float64) {
		dst, src = dst[len(dst)-len(columns):], src[len(src)-own:]
		if f.partial {
			expand(omega, src, q)
			for k := range q {
				dst[k] = spread(omega, a[k*q:k*q+q], k, u)
			}
			dst, src = dst[q:], src[triangle:]
			for range f.Custodians {
				copy(dst, src[:q])
				if u == Original {
					f.frame.ThetaToOriginal(dst[:q], src[:q])
				}
				dst, src = dst[q:], src[q:]
			}
		}
		copy(dst, src)
	}
}

// jointPriorVariances are those of jointColumns. In scaled units E Ω = ¼I, and τ is
// half-normal of sd ½, of variance ¼(1 − 2/π).
func (f *Fit) jointPriorVariances(u Units, theta []float64) (v []float64) {
	q := f.shape().Q()
	names, _ := f.jointColumns()
	if f.partial {
		a, _ := f.frame.ThetaMatrix()
		expected := make([]float64, q*q)
		for k := range q {
			expected[k*q+k] = model.SpreadSD * model.SpreadSD
		}
		var own []float64
		for k := range q {
			row := a[k*q : k*q+q]
			sd := spread(expected, row, k, u)
			if f.Design.Intercept && k == 0 && u == Original {
				v = append(v, math.Inf(1)) // the root of a sum over all τ
			} else {
				v = append(v, sd*sd*halfNormalVariance)
			}
			own = append(own, theta[k]+sd*sd)
		}
		for range f.Custodians {
			v = append(v, own...)
		}
	}
	for len(v) < len(names) {
		v = append(v, math.Inf(1)) // a flat prior of n
	}
	return v
}

// halfNormalVariance is the variance of |x|, x standard normal.
const halfNormalVariance = 1 - 2/math.Pi

// spread is √(aΩaᵀ)_kk, row k of a given, in the data's units, and √Ω_kk in scaled ones.
func spread(omega, row []float64, k int, u Units) float64 {
	q := len(row)
	if u == Scaled {
		return math.Sqrt(omega[k*q+k])
	}
	sum := 0.0
	for i, v := range row {
		for j, w := range row {
			sum += v * omega[i*q+j] * w
		}
	}
	return math.Sqrt(sum)
}
