package dpreg

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dpreg/dpreg/gibbs"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
)

// From here on a conclusion is said to have moved.
const (
	movedShift = 0.5  // of an estimate, in posterior sds
	movedWidth = 1.25 // of an interval: the ratio of widths, either way round
)

// WhatIf says how a fit answers to what it took for granted.
type WhatIf struct {
	Units    Units
	Level    float64
	Variants []Variant
}

// Variant is the fit once more, with one thing changed.
type Variant struct {
	Name    string // what was changed, in words
	Method  string
	Effects []Effect // of each θ, in the order of Draws
	Reason  string   // why its chains are not to be trusted; empty where they are
}

// Effect compares a coefficient of a variant with that of the fit.
type Effect struct {
	Name, Label string
	Shift       float64 // (mean of the variant − mean) / sd of the fit
	ShiftError  float64 // its Monte Carlo standard error
	Width       float64 // width of the interval over that of the fit
	Sign        int     // of the interval: -1 below 0, 1 above it, 0 holds it
	Changed     bool    // the sign is not that of the fit's interval
}

// Moved tells whether the coefficient is another one in effect: its sign at the
// level changed, its estimate moved by more than half a posterior sd, or its interval
// is wider or narrower by more than a quarter of the narrower one.
func (e Effect) Moved() bool {
	return e.Changed || !(math.Abs(e.Shift) <= movedShift) || !(e.Width <= movedWidth && e.Width >= 1/movedWidth)
}

// Moved tells whether any coefficient moves under any variant.
func (w *WhatIf) Moved() bool {
	for _, v := range w.Variants {
		for _, e := range v.Effects {
			if e.Moved() {
				return true
			}
		}
	}
	return false
}

// WhatIfOptions of Fit.WhatIf. The zero value serves.
type WhatIfOptions struct {
	Units Units   // of the coefficients; empty is Original
	Level float64 // of the intervals; 0 is posterior.DefaultLevel
	// Progress, if not nil, is called after each variant.
	Progress func(done, total int)
}

// WhatIf repeats the fit with one thing of the prior changed at a time, and with
// other models of the covariates where Methods has them, from the fit's own plan
// and seed:
//
//   - the prior sd of θ a third and three times as large (Λ₀ times 9 and 1/9),
//   - the prior scale of σ three times as large (b₀ times 9; Λ₀ too where θ's sd is in σ),
//   - the prior sds of the covariates three times as large (Ψ₀ times 9), and with them that
//     of their mean,
//   - another model of the covariates: for methods that learn their law,
//     gibbs-ss-prior with the law of x that the prior states or, where it states none,
//     with the normal law at the posterior means of μ_x and T; for methods that take
//     the moments of x for known, DefaultMethod; for several releases, covariates
//     shared where they were separate, and the other way round.
//
// It costs no privacy. Errors: a fit without a release, those of Infer.
func (f *Fit) WhatIf(ctx context.Context, o WhatIfOptions) (*WhatIf, error) {
	if f.FromRows() {
		return nil, errors.New("what if needs a release: a fit of the rows themselves has none")
	}
	w := &WhatIf{Units: o.Units, Level: o.Level}
	if w.Units == "" {
		w.Units = Original
	}
	if w.Level == 0 {
		w.Level = posterior.DefaultLevel
	}
	base := f.Summary(w.Units, w.Level)
	questions := f.questions()
	for i, q := range questions {
		_, pooling := f.Sharing()
		other, err := InferJointly(ctx, f.custodians(), Options{Method: q.method, Kernel: q.kernel, Covariates: q.covariates, Pooling: pooling, SameRows: f.sameRows,
			ModelClamping: f.ModelClamping && q.method == f.Method, Prior: q.prior, Plan: f.silentPlan()})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", q.name, err)
		}
		v := Variant{Name: q.name, Method: other.Method, Effects: effects(base, other.Summary(w.Units, w.Level), f.shape().Q())}
		if ok, reason := other.Converged(); !ok {
			v.Reason = reason
		}
		w.Variants = append(w.Variants, v)
		if o.Progress != nil {
			o.Progress(i+1, len(questions))
		}
	}
	return w, nil
}

