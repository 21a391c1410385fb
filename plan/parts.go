package plan

import (
	"fmt"
	"math"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// Parts is a number of parts that rows may be dealt to (custody.Order.Split): fewer tell little of how far
// their coefficients differ, and of more the noise weighs more.
const Parts = 8

// partsSpread is how many times as wide intervals of Parts are without noise: 1.21, as t of Parts − 1 degrees has it,
// and what the prior of the spread adds (docs/custodians.md).
const partsSpread = 1.4

// MostInParts is how many times as wide an interval may be that takes less for granted, and leastParts how many parts tell
// how far they differ whatever the prior of that.
const (
	MostInParts = 2
	leastParts  = 5
)

// InParts is how many times as wide an interval would be, about, of Parts in place of one release.
func (s *SlopeForecast) InParts() float64 { return inParts(s.Price*s.Price, Parts) }

// inParts is InParts of so many parts, and square = Price². A slope's variance is
// s + z, s by chance and z by noise of variance v in n rows, z ∝ v/n². Of the mean over B parts it is
// (Bs + B²z)/B = s + Bz, and Price² = (s + z)/s.
func inParts(square float64, parts int) float64 {
	square = max(1, square)
	return partsSpread * math.Sqrt((1+float64(parts)*(square-1))/square)
}

// ofParts says, before ε is spent, where parts of the rows are too few, or noise makes their intervals too wide.
func ofParts(o *custody.Settled, rows int64) (warnings []string) {
	if o.Split == 0 {
		return nil
	}
	if o.Split < leastParts {
		warnings = append(warnings, fmt.Sprintf("--split %d: of fewer than %d parts the prior says how far coefficients differ, and not the rows: take %d", o.Split, leastParts, Parts))
	}
	price := priceSquare(o, o.Model(), float64(rows))
	if rows == 0 || price == nil {
		return warnings
	}
	wider := func(epsilon float64) float64 { return inParts(price(epsilon), o.Split) }
	epsilon := o.Privacy.Epsilon
	if times := wider(epsilon); times > MostInParts {
		affords := func(e float64) bool { return wider(e) <= MostInParts }
		help := "leave --split out"
		if enough := least(epsilon, affords); affords(enough) {
			help += ", or take ε = " + rounded(enough)
		}
		warnings = append(warnings, fmt.Sprintf("--split %d: at this ε intervals of parts are some %s times as wide as those of one release, and how far parts differ, which is what they are for, is noise: %s",
			o.Split, rounded(times), help))
	}
	return warnings
}

// priceSquare gives Price² of one release of all rows as a function of ε, roughly; nil where nothing can be assumed of the
// columns. In the frame of the last of several looks columns have sds of 1, and Σxxᵀ is nI. Products have half of v, the
// variance of the noise on squares, and with the noise on XX that is ½v(1 + R²)/(1 − R²) of n: v/n where R² = ⅓.
func priceSquare(o *custody.Settled, d *schema.Design, rows float64) func(epsilon float64) float64 {
	outlook, err := NewOutlook(d)
	if err != nil || len(d.Covariates) == 0 {
		return nil
	}
	without := outlook.HalfWidth(rows, release.Noise{})
	return func(epsilon float64) float64 {
		noise, err := o.NoiseAt(d, epsilon)
		switch {
		case err != nil:
			return 1 // it is not for this to say
		case o.Steps > 1:
			return 1 + noise.SD()*noise.SD()/rows
		}
		price := outlook.HalfWidth(rows, noise) / without
		return price * price
	}
}
