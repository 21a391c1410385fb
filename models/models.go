// Package models weighs the sub-models of one release: which covariates does a response need?
//
// A model has some of the terms of the release's formula: a factor, or its product with others, as a whole or not at
// all. All models are of the same noisy sums z of all columns, with the same law of the covariates; a
// sub-model has the slopes of some terms at 0, and of the others the prior that they have given
// that. For a model M and one of its slopes, Savage and Dickey's ratio (package ask)
//
//	p(z | M, β_j = 0) / p(z | M) = p(β_j = 0 | z, M) / p(β_j = 0 | M)
//
// is the Bayes factor of the model without it, by draws from M. So a step at a time, those of a term one after
// another, leads from the model with all terms to each other one.
package models

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"strconv"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/ask"
	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/schema"
)

// MaxTerms is how many there may be: each more doubles the models.
const MaxTerms = 10

// negligible is the log of the Bayes factor against the best model so far below which the
// sub-models of a model are not looked for from it.
const negligible = -10

// farError is what is said to be the error of a step for which too few draws lie near 0.
const farError = 1

// pinned is the precision, in scaled units, that holds a slope at 0: of sd 10⁻⁶.
const pinned = 1e12

// Comparison has the models that were weighed, the most probable one first.
type Comparison struct {
	Format     string      `json:"format"` // Format
	Formula    string      `json:"formula"`
	Models     []Model     `json:"models"`
	Covariates []Covariate `json:"covariates"` // terms
	Unweighed  int         `json:"unweighed"`  // models to which steps lead from negligible ones alone
	Unsettled  int         `json:"unsettled"`  // fits whose chains did not converge
}

// Format is the first member of a Comparison's JSON.
const Format = "dpreg-models/1"

// Model is one of them. Every model has the same prior probability.
type Model struct {
	Formula     string   `json:"formula"`
	Covariates  []string `json:"covariates"`
	Probability float64  `json:"probability"`
	LogBayes    float64  `json:"log_bayes_factor"` // against the model with all terms
	MCSE        float64  `json:"log_bayes_factor_mcse"`

	set uint // of terms
}

// Covariate is one, with the probability of the models that have it.
type Covariate struct {
	Name        string  `json:"name"`
	Probability float64 `json:"probability"`
}

// weight is what is known of a model: the log of its Bayes factor against the whole one.
type weight struct{ log, variance float64 }

// Compare weighs all models of the release of one custodian that it can select, by o's method, prior and plan, or by
// their defaults. Each model that is not negligible is fitted; a model's weight is the mean of those
// of the steps that lead to it, each with the precision of its Monte Carlo error. progress, if not
// nil, is called after the fits of each model.
//
// Errors: more terms than MaxTerms, several releases, those of dpreg.Infer.
func Compare(ctx context.Context, custodians []dpreg.Custodian, o dpreg.Options, progress func(done, atMost int)) (*Comparison, error) {
	c, err := newComparing(ctx, custodians, o)
	if err != nil {
		return nil, err
	}
	return c.run(progress)
}

func newComparing(ctx context.Context, custodians []dpreg.Custodian, o dpreg.Options) (*comparing, error) {
	if len(custodians) != 1 {
		return nil, errors.New("models are of one release: compare those of each by itself")
	}
	r := custodians[0].Release
	d := &r.Schema
	if len(d.Covariates) == 0 {
		return nil, fmt.Errorf("%s has no covariate to leave out: name one by the formula", d.Formula())
	}
	c := &comparing{ctx: ctx, custodians: custodians, options: o, steps: map[uint][]weight{}}
	c.whole, c.of = d.Whole()
	p := len(c.whole.Terms)
	if p > MaxTerms {
		return nil, fmt.Errorf("%d terms have 2^%[1]d models, and at most %d terms can be compared: name some by the formula", p, MaxTerms)
	}
	if err := o.Family.Check(d); err != nil {
		return nil, err
	}
	if o.Prior == nil {
		var err error
		if c.options.Prior, err = o.Family.DefaultPrior(d, r); err != nil {
			return nil, err
		}
	}
	all := uint(1)<<p - 1
	c.known = map[uint]weight{all: {}}
	for set := range all + 1 {
		if _, err := r.Select(c.formula(set).String()); err == nil {
			c.models = append(c.models, set)
		} else if set == all {
			return nil, err
		}
	}
	slices.SortStableFunc(c.models, func(a, b uint) int { return bits.OnesCount(b) - bits.OnesCount(a) })
	return c, nil
}

