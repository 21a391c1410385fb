// Package models weighs the sub-models of one release: which covariates does a response need?
//
// All models are of the same noisy sums z of all columns, with the same law of the covariates; a
// sub-model has the slopes of some covariates at 0, and of the others the prior that they have given
// that. For a model M and one of its slopes, Savage and Dickey's ratio (package ask)
//
//	p(z | M, β_j = 0) / p(z | M) = p(β_j = 0 | z, M) / p(β_j = 0 | M)
//
// is the Bayes factor of the model without it, by draws from M. So a step at a time leads from the
// model with all covariates to each other one.
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
)

// MaxCovariates is how many there may be: each more doubles the models.
const MaxCovariates = 10

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
	Covariates []Covariate `json:"covariates"`
	Unweighed  int         `json:"unweighed"` // models to which steps lead from negligible ones alone
	Unsettled  int         `json:"unsettled"` // fits whose chains did not converge
}

// Format is the first member of a Comparison's JSON.
const Format = "dpreg-models/1"

// Model is one of them. Every model has the same prior probability.
type Model struct {
	Formula     string   `json:"formula"`
	Covariates  []string `json:"covariates"`
	Probability float64  `json:"probability"`
	LogBayes    float64  `json:"log_bayes_factor"` // against the model with all covariates
	MCSE        float64  `json:"log_bayes_factor_mcse"`

	set uint // of covariates
}

// Covariate is one, with the probability of the models that have it.
type Covariate struct {
	Name        string  `json:"name"`
	Probability float64 `json:"probability"`
}

// weight is what is known of a model: the log of its Bayes factor against the whole one.
type weight struct{ log, variance float64 }

// Compare weighs all models of the release of one custodian, by o's method, prior and plan, or by
// their defaults. Each model that is not negligible is fitted; a model's weight is the mean of those
// of the steps that lead to it, each with the precision of its Monte Carlo error. progress, if not
// nil, is called after each fit.
//
// Errors: more covariates than MaxCovariates, several releases, those of dpreg.Infer.
func Compare(ctx context.Context, custodians []dpreg.Custodian, o dpreg.Options, progress func(done, atMost int)) (*Comparison, error) {
	if len(custodians) != 1 {
		return nil, errors.New("models are of one release: compare those of each by itself")
	}
	d := &custodians[0].Release.Schema
	p := len(d.Covariates)
	if p == 0 {
		return nil, fmt.Errorf("%s has no covariate to leave out: name one by the formula", d.Formula())
	}
	if p > MaxCovariates {
		return nil, fmt.Errorf("%d covariates have 2^%[1]d models, and at most %d covariates can be compared: name some by the formula", p, MaxCovariates)
	}
	if err := o.Family.Check(d); err != nil {
		return nil, err
	}
	if o.Prior == nil {
		var err error
		if o.Prior, err = o.Family.DefaultPrior(d, custodians[0].Release); err != nil {
			return nil, err
		}
	}
	c := &comparing{ctx: ctx, custodians: custodians, options: o, p: p, known: map[uint]weight{1<<p - 1: {}}, steps: map[uint][]weight{}}
	return c.run(progress)
}

// comparing is a comparison on its way.
type comparing struct {
	ctx        context.Context
	custodians []dpreg.Custodian
	options    dpreg.Options
	p          int
	known      map[uint]weight   // of models, by their sets of covariates
	steps      map[uint][]weight // that lead to models of which weights are to be found
	unsettled  int
}