// silentPlan is the fit's plan, without its reports.
func (f *Fit) silentPlan() mcmc.Plan {
	p := f.Plan
	p.Progress, p.Expect = nil, nil
	return p
}

// effects compares the first q parameters of two summaries.
func effects(base, other *posterior.Summary, q int) []Effect {
	out := make([]Effect, q)
	for i := range out {
		a, b := base.Parameters[i], other.Parameters[i]
		out[i] = Effect{
			Name: a.Name, Label: a.Label,
			Shift:      (b.Mean - a.Mean) / a.SD,
			ShiftError: math.Hypot(a.MCSEMean, b.MCSEMean) / a.SD,
			Width:      (b.Upper - b.Lower) / (a.Upper - a.Lower),
			Sign:       sign(b),
		}
		out[i].Changed = out[i].Sign != sign(a)
	}
	return out
}

// sign says on which side of 0 an interval lies.
func sign(p posterior.Parameter) int {
	switch {
	case p.Lower > 0:
		return 1
	case p.Upper < 0:
		return -1
	}
	return 0
}

// question is one thing to change.
type question struct {
	name, method, kernel, covariates string
	prior                            *model.Prior
}

func (f *Fit) questions() []question {
	var all []question
	covariates, _ := f.Sharing()
	ask := func(name string, theta, sigma2, x float64) {
		p := *f.Prior
		p.Theta, p.Covariates, p.Scales = p.Theta.Clone(), p.Covariates.Clone(), slices.Clone(p.Scales)
		scale(p.Theta.Precision, theta)
		for i := range p.Scales {
			p.Scales[i].Precision = slices.Clone(p.Scales[i].Precision)
			scale(p.Scales[i].Precision, theta)
		}
		p.Theta.Scale *= sigma2
		scale(p.Covariates.Scale, x)
		all = append(all, question{name, f.Method, f.Kernel, covariates, &p})
	}
	ask("coefficients' prior sd a third", 9, 1, 1)
	ask("coefficients' prior sd tripled", 1./9, 1, 1)
	if f.Prior.Unscaled {
		ask("sigma's prior scale tripled", 1, 9, 1)
	} else {
		ask("sigma's prior scale tripled", 9, 9, 1)
	}
	if Checkable(f.Method) || Traits(f.Method).Covariates == model.StatedCovariates && f.Prior.X == nil {
		ask("covariates' prior sd tripled", 1, 1, 9)
	}
	return append(all, f.xModels()...)
}

// xModels asks what other models of the covariates would say.
func (f *Fit) xModels() []question {
	switch {
	case Traits(f.Method).Covariates.Known():
		return []question{{"covariates' moments unknown", DefaultMethod, "", "", f.Prior}}
	case !Checkable(f.Method) || f.sameRows:
		return nil
	case f.shared:
		return []question{{"each custodian's covariates their own", f.Method, f.Kernel, SeparateCovariates, f.Prior}}
	case f.Custodians != nil:
		return []question{{"one law of all covariates", f.Method, f.Kernel, SharedCovariates, f.Prior}}
	}
	name, prior := "covariates' law as the prior states it", *f.Prior
	if prior.X == nil {
		name, prior.X = "covariates' moments known, as estimated", f.estimatedX()
	}
	return []question{{name, gibbs.Prior{}.Name(), "", "", &prior}}
}

// estimatedX is the normal law at the posterior means of μ_x and T.
func (f *Fit) estimatedX() model.XLaw {
	p, q := f.shape().P, f.shape().Q()
	mean := make([]float64, p+p*(p+1)/2)
	total := float64(f.draws.NumChains() * f.draws.NumDraws())
	for j := range mean {
		for _, chain := range f.draws.Column(q + 1 + j) {
			for _, v := range chain {
				mean[j] += v / total
			}
		}
	}
	covariance := make([]float64, p*p)
	model.Expand(covariance, mean[p:], p)
	return model.NormalX{Mean: mean[:p], Covariance: covariance}
}

func scale(x []float64, by float64) {
	for i := range x {
		x[i] *= by
	}
}
