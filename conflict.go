package dpreg

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/dpreg/dpreg/internal/reference"
	"github.com/dpreg/dpreg/posterior"
)

// farFromPrior is the distance in prior sds from which an estimate and its prior disagree.
const farFromPrior = 2

// conflictWarnings name the coefficients whose posterior median lies more than farFromPrior
// prior sds from the prior mean, where the prior may pull the estimate. An sd is the interquartile range of
// priorWidths in those of a normal law, in the data's units.
//
// Data from the prior have such a coefficient once in twenty-two times, less where noise
// keeps the median near the prior mean. Under the default prior a slope has to be five times
// sd_y/sd_x, which it cannot be but where it shares 24/25 of its column with others.
func (f *Fit) conflictWarnings() (warnings []string) {
	draws, given := f.Draws(Original), f.coefficientSDs(Original)
	for k, label := range f.coefficients() {
		x := slices.Concat(draws.Column(k)...)
		slices.Sort(x)
		median := posterior.Quantile(x, 0.5)
		sd := 2 * reference.Quantile(0.75, reference.Column(given, k)) / posterior.NormalIQR
		distance := math.Abs(median-f.original.Theta.Mean[k]) / sd
		if !(distance > farFromPrior) {
			continue
		}
		name := "the slope of " + label
		if f.Design.Intercept && k == 0 {
			name = "the intercept"
		}
		wider, _ := strconv.ParseFloat(fmt.Sprintf("%.2g", 2*math.Abs(median)), 64)
		warnings = append(warnings, fmt.Sprintf("%s: the estimate lies %.1f prior standard deviations from the prior mean, and the prior may pull it: --prior-sd '%s=%s' states a wider one", name, distance, label, strconv.FormatFloat(wider, 'f', -1, 64)))
	}
	return warnings
}
