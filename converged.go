package dpreg

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/posterior"
)

// Limits of Converged.
const (
	ampleESS   = 1000 // from here R-hat is precise enough for strictRHat
	strictRHat = 1.01
	laxRHat    = 1.02
	leastESS   = 400 // 100 for each of four chains
)

// Converged tells whether the draws may be trusted, and if not, why: every diagnostic
// that failed, with its limit and the parameter that is farthest beyond it. They may not
// be where R-hat of any parameter is above 1.01, or where the smallest effective sample
// size, bulk or tail, is below 400, unless the plan set the number of draws: Vehtari et
// al. (2021), Bayesian Analysis 16(2), section 4.
//
// Where that size is below 1000 the limit of R-hat is 1.02, since R-hat of chains that
// agree is then that large by chance: the mean of each of the 2m halves of m chains has
// variance W/e, e = ESS/2m, so that R-hat² − 1 ≈ B/(NW) ≈ χ²_{2m−1}/((2m−1)e). Of four
// chains R-hat is 1.01 on average at an ESS of 400, and above 1.01 once in seventy times at
// 1000. Draws of non-private are independent: there is nothing to fail.
func (f *Fit) Converged() (ok bool, reason string) {
	reason = f.failure()
	return reason == "", reason
}

// diagnose is the reason of Converged; empty where there is none.
func (f *Fit) diagnose() string {
	if f.Method == nonPrivate {
		return ""
	}
	parameters := f.checked()
	var failed []string
	if at := slices.IndexFunc(parameters, func(p posterior.Parameter) bool { return p.Undefined != "" }); at >= 0 {
		failed = append(failed, fmt.Sprintf("R-hat or ESS of %s does not exist: %s; give more warm-up and draws", parameters[at].Label, parameters[at].Undefined))
	}
	worst, least := posterior.Worst(parameters)
	if worst == nil {
		return failed[0]
	}
	limit, of := limitOfRHat(least), "Vehtari et al. 2021"
	if limit == laxRHat {
		of = fmt.Sprintf("as ESS is below %d and R-hat less precise; else %v, %s", ampleESS, strictRHat, of)
	}
	if worst.RHat > limit {
		failed = append(failed, fmt.Sprintf("R-hat of %s is %.3f, above %v (%s): the chains do not agree; give more warm-up and draws", worst.Label, worst.RHat, limit, of))
	}
	if f.Plan.Draws == 0 && least.ESS() < leastESS {
		failed = append(failed, fmt.Sprintf("the effective sample size of %s is %.0f, below %d (Vehtari et al. 2021); give more draws", least.Label, least.ESS(), leastESS))
	}
	return strings.Join(failed, "; ")
}

func limitOfRHat(least *posterior.Parameter) float64 {
	if least.ESS() < ampleESS {
		return laxRHat
	}
	return strictRHat
}

// untilMixed is the plan, of which a run by ESS goes on where Converged would fail of R-hat,
// or of the size of a parameter that the sampler does not see: the intercept in the data's
// units. A plan for fewer than leastESS fails of that anyway, and is as short as it asks.
func (f *Fit) untilMixed() mcmc.Plan {
	plan := f.Plan
	if plan.ESS >= leastESS {
		plan.Mixed = func(draws *posterior.Draws) bool {
			soFar := *f
			soFar.frame, soFar.draws = f.Design.Frame(), draws
			worst, least := posterior.Worst(soFar.findChecked())
			return worst == nil || worst.RHat <= limitOfRHat(least) && least.ESS() >= leastESS
		}
	}
	return plan
}

// findChecked finds the parameters that Converged looks at. Diagnostics are invariant to
// monotone maps of a parameter, so that units matter for the intercept alone, and both of
// its are among them.
func (f *Fit) findChecked() []posterior.Parameter {
	all := posterior.Summarise(f.Draws(Original), posterior.DefaultLevel).Parameters
	for i, label := range f.labels(false) {
		all[i].Label = label
	}
	if f.Design.Intercept {
		scaled := f.draws.Map([]string{"the intercept in scaled units"}, func(dst, src []float64) { dst[0] = src[0] })
		all = append(all, posterior.Summarise(scaled, posterior.DefaultLevel).Parameters...)
	}
	return all
}