// comparing is a comparison on its way. Sets are of terms.
type comparing struct {
	ctx        context.Context
	custodians []dpreg.Custodian
	options    dpreg.Options
	whole      schema.Formula
	of         []int  // the term of each covariate
	models     []uint // that the release selects, those of more terms first
	known      map[uint]weight
	steps      map[uint][]weight // that lead to models of which weights are to be found
	unsettled  int
}

// formula is that of a model.
func (c *comparing) formula(set uint) schema.Formula {
	f := c.whole
	f.Terms = nil
	for i, name := range c.whole.Terms {
		if set>>i&1 == 1 {
			f.Terms = append(f.Terms, name)
		}
	}
	return f
}

func (c *comparing) run(progress func(done, atMost int)) (*Comparison, error) {
	best := 0.0
	for done, set := range c.models {
		if steps := c.steps[set]; steps != nil {
			c.known[set] = pooled(steps)
		}
		if w, ok := c.known[set]; ok && w.log >= best+negligible {
			best = max(best, w.log)
			if err := c.stepsFrom(set, w, best); err != nil {
				return nil, err
			}
		}
		if progress != nil {
			progress(done+1, len(c.models))
		}
	}
	return c.result(), nil
}

// pooled is the mean of what several steps tell of a model, by their precision.
func pooled(steps []weight) weight {
	var sum, precision float64
	for _, s := range steps {
		sum += s.log / s.variance
		precision += 1 / s.variance
	}
	return weight{sum / precision, 1 / precision}
}

// stepsFrom notes the weights of the models without one of the terms of a model of weight w. Between are those
// without the first columns of the term.
func (c *comparing) stepsFrom(set uint, w weight, best float64) error {
	in := func(j int) bool { return set>>c.of[j]&1 == 1 }
	first := &pinnedAt{c: c, in: in}
	for term := range c.whole.Terms {
		to := set &^ (1 << term)
		if to == set || !slices.Contains(c.models, to) {
			continue
		}
		at, step := first, w
		for j, of := range c.of {
			if of != term || math.IsInf(step.log, -1) {
				continue
			}
			var err error
			if step, err = at.without(j, step, best); err != nil {
				return err
			}
			at = &pinnedAt{c: c, in: func(k int) bool { return in(k) && (c.of[k] != term || k > j) }}
		}
		if !math.IsInf(step.log, -1) {
			c.steps[to] = append(c.steps[to], step)
		}
	}
	return nil
}

// more is how many times as many draws are taken where too few lie near 0; matters is the log of a
// Bayes factor against the best model from which on that is worth while.
const (
	more    = 8
	matters = -5
)

// pinnedAt is the model of all columns with slopes of 0 but of those that are in it.
type pinnedAt struct {
	c         *comparing
	in        func(j int) bool
	draws     [2]*ask.Posterior // of the plan, and more; nil: not yet
	unsettled bool              // the chains of the last fit
}

// fit draws from the model, once.
func (m *pinnedAt) fit(long int) (*ask.Posterior, error) {
	if m.draws[long] != nil {
		return m.draws[long], nil
	}
	o, p := m.c.options, len(m.c.of)
	var err error
	if o.Prior, err = pin(o.Prior, o.Prior.Theta.Dim()-p, p, m.in); err != nil {
		return nil, err
	}
	if long > 0 {
		if o.Plan.ESS = more * cmp.Or(o.Plan.ESS, dpreg.DefaultPlan().ESS); o.Plan.Draws > 0 {
			o.Plan.Draws, o.Plan.ESS = more*o.Plan.Draws, 0
		}
	}
	fit, err := dpreg.Infer(m.c.ctx, m.c.custodians, o)
	if err != nil {
		return nil, err
	}
	if m.unsettled {
		m.c.unsettled--
	}
	settled, _ := fit.Converged()
	if m.unsettled = !settled; m.unsettled {
		m.c.unsettled++
	}
	m.draws[long] = ask.Of(fit, dpreg.Scaled)
	return m.draws[long], nil
}

