package main

import (
	"io"
	"math"
	"strconv"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/plan"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

// nothingTold is half of the interval of a standardised slope, between -1 and 1, from which on
// a release tells next to nothing of it; enoughTold is one of which is said what it would take, if
// no ε above largeEpsilon, which would hardly protect anybody.
const (
	nothingTold  = 1.0
	enoughTold   = 0.5
	largeEpsilon = 10
)

// foretell says, before ε is spent, where next to nothing is to be told of the slopes, and what
// would help. It knows what is public: the columns' number, the noise, and how many rows
// there are, if that is public or was stated.
func foretell(stderr io.Writer, o *custody.Settled, rows int64) {
	width := halfWidth(o, o.Design)
	if rows == 0 || width == nil {
		return
	}
	n, epsilon := float64(rows), o.Privacy.Epsilon
	if width(n, epsilon) < nothingTold {
		return
	}
	help := wants(width, n, epsilon)
	if len(o.Design.Covariates) > 1 {
		one := *o.Design
		one.Covariates = one.Covariates[:1]
		help += "; with one covariate " + wants(halfWidth(o, &one), n, epsilon)
	}
	note(stderr, "warning: next to nothing will be told of the slopes: the 95 %% interval of a standardised slope, which lies between -1 and 1, would be ± %v or wider (`dpreg plan` simulates it). For ± %v it takes %s",
		nothingTold, enoughTold, help)
}

// halfWidth gives half of a standardised slope's interval as a function of rows and ε; nil
// where nothing can be assumed of the columns.
func halfWidth(o *custody.Settled, d *schema.Design) func(rows, epsilon float64) float64 {
	outlook, err := plan.NewOutlook(d)
	if err != nil {
		return nil
	}
	return func(rows, epsilon float64) float64 {
		noise, err := o.NoiseAt(d, epsilon)
		if err != nil {
			return 0 // it is not for this to say
		}
		return outlook.HalfWidth(rows, noise)
	}
}

// wants says how many rows, or which ε that still protects, it takes for enough to be told.
func wants(width func(rows, epsilon float64) float64, rows, epsilon float64) string {
	text := "more than a billion rows"
	if n := least(rows, func(n float64) bool { return width(n, epsilon) <= enoughTold }); n <= 1e9 {
		text = rounded(n) + " rows or so"
	}
	text += " at this ε"
	if enough := func(e float64) bool { return width(rows, e) <= enoughTold }; enough(largeEpsilon) {
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