func (c *comparing) run(progress func(done, atMost int)) (*Comparison, error) {
	done, best := 0, 0.0
	for size := c.p; size >= 0; size-- {
		for set := range uint(1) << c.p {
			if bits.OnesCount(set) != size {
				continue
			}
			if steps := c.steps[set]; steps != nil {
				c.known[set] = pooled(steps)
			}
			w, ok := c.known[set]
			if !ok || size == 0 || w.log < best+negligible {
				continue
			}
			best = max(best, w.log)
			if err := c.fit(set, w, best); err != nil {
				return nil, err
			}
			if done++; progress != nil {
				progress(done, 1<<c.p-1)
			}
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

// fit draws from a model of weight w, and notes the steps from it. Where a step that matters is to
// a slope of 0 that few draws come near, it draws more.
func (c *comparing) fit(set uint, w weight, best float64) error {
	o, first := c.options, c.options.Prior.Theta.Dim()-c.p
	var err error
	if o.Prior, err = pin(c.options.Prior, first, set, c.p); err != nil {
		return err
	}
	before := c.unsettled
	steps, matter, err := c.stepsFrom(set, w, best, o)
	if err == nil && matter {
		c.unsettled = before
		if o.Plan.ESS = more * cmp.Or(o.Plan.ESS, dpreg.DefaultPlan().ESS); o.Plan.Draws > 0 {
			o.Plan.Draws, o.Plan.ESS = more*o.Plan.Draws, 0
		}
		steps, _, err = c.stepsFrom(set, w, best, o)
	}
	for to, step := range steps {
		c.steps[to] = append(c.steps[to], step)
	}
	return err
}

// more is how many times as many draws are taken where too few lie near 0; matters is the log of a
// Bayes factor against the best model from which on that is worth while.
const (
	more    = 8
	matters = -5
)

// stepsFrom fits a model, and gives the weights of those without one of its slopes. matter tells
// whether one of them that may be probable is by a normal tail.
func (c *comparing) stepsFrom(set uint, w weight, best float64, o dpreg.Options) (steps map[uint]weight, matter bool, err error) {
	fit, err := dpreg.Infer(c.ctx, c.custodians, o)
	if err != nil {
		return nil, false, err
	}
	if ok, _ := fit.Converged(); !ok {
		c.unsettled++
	}
	steps = make(map[uint]weight)
	posterior := ask.Of(fit, dpreg.Scaled)
	for j := range c.p {
		if set>>j&1 == 0 {
			continue
		}
		answers, err := posterior.Ask(0, ask.Name(fit.Design.Covariates[j].Name)+" = 0")
		if err != nil {
			return nil, false, err
		}
		to := set &^ (1 << j)
		switch a := answers.Answers[0]; {
		case a.Evidence != nil:
			steps[to] = weight{w.log + math.Log(*a.Evidence), w.variance + *a.LogMCSE**a.LogMCSE}
		case a.Normal > 0: // far out, where the posterior's tail is taken for a normal one's
			steps[to] = weight{w.log + math.Log(a.Normal), w.variance + farError*farError}
			matter = matter || steps[to].log > best+matters
		}
	}
	return steps, matter, nil
}

// pin multiplies the prior of θ by normal densities at 0 of the slopes that are not in a set: with
// E of their unit vectors
//
//	Λ = Λ₀ + τEEᵀ,   Λμ = Λ₀μ₀,   τ = pinned.
//
// Where a free scale a ~ InvGamma(½ν, r) is theirs, k of its slopes have a density proportional to a^{−½k} at
// 0: given these a ~ InvGamma(½(ν+k), r), and is of the others.
func pin(prior *model.Prior, first int, set uint, p int) (*model.Prior, error) {
	out := *prior
	out.Theta = prior.Theta.Clone()
	q := out.Theta.Dim()
	right := make([]float64, q)
	dense.SymMulVec(right, prior.Theta.Precision, q, prior.Theta.Mean)
	for j := range p {
		if k := first + j; set>>j&1 == 0 {
			out.Theta.Precision[k*q+k] += pinned
		}
	}
	out.Scales = nil
	for _, s := range prior.Scales {
		if s, ok := s.Without(func(k int) bool { return k >= first && set>>(k-first)&1 == 0 }); ok {
			out.Scales = append(out.Scales, s)
		}
	}
	lower := slices.Clone(out.Theta.Precision)
	if !dense.Cholesky(lower, q) {
		return nil, errors.New("the prior of the coefficients is improper")
	}
	dense.SolveLower(lower, q, right)
	dense.SolveLowerT(lower, q, right)
	out.Theta.Mean = right
	return &out, nil
}

// result sorts the models, and adds up their probabilities.
func (c *comparing) result() *Comparison {
	d := &c.custodians[0].Release.Schema
	out := &Comparison{Format: Format, Formula: d.Formula().String(), Unweighed: 1<<c.p - len(c.known), Unsettled: c.unsettled}
	most, total := math.Inf(-1), 0.0
	for _, w := range c.known {
		most = max(most, w.log)
	}
	for set, w := range c.known {
		m := Model{set: set, Covariates: []string{}, LogBayes: w.log, MCSE: math.Sqrt(w.variance), Probability: math.Exp(w.log - most)}
		total += m.Probability
		f := d.Formula()
		f.Terms = nil
		for j, column := range d.Covariates {
			if set>>j&1 == 1 {
				f.Terms = append(f.Terms, column.Name)
				m.Covariates = append(m.Covariates, column.Name)
			}
		}
		m.Formula = f.String()
		out.Models = append(out.Models, m)
	}
	slices.SortFunc(out.Models, func(a, b Model) int {
		return cmp.Or(cmp.Compare(b.Probability, a.Probability), cmp.Compare(a.set, b.set))
	})
	for i := range out.Models {
		out.Models[i].Probability /= total
	}
	for j, column := range d.Covariates {
		in := Covariate{Name: column.Name}
		for _, m := range out.Models {
			if m.set>>j&1 == 1 {
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
