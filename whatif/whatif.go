// Package whatif asks how a fit answers to what it took for granted.
package whatif

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/go-json-experiment/json"
	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/gibbs"
	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
)

// From here on a conclusion is said to have moved.
const (
	movedShift = 0.5  // of an estimate, in posterior sds
	movedWidth = 1.25 // of an interval: the ratio of widths, either way round
)

// Answers say how a fit answers to what it took for granted.
type Answers struct {
	Units    dpreg.Units `json:"units"`
	Level    float64     `json:"level"`
	Moved    bool        `json:"moved"` // any coefficient, under any variant
	Variants []Variant   `json:"variants"`
}

// MarshalJSON writes the member "what_if" of a summary.
func (w *Answers) MarshalJSON() ([]byte, error) {
	type plain Answers
	return json.Marshal((*plain)(w), number.Null)
}

// Variant is the fit once more, with one thing changed.
type Variant struct {
	Name      string   `json:"name"` // what was changed, in words
	Method    string   `json:"method"`
	Converged bool     `json:"converged"`
	Reason    string   `json:"reason,omitzero"` // why its chains are not to be trusted; empty where they are
	Effects   []Effect `json:"effects"`         // of each θ, in the order of Draws
}

// Effect compares a coefficient of a variant with that of the fit.
type Effect struct {
	Name       string  `json:"name"`
	Label      string  `json:"label"`
	Shift      float64 `json:"shift"`        // (mean of the variant − mean) / sd of the fit
	ShiftError float64 `json:"shift_mcse"`   // its Monte Carlo standard error
	Width      float64 `json:"width_ratio"`  // width of the interval over that of the fit
	Sign       int     `json:"sign"`         // of the interval: -1 below 0, 1 above it, 0 holds it
	Changed    bool    `json:"sign_changed"` // the sign is not that of the fit's interval
	Moved      bool    `json:"moved"`        // the coefficient is another one in effect
}

// moved tells whether a coefficient is another one in effect: its sign at the
// level changed, its estimate moved by more than half a posterior sd, or its interval
// is wider or narrower by more than a quarter of the narrower one.
func (e Effect) moved() bool {
	return e.Changed || !(math.Abs(e.Shift) <= movedShift) || !(e.Width <= movedWidth && e.Width >= 1/movedWidth)
}

// Options of Of. The zero value serves.
type Options struct {
	Units dpreg.Units // of the coefficients; empty is Original
	Level float64     // of the intervals; 0 is posterior.DefaultLevel
	// Progress, if not nil, is called after each variant.
	Progress func(done, total int)
}

// Of repeats the fit with one thing of the prior changed at a time, and with
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
func Of(ctx context.Context, f *dpreg.Fit, o Options) (*Answers, error) {
	if f.FromRows() {
		return nil, errors.New("what if needs a release: a fit of the rows themselves has none")
	}
	w := &Answers{Units: cmp.Or(o.Units, dpreg.Original), Level: cmp.Or(o.Level, posterior.DefaultLevel)}
	base := f.Summary(w.Units, w.Level)
	questions := questionsOf(f)
	for i, q := range questions {
		again := f.Options()
		again.Method, again.Kernel, again.Covariates, again.Prior = q.method, q.kernel, q.covariates, q.prior
		again.ModelClamping = f.ModelClamping && q.method == f.Method
		other, err := dpreg.Infer(ctx, f.Custodians, again)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", q.name, err)
		}
		v := Variant{Name: q.name, Method: other.Method, Effects: effects(base, other.Summary(w.Units, w.Level), f.Prior.Theta.Dim())}
		if v.Converged, v.Reason = other.Converged(); v.Converged {
			v.Reason = ""
		}
		w.Moved = w.Moved || slices.ContainsFunc(v.Effects, func(e Effect) bool { return e.Moved })
		w.Variants = append(w.Variants, v)
		if o.Progress != nil {
			o.Progress(i+1, len(questions))
		}
	}
	return w, nil
}

