package dpreg

import (
	"fmt"
	"math"

	"github.com/dpreg/dpreg/posterior"
)

// Thresholds of Converged.
const (
	ampleESS   = 1000 // from here R-hat is precise enough for strictRHat
	strictRHat = 1.01
	laxRHat    = 1.02
	leastESS   = 400 // 100 for each of four chains
)

// Converged tells whether the draws may be trusted, and if not, why. They may
// not where R-hat of any parameter is above 1.01 (above 1.02 where the smallest
// effective sample size, bulk or tail, is below 1000), or where that size is
// below 400, unless the plan set the number of draws. Vehtari et al. (2021),
// Bayesian Analysis 16(2), give 1.01 and 400.
func (f *Fit) Converged() (ok bool, reason string) {
	worst, least := f.diagnostics()
	limit := strictRHat
	if least.value < ampleESS {
		limit = laxRHat
	}
	switch {
	case math.IsNaN(worst.value):
		return false, fmt.Sprintf("R-hat of %s does not exist: too few draws, or draws that do not move; give more draws", worst.label)
	case worst.value > limit:
		return false, fmt.Sprintf("R-hat of %s is %.3f, above %v: the chains do not agree; give more warm-up and draws", worst.label, worst.value, limit)
	case f.Plan.Draws == 0 && least.value < leastESS:
		return false, fmt.Sprintf("the effective sample size of %s is %.0f, below %d; give more draws", least.label, least.value, leastESS)
	}
	return true, ""
}

// extreme is the worst value of a diagnostic, and whose it is.
type extreme struct {
	value float64
	label string
}

// diagnostics finds the largest R-hat and the smallest effective sample size.
// They are invariant to monotone maps of a parameter, so that units matter for
// the intercept alone, and both of its are looked at. A NaN wins.
func (f *Fit) diagnostics() (worst, least extreme) {
	worst, least = extreme{value: math.Inf(-1)}, extreme{value: math.Inf(1)}
	look := func(chains [][]float64, label string) {
		if r := posterior.RHat(chains); !(r <= worst.value) && !math.IsNaN(worst.value) {
			worst = extreme{r, label}
		}
		for _, e := range []float64{posterior.ESSBulk(chains), posterior.ESSTail(chains)} {
			if e < least.value {
				least = extreme{e, label}
			}
		}
	}
	original := f.Draws(Original)
	for i, label := range f.labels() {
		look(original.Column(i), label)
	}
	if f.Design.Intercept {
		look(f.draws.Column(0), "the intercept in scaled units")
	}
	return worst, least
}
