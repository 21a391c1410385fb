package plan

import (
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

// Outlook foretells roughly and in milliseconds what Foresee simulates: how precisely a
// release tells of slopes, the prior apart. It knows nothing of the rows but what Assume takes
// them for.
//
// With x a row and its constant, let S = Σxxᵀ; a release has R = S + N, and z = Σxy + e, N
// and e noise of variance v in each entry. Then z = Rθ + u,
//
//	u = Σx(y − xᵀθ) + e − Nθ,   Cov u ≈ C = σ²S + v(1 + |θ|²)I,
//
// a regression of z on R. N is no design: S alone counts as one, and
//
//	Cov(θ | R, z) ≈ (S C⁻¹ S)⁻¹ = S⁻¹ C S⁻¹.
//
// S, σ² and |θ|² are as assumed. Of more than outlookCovariates, the first of these stand for all.
type Outlook struct {
	unit   []float64 // sd_j/sd_y of the slopes, 0 of an intercept
	sigma2 float64
	square float64   // E|θ|², of all coefficients
	gram   []float64 // E[xxᵀ], q×q
}

// outlookCovariates bounds the time that a wide release takes.
const outlookCovariates = 30

// NewOutlook prepares an outlook on a design.
func NewOutlook(d *schema.Design) (*Outlook, error) { return newOutlook(d, outlookCovariates) }

func newOutlook(d *schema.Design, most int) (*Outlook, error) {
	assumed, err := Assume(model.Normal, d, nil, nil, 0)
	if err != nil {
		return nil, err
	}
	shape := model.DesignShape(d)
	o := &Outlook{square: assumed.square(shape, d.Frame())}
	mean, sd := assumed.scaled(d.Frame())
	shape.P = min(shape.P, most)
	x := assumed.covariates(shape, mean[:shape.P], append(sd[:shape.P:shape.P], sd[len(sd)-1]))
	law, sums, expected := model.NewMoments(shape), model.NewSums(shape), make([]float64, shape.Statistics())
	law.Set(x)
	law.Expect(expected, 1)
	sums.Set(expected, 1)
	o.sigma2, o.gram, o.unit = x.Sigma2, sums.XX, make([]float64, shape.Q())
	for j := range shape.P {
		o.unit[shape.Q()-shape.P+j] = sd[j] / sd[len(sd)-1]
	}
	return o, nil
}

// HalfWidth is half of the 95 % interval of a standardised slope, β_j sd_j/sd_y, the mean over
// slopes, of a release of n rows with some noise: one of 1 or more leaves every correlation
// possible, and is not accurate then, as N is as large as S. It is infinite where columns are
// collinear in float64.
func (o *Outlook) HalfWidth(n float64, noise release.Noise) float64 {
	q := len(o.unit)
	var s, c, half, cov mat.Dense
	s.Scale(n, mat.NewDense(q, q, o.gram))
	c.Scale(o.sigma2, &s)
	for k := range q {
		c.Set(k, k, c.At(k, k)+noise.SD()*noise.SD()*(1+o.square))
	}
	var factor mat.Cholesky
	if !factor.Factorize(mat.NewSymDense(q, s.RawMatrix().Data)) || factor.SolveTo(&half, &c) != nil || factor.SolveTo(&cov, half.T()) != nil {
		return math.Inf(1)
	}
	sum, slopes := 0.0, 0.0
	for k, unit := range o.unit {
		if unit > 0 {
			sum += unit * math.Sqrt(cov.At(k, k))
			slopes++
		}
	}
	return 1.96 * sum / slopes
}

// nothingTold is half of the interval of a standardised slope, between -1 and 1, from which on
// a release tells next to nothing of it; enoughTold is one of which is said what it would take, if
// no ε above largeEpsilon, which would hardly protect anybody.
const (
	nothingTold  = 1.0
	enoughTold   = 0.5
	largeEpsilon = 10
)

// Foretell says, before ε is spent, where next to nothing is to be told of the slopes, or by parts of the rows, and what
// would help. It knows what is public: the columns' number, the noise, and how many rows
// there are, if that is public or was stated.
func Foretell(o *custody.Settled, rows int64) []string {
	warnings := ofParts(o, rows)
	if little := ofSlopes(o, rows); little != "" {
		warnings = append(warnings, little)
	}
	return warnings
}

// ofSlopes says where next to nothing is to be told of the slopes; else it is empty. Of several steps it says nothing:
// their noise is not known before.
func ofSlopes(o *custody.Settled, rows int64) string {
	d := o.Model()
	width := halfWidth(o, d)
	if rows == 0 || width == nil || o.Steps > 1 || len(d.Covariates) == 0 {
		return ""
	}
	n, epsilon := float64(rows), o.Privacy.Epsilon
	if width(n, epsilon) < nothingTold {
		return ""
	}
	help := wants(width, n, epsilon)
	if len(d.Covariates) > 1 {
		one := *d
		one.Covariates = one.Covariates[:1]
		help += "; with one covariate " + wants(halfWidth(o, &one), n, epsilon)
	}
	help += byLevels(o)
	return fmt.Sprintf("next to nothing will be told of the slopes: the 95 %% interval of a standardised slope, which lies between -1 and 1, would be ± %v or wider (`dpreg plan` simulates it). For ± %v it takes %s",
		nothingTold, enoughTold, help)
}

// byLevels says of the factor with most dummies, two at least, what the noise would be by its levels, if that may be.
func byLevels(o *custody.Settled) string {
	dummies, of := map[string]int{}, ""
	for _, c := range o.Design.Covariates {
		if dummies[c.Factor]++; c.Factor != "" && dummies[c.Factor] > max(1, dummies[of]) {
			of = c.Factor
		}
	}
	by := o.Order
	by.ByLevel, by.Say, by.Check = of, nil, nil
	if of == "" || o.ByLevel != "" {
		return ""
	}
	settled, err := custody.Settle(by)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("; by the levels of %s (--by-level) noise has an sd of %s in place of %s", of, rounded(settled.Noise.SD()), rounded(o.Noise.SD()))
}

// halfWidth gives half of a standardised slope's interval as a function of rows and ε; nil
// where nothing can be assumed of the columns.
func halfWidth(o *custody.Settled, d *schema.Design) func(rows, epsilon float64) float64 {
	outlook, err := NewOutlook(d)
	if err != nil {
		return nil
	}
	parts := float64(max(1, o.Split)) // whose slopes are averaged
	return func(rows, epsilon float64) float64 {
		noise, err := o.NoiseAt(d, epsilon)
		if err != nil {
			return 0 // it is not for this to say
		}
		return outlook.HalfWidth(rows/parts, noise) / math.Sqrt(parts)
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