// effects compares the first q parameters of two summaries.
func effects(base, other *posterior.Summary, q int) []Effect {
	out := make([]Effect, q)
	for i := range out {
		a, b := base.Parameters[i], other.Parameters[i]
		e := Effect{
			Name: a.Name, Label: a.Label,
			Shift:      (b.Mean - a.Mean) / a.SD,
			ShiftError: math.Hypot(a.MCSEMean, b.MCSEMean) / a.SD,
			Width:      (b.Upper - b.Lower) / (a.Upper - a.Lower),
			Sign:       sign(b), Changed: sign(b) != sign(a),
		}
		e.Moved = e.moved()
		out[i] = e
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

func questionsOf(f *dpreg.Fit) []question {
	var all []question
	covariates, _ := f.Sharing()
	ask := func(name string, theta, sigma2, x float64) {
		p := f.Prior.Clone()
		floats.Scale(theta, p.Theta.Precision)
		for _, s := range p.Scales {
			floats.Scale(theta, s.Precision)
		}
		p.Theta.Scale *= sigma2
		floats.Scale(x, p.Covariates.Scale)
		all = append(all, question{name, f.Method, f.Kernel, covariates, p})
	}
	ask("coefficients' prior sd a third", 9, 1, 1)
	ask("coefficients' prior sd tripled", 1./9, 1, 1)
	switch {
	case f.Prior.Linked: // no sigma
	case f.Prior.Unscaled:
		ask("sigma's prior scale tripled", 1, 9, 1)
	default:
		ask("sigma's prior scale tripled", 9, 9, 1)
	}
	if len(f.Design.Covariates) == 0 {
		return all
	}
	if dpreg.Checkable(f.Method) || dpreg.Traits(f.Method).Covariates == model.StatedCovariates && f.Prior.X == nil {
		ask("covariates' prior sd tripled", 1, 1, 9)
	}
	return append(all, xModels(f)...)
}

// xModels asks what other models of the covariates would say.
func xModels(f *dpreg.Fit) []question {
	covariates, _ := f.Sharing()
	switch {
	case f.Family != model.Normal || f.Custodians[0].Release.Levels != nil: // of which no method has another
		return nil
	case dpreg.Traits(f.Method).Covariates.Known():
		return []question{{"covariates' moments unknown", dpreg.DefaultMethod, "", "", f.Prior}}
	case !dpreg.Checkable(f.Method) || f.SameRows():
		return nil
	case covariates == dpreg.SharedCovariates:
		return []question{{"each custodian's covariates their own", f.Method, f.Kernel, dpreg.SeparateCovariates, f.Prior}}
	case covariates == dpreg.SeparateCovariates:
		return []question{{"one law of all covariates", f.Method, f.Kernel, dpreg.SharedCovariates, f.Prior}}
	}
	if f.Custodians[0].Release.Frame != nil {
		return nil // moments that are known are of the box
	}
	name, prior := "covariates' law as the prior states it", *f.Prior
	if prior.X == nil {
		name, prior.X = "covariates' moments known, as estimated", estimatedX(f)
	}
	return []question{{name, gibbs.Method{Moments: gibbs.Prior}.Name(), "", "", &prior}}
}

// estimatedX is the normal law at the posterior means of μ_x and T.
func estimatedX(f *dpreg.Fit) model.XLaw {
	draws, p := f.Draws(dpreg.Scaled), len(f.Design.Covariates)
	mean := func(name string) (mean float64) {
		total := float64(draws.NumChains() * draws.NumDraws())
		for _, chain := range draws.Column(draws.Index(name)) {
			for _, v := range chain {
				mean += v / total
			}
		}
		return mean
	}
	x := model.NormalX{Mean: make([]float64, p), Covariance: make([]float64, p*p)}
	for j := range p {
		x.Mean[j] = mean(fmt.Sprintf("mu_x[%d]", j+1))
		for k := j; k < p; k++ {
			x.Covariance[j*p+k] = mean(fmt.Sprintf("tau[%d,%d]", j+1, k+1))
			x.Covariance[k*p+j] = x.Covariance[j*p+k]
		}
	}
	return x
}
