package main

import (
	"io"
	"math"
	"strconv"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/release"
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
func (o *order) foretell(stderr io.Writer, rows int64) error {
	if o.privacy.Neighbours == release.AddRemove {
		if rows = 0; o.bounds != nil {
			rows = o.bounds.rows
		}
	}
	if rows == 0 {
		return nil
	}
	learned, err := o.learned()
	if err != nil {
		return err
	}
	now := learned(float64(rows), 1)
	if now >= littleLearned {
		return nil
	}
	help := wants(learned, rows, o.privacy.Epsilon)
	if p := len(o.design.Covariates); p > 1 && o.prior == nil {
		one, design := *o, *o.design
		one.design, design.Covariates = &design, design.Covariates[:1]
		if learned, err = one.learned(); err != nil {
			return err
		}
		help += "; with one covariate " + wants(learned, rows, o.privacy.Epsilon)
	}
	note(stderr, "warning: next to nothing will be learned: about %s of the slopes' prior variance would go (`dpreg plan` simulates it). A half takes %s",
		percent(now), help)
	return nil
}

// learned gives the share that is learned as a function of rows and of a factor to ε.
func (o *order) learned() (func(rows, factor float64) float64, error) {
	outlook, err := dpreg.NewOutlook(o.design, o.prior)
	if err != nil {
		return nil, usage(err)
	}
	return func(rows, factor float64) float64 {
		other := *o
		other.privacy.Epsilon *= factor
		noise, err := other.calibrate()
		if err != nil {
			return math.NaN()
		}
		return outlook.Learned(rows, noise)
	}, nil
}

// wants says how many rows, or which ε that still protects, it takes for enough to be learned.
func wants(learned func(rows, factor float64) float64, rows int64, epsilon float64) string {
	text := oneDigit(least(float64(rows), func(n float64) bool { return learned(n, 1) >= enoughLearned })) + " rows or so at this ε"
	if enough := func(e float64) bool { return learned(float64(rows), e/epsilon) >= enoughLearned }; enough(largeEpsilon) {
		text += ", or ε = " + oneDigit(least(epsilon, enough))
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

// oneDigit rounds to one digit that counts.
func oneDigit(x float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 1, 64), 64)
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

func percent(share float64) string { return oneDigit(100*share) + " %" }