// without is the weight of the model without a column, of one of weight w, −∞ where it is not known. Where few draws of one
// that matters come near 0, it draws more; far out the posterior's tail is taken for a normal one's.
func (m *pinnedAt) without(j int, w weight, best float64) (step weight, err error) {
	for long := range m.draws {
		posterior, err := m.fit(long)
		if err != nil {
			return w, err
		}
		answers, err := posterior.Ask(0, ask.Name(posterior.Design.Covariates[j].Name)+" = 0")
		if err != nil {
			return w, err
		}
		a := answers.Answers[0]
		if a.Evidence != nil {
			return weight{w.log + math.Log(*a.Evidence), w.variance + *a.LogMCSE**a.LogMCSE}, nil
		}
		step = weight{w.log + math.Log(a.Normal), w.variance + farError*farError}
		if !(step.log > best+matters) {
			break
		}
	}
	return step, nil
}

// pin multiplies the prior of θ by normal densities at 0 of the slopes that are not in a model: with
// E of their unit vectors
//
//	Λ = Λ₀ + τEEᵀ,   Λμ = Λ₀μ₀,   τ = pinned.
//
// Where a free scale a ~ InvGamma(½ν, r) is theirs, k of its slopes have a density proportional to a^{−½k} at
// 0: given these a ~ InvGamma(½(ν+k), r), and is of the others.
func pin(prior *model.Prior, first, p int, in func(j int) bool) (*model.Prior, error) {
	out := *prior
	out.Theta = prior.Theta.Clone()
	q := out.Theta.Dim()
	right := make([]float64, q)
	dense.SymMulVec(right, prior.Theta.Precision, q, prior.Theta.Mean)
	for j := range p {
		if k := first + j; !in(j) {
			out.Theta.Precision[k*q+k] += pinned
		}
	}
	out.Scales = nil
	for _, s := range prior.Scales {
		if s, ok := s.Without(func(k int) bool { return k >= first && !in(k-first) }); ok {
			out.Scales = append(out.Scales, s)
		}
	}
	lower := slices.Clone(out.Theta.Precision)
	if !dense.Cholesky(lower, q) {
		return nil, errors.New("the prior of the coefficients is improper")
	}
	dense.Solve(lower, q, right)
	out.Theta.Mean = right
	return &out, nil
}

// result sorts the models, and adds up their probabilities.
func (c *comparing) result() *Comparison {
	out := &Comparison{Format: Format, Formula: c.whole.String(), Unweighed: len(c.models) - len(c.known), Unsettled: c.unsettled}
	most, total := math.Inf(-1), 0.0
	for _, w := range c.known {
		most = max(most, w.log)
	}
	for set, w := range c.known {
		f := c.formula(set)
		m := Model{Formula: f.String(), Covariates: slices.Concat([]string{}, f.Terms), LogBayes: w.log, MCSE: math.Sqrt(w.variance), Probability: math.Exp(w.log - most), set: set}
		total += m.Probability
		out.Models = append(out.Models, m)
	}
	slices.SortFunc(out.Models, func(a, b Model) int {
		return cmp.Or(cmp.Compare(b.Probability, a.Probability), cmp.Compare(a.set, b.set))
	})
	for i := range out.Models {
		out.Models[i].Probability /= total
	}
	for i, name := range c.whole.Terms {
		in := Covariate{Name: name}
		for _, m := range out.Models {
			if m.set>>i&1 == 1 {
				in.Probability += m.Probability
			}
		}
		out.Covariates = append(out.Covariates, in)
	}
	return out
}

// WriteJSON writes the comparison, numbers in full precision.
func (c *Comparison) WriteJSON(w io.Writer) error { return number.Lines(w, c) }

// WriteCSV writes a line for each model.
func (c *Comparison) WriteCSV(w io.Writer) error {
	records := [][]string{{"formula", "covariates", "probability", "log_bayes_factor", "log_bayes_factor_mcse"}}
	for _, m := range c.Models {
		records = append(records, []string{m.Formula, strconv.Itoa(len(m.Covariates)), number.CSV(m.Probability), number.CSV(m.LogBayes), number.CSV(m.MCSE)})
	}
	return csv.NewWriter(w).WriteAll(records)
}
