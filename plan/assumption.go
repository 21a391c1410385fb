package plan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/schema"
)

// What planning assumes where nothing is said: of the data tables in testdata, the median sd of a
// column is an eighth of its range, and most means lie below the middle.
const (
	assumedMean        = 3. / 8 // of the way from the lower bound to the upper; the share of a 0/1 column
	assumedSD          = 1. / 8 // of the range
	assumedR2          = 0.3
	assumedFamilyR2    = 0.1 // of a family
	assumedCorrelation = 0.2
	rounding           = 1.05 // of stated sds
)

// Assumption says what the rows are taken to be like, for planning without them. A release
// tells of a slope as much as columns spread within their bounds, so that this matters as
// ε does.
type Assumption struct {
	Columns     []AssumedColumn `json:"columns"`     // covariates, then the response
	R2          float64         `json:"r2"`          // share of the response's variance that a line of the covariates explains
	Correlation float64         `json:"correlation"` // of any two covariates, or of one and a factor by whose levels sums are

	family *assumedFamily // nil of a normal response
}

// AssumedColumn is one column in the data's units.
type AssumedColumn struct {
	Name string  `json:"name"`
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"`
}

// Assume returns the assumption on a design's columns: means and sds by their names, and where
// they are not among these a mean 3/8 of the way into the range and an sd of 1/8 of it; of
// a 0/1 column the sd of its share; of the levels of a factor equal shares, and of products those of independent ones; for an R2 of 0 one of 0.3,
// of a family 0.1. The sd of a response of a family follows from its mean and R2.
//
// Errors: names of no column, means out of bounds, sds that no values within the bounds can
// have, σ² ≤ (upper − mean)(mean − lower), that of a family's response, an R2 not between 0 and 1 or
// that no slopes give.
func Assume(f model.Family, d *schema.Design, means, sds map[string]float64, r2 float64) (*Assumption, error) {
	switch {
	case r2 == 0 && f == model.Normal:
		r2 = assumedR2
	case r2 == 0:
		r2 = assumedFamilyR2
	}
	if !(r2 > 0 && r2 < 1) {
		return nil, fmt.Errorf("R2 %v is not between 0 and 1", r2)
	}
	a := &Assumption{R2: r2, Correlation: assumedCorrelation}
	columns := d.Columns()
	for _, stated := range []map[string]float64{means, sds} {
		for name := range stated {
			if schema.Index(columns, name) < 0 {
				return nil, fmt.Errorf("%q is none of the columns of %s", name, d.Formula())
			}
		}
	}
	for _, c := range columns {
		low, width := c.Lower, c.Upper-c.Lower
		at := AssumedColumn{c.Name, low + assumedMean*width, assumedSD * width}
		if f := schema.FactorNamed(d.Factors, c.Factor); f != nil {
			at.Mean = 1 / float64(len(f.Levels))
		}
		product := a.product(columns, c.Term)
		if product > 0 {
			at.Mean = product
		}
		if mean, ok := means[c.Name]; ok {
			at.Mean = mean
		}
		most := math.Sqrt((c.Upper - at.Mean) * (at.Mean - low))
		if !(at.Mean > low && at.Mean < c.Upper) {
			return nil, fmt.Errorf("%s: a mean of %v is not within its bounds %v and %v", c.Name, at.Mean, low, c.Upper)
		}
		if c.Binary() || product > 0 {
			at.SD = most
		}
		if sd, ok := sds[c.Name]; ok {
			at.SD = sd
		} else {
			at.SD = min(at.SD, most)
		}
		if !(at.SD > 0 && at.SD <= rounding*most) {
			return nil, fmt.Errorf("%s: an sd of %v: values between %v and %v with mean %v have one above 0, and at most %.3g", c.Name, at.SD, low, c.Upper, at.Mean, most)
		}
		a.Columns = append(a.Columns, at)
	}
	if f != model.Normal {
		return a, a.take(f, d.Response, sds)
	}
	return a, nil
}

// product is the mean of a product of 0/1 columns that are independent, among the first; 0 of another term, and of none.
func (a *Assumption) product(columns []schema.Column, term []string) (mean float64) {
	for i, part := range term {
		at := slices.IndexFunc(a.Columns, func(c AssumedColumn) bool { return c.Name == part })
		if at < 0 || !columns[at].Binary() {
			return 0
		}
		if i == 0 {
			mean = 1
		}
		mean *= a.Columns[at].Mean
	}
	return mean
}

// scaled returns means and sds in scaled units.
func (a *Assumption) scaled(f schema.Frame) (mean, sd []float64) {
	for j, c := range a.Columns {
		mean, sd = append(mean, (c.Mean-f.Centre[j])/f.Half[j]), append(sd, c.SD/f.Half[j])
	}
	return mean, sd
}

// covariates returns parameters of the assumed means, sds and correlation of p covariates, with
//
//	σ² = (1 − R²) sd_y²
//
// and no slopes, in scaled units.
func (a *Assumption) covariates(shape model.Shape, mean, sd []float64) *model.Params {
	p := shape.P
	x := model.NewParams(shape)
	copy(x.MuX, mean)
	for j := range p {
		for k := range p {
			x.Tau[j*p+k] = a.Correlation * sd[j] * sd[k]
		}
		x.Tau[j*p+j] = sd[j] * sd[j]
	}
	y := sd[len(sd)-1]
	x.Sigma2 = (1 - a.R2) * y * y
	return x
}

// draw draws parameters in scaled units. Slopes are alike but for their signs,
//
//	β_j = u_j/sd_j · √(R² sd_y²/uᵀCu),   u_j = ±1,   C the correlations of x:   βᵀTβ = R² sd_y²,
//
// but for those of truth that are not NaN; the intercept gives y its mean. Of a family they give
// η the sd of its assumption, in place of R sd_y.
func (a *Assumption) draw(shape model.Shape, f schema.Frame, truth []float64, rng *rand.Rand) *model.Params {
	mean, sd := a.scaled(f)
	x, p := a.covariates(shape, mean, sd), shape.P
	along, sum := sd[p]*math.Sqrt(a.R2), 0.0 // the sd of βᵀx
	if a.family != nil {
		along, x.Sigma2 = a.family.sd, 1
	}
	slopes := x.Theta[shape.Q()-p:]
	for j := range slopes {
		slopes[j] = float64(2*rng.IntN(2) - 1)
		sum += slopes[j]
	}
	by := along / math.Sqrt((1-a.Correlation)*float64(p)+a.Correlation*sum*sum)
	for j := range slopes {
		slopes[j] *= by / sd[j]
		if !math.IsNaN(truth[j]) {
			slopes[j] = truth[j]
		}
	}
	if shape.Intercept {
		x.Theta[0] = mean[p]
		if a.family != nil {
			x.Theta[0], _ = a.family.middle(math.Sqrt(dense.QuadForm(x.Tau, p, slopes)))
		}
		for j, b := range slopes {
			x.Theta[0] -= b * mean[j]
		}
	}
	return x
}

// square is E|θ|² of draw, with E uᵀCu for uᵀCu, p: of β_j² it is R² sd_y²/(p sd_j²).
func (a *Assumption) square(shape model.Shape, f schema.Frame) float64 {
	mean, sd := a.scaled(f)
	p, sum := shape.P, 0.0
	for j := range p {
		slope := a.R2 * sd[p] * sd[p] / (float64(p) * sd[j] * sd[j])
		sum += slope
		if shape.Intercept {
			sum += slope * mean[j] * mean[j]
		}
	}
	if shape.Intercept {
		sum += mean[p] * mean[p]
	}
	return sum
}
