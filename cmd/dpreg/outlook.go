package main

import (
	"io"
	"math"
	"strconv"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

// littleLearned is the share of the slopes' prior variance below which a release tells next
// to nothing; of as little plan expects less than a tenth.
const littleLearned = 0.05

// enoughLearned is that of which is said what it would take, if no ε above largeEpsilon,
// which would hardly protect anybody.
const (
	enoughLearned = 0.5
	largeEpsilon  = 10
)

// foretell says, before ε is spent, where next to nothing is to be learned, and what would
// help. It knows what is public: the columns' number, the noise, the prior, and how many rows
// there are, if that is public or was stated.
func (o *order) foretell(stderr io.Writer, rows int64) {
	if o.privacy.Neighbours == release.AddRemove {
		if rows = 0; o.bounds != nil {
			rows = o.bounds.rows
		}
	}
	learned := o.learned(o.design)
	if rows == 0 || learned == nil {
		return
	}
	n, epsilon := float64(rows), o.privacy.Epsilon
	now := learned(n, epsilon)
	if now >= littleLearned {
		return
	}
	help := wants(learned, n, epsilon)
	if o.prior == nil && len(o.design.Covariates) > 1 {
		one := *o.design
		one.Covariates = one.Covariates[:1]
		help += "; with one covariate " + wants(o.learned(&one), n, epsilon)
	}
	less := "less than 0.01"
	if now >= 1e-4 {
		less = "about " + rounded(100*now)
	}
	note(stderr, "warning: next to nothing will be learned: the slopes' posterior variances would be %s %% below the prior's (`dpreg plan` simulates it). To halve them takes %s",
		less, help)
}

// learned gives the share that is learned of a design as a function of rows and ε; nil where
// there is no prior to compare with.
func (o *order) learned(d *schema.Design) func(rows, epsilon float64) float64 {
	outlook, err := dpreg.NewOutlook(d, o.prior)
	if err != nil {
		return nil
	}
	return func(rows, epsilon float64) float64 {
		other := *o
		other.design, other.privacy.Epsilon = d, epsilon
		noise, err := other.calibrate()
		if err != nil {
			return 1 // it is not for this to say
		}
		return outlook.Learned(rows, noise)
	}
}

// wants says how many rows, or which ε that still protects, it takes for enough to be learned.
func wants(learned func(rows, epsilon float64) float64, rows, epsilon float64) string {
	text := "more than a billion rows"
	if n := least(rows, func(n float64) bool { return learned(n, epsilon) >= enoughLearned }); n <= 1e9 {
		text = rounded(n) + " rows or so"
	}
	text += " at this ε"
	if enough := func(e float64) bool { return learned(rows, e) >= enoughLearned }; enough(largeEpsilon) {
		text += ", or ε = " + rounded(least(epsilon, enough))
	}
	return text
}

// least bisects, to about a tenth, for the least number above low that is enough, if there
// can be as many rows.
func least(low float64, enough func(float64) bool) float64 {
	high := 2 * low
	for high < ssp.MaxRows && !enough(high) {
		low, high = high, 2*high
	}
	for high > 1.1*low {
		if middle := math.Sqrt(low * high); enough(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// rounded keeps two digits.
func rounded(x float64) string {
	short, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 2, 64), 64)
	return strconv.FormatFloat(short, 'f', -1, 64)
}
