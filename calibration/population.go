package calibration

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

// RHat names the measure that is the largest R-hat over all parameters of a fit.
const RHat = "rhat"

// RHatLimit and SharpContraction are where a fit has not mixed, and where the release
// tells nearly all of a coefficient.
const (
	RHatLimit        = 1.05
	SharpContraction = 0.9
)

// last is the place of the 95 % interval among Levels.
const last = len(Levels) - 1

// CoefficientSummary is of a coefficient in a population, over the trials of a cell. What does
// not exist is nil. Widths are those of 95 % intervals, in the data's units.
type CoefficientSummary struct {
	Truth float64 `json:"truth"`
	// LeastSquares is how often normal intervals of least squares on the same rows without
	// noise hold the truth, of the trials that have them.
	LeastSquares *[len(Levels)]Coverage `json:"least_squares,omitempty"`
	Width        float64                `json:"width"`           // median
	Ratio        *float64               `json:"ratio,omitempty"` // to that of least squares, median
	Contraction  *float64               `json:"contraction,omitempty"`
	// Sharp is the coverage of 95 % intervals of the fits with a contraction of at least SharpContraction.
	Sharp *Coverage `json:"sharp,omitempty"`
}

// summariseCoefficient is nil of a quantity that is none.
func summariseCoefficient(trials []*Trial, name string) *CoefficientSummary {
	c := new(CoefficientSummary)
	var widths, ratios, contractions []float64
	var plain [len(Levels)]int
	sharp, held := 0, 0
	for _, t := range trials {
		i := slices.IndexFunc(t.Scores, func(s Score) bool { return s.Name == name })
		if i < 0 || t.Scores[i].Coefficient == nil {
			continue
		}
		score, of := t.Scores[i], t.Scores[i].Coefficient
		c.Truth, widths = score.Truth, append(widths, of.Width)
		if l := of.LeastSquares; l != nil {
			ratios = append(ratios, of.Width/l.Width)
			for k, hit := range l.Hits {
				plain[k] += number.Indicator[int](hit)
			}
		}
		if of.Contraction == nil {
			continue
		}
		if contractions = append(contractions, *of.Contraction); *of.Contraction >= SharpContraction {
			sharp++
			held += number.Indicator[int](score.Hits[last])
		}
	}
	if widths == nil {
		return nil
	}
	c.Width, c.Ratio, c.Contraction = *median(widths), median(ratios), median(contractions)
	if sharp > 0 {
		coverage := newCoverage(Levels[last], held, sharp)
		c.Sharp = &coverage
	}
	if ratios != nil {
		c.LeastSquares = new([len(Levels)]Coverage)
		for k, level := range Levels {
			c.LeastSquares[k] = newCoverage(level, plain[k], len(ratios))
		}
	}
	return c
}

// Margin is by how much the share of 95 % intervals that hold the coefficient exceeds what is
// asked: 90 %, or 3 % less than the share of least squares, if that is less. It is NaN of what
// is no coefficient.
func (q *QuantitySummary) Margin() float64 {
	if q.Coefficient == nil {
		return math.NaN()
	}
	asked := 0.90
	if l := q.Coefficient.LeastSquares; l != nil {
		asked = min(asked, l[last].Share-0.03)
	}
	return q.Coverage[last].Share - asked
}

// Judged is a slope in one cell of a study of a population.
type Judged struct {
	Population string
	Setting
	*QuantitySummary
}

// Verdict is what studies of populations tell of slopes. Intercepts are left out of it: most
// lie where there are no rows. So is sigma.
type Verdict struct {
	Cells, Failing int     // Failing have a slope whose margin is below 0
	Worst          *Judged // the slope of the least margin
	Sharp          *Judged // of those of which fits learned at least SharpContraction, as a median: the least coverage
}

// Judge finds the verdict on studies; nil where none is of a population.
func Judge(studies ...*Summary) *Verdict {
	v := new(Verdict)
	for _, s := range studies {
		for _, c := range s.Cells {
			fails := false
			for i := range c.Quantities {
				q := &c.Quantities[i]
				if q.Coefficient == nil || q.Name == interceptName || q.Name == sigmaName {
					continue
				}
				at := &Judged{s.Population, c.Setting, q}
				fails = fails || q.Margin() < 0
				if v.Worst == nil || q.Margin() < v.Worst.Margin() {
					v.Worst = at
				}
				if l := q.Coefficient.Contraction; l != nil && *l >= SharpContraction && (v.Sharp == nil || q.Coverage[last].Share < v.Sharp.Coverage[last].Share) {
					v.Sharp = at
				}
			}
			v.Cells++
			v.Failing += number.Indicator[int](fails)
		}
	}
	if v.Worst == nil {
		return nil
	}
	return v
}

// The labels that a fit gives its intercept and its residual sd.
const interceptName, sigmaName = "(Intercept)", "sigma"

// Coefficient says of one in a population what its score does not. Widths are in the data's
// units.
type Coefficient struct {
	Width float64 `json:"width"` // of the 95 % interval
	// Contraction is that of posterior.Contraction; nil
	// where there is none.
	Contraction *float64 `json:"contraction,omitempty"`
	// LeastSquares is of the same rows without noise; nil where they leave it open.
	LeastSquares *LeastSquares `json:"least_squares,omitempty"`
}

// LeastSquares is a coefficient's normal intervals θ̂ ± z·se of least squares.
type LeastSquares struct {
	Width float64           `json:"width"` // of the 95 % interval
	Hits  [len(Levels)]bool `json:"hits"`  // whether that of each of Levels holds the truth
}

// truth is least squares on all rows of Resampled data, in the data's units, and maximum likelihood on
// those of a comparison of a family, in scaled units; nil where there is none.
func (d *Design) truth(rows *Rows) ([]float64, error) {
	t := d.Population
	switch {
	case rows == nil:
		return nil, nil
	case t == nil:
		return nil, errors.New("the rows of this study are simulated")
	case rows.Len() != t.Rows || rows.Digest() != t.Digest:
		return nil, fmt.Errorf("these rows are not those of the study, which has %d rows of %s: they changed, or are read in another way", t.Rows, t.Name)
	case d.Family != model.Normal:
		mode, err := FindMode(d.Family, t.Columns.Response.Upper, regressionOf(rows.v, &t.Columns, d.Family), 0)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Name, err)
		}
		return mode.Theta, nil
	case d.Data != Resampled:
		return nil, nil
	}
	sums := ssp.NewAccumulator(rows.m)
	if err := sums.AddRows(rows.v); err != nil {
		return nil, err
	}
	columns := &t.Columns
	truth, _ := OrdinaryLeastSquares(sums.Statistics(), columns)
	p, q := len(columns.Covariates), len(truth)-1
	for j, v := range truth[:q] {
		if math.IsNaN(v) {
			return nil, fmt.Errorf("the rows of %s leave the coefficient of %q open: it is constant, or a combination of others; name fewer columns in the formula",
				t.Name, columns.Covariates[j-q+p].Name)
		}
	}
	return truth, nil
}

// newLeastSquares is nil of a coefficient that is open, or that rows without residuals have.
func newLeastSquares(theta, se, truth float64) *LeastSquares {
	if math.IsNaN(theta) || !(se > 0) {
		return nil
	}
	l := new(LeastSquares)
	for i, level := range Levels {
		half := distuv.UnitNormal.Quantile((1+level)/2) * se
		l.Hits[i] = math.Abs(truth-theta) <= half
		l.Width = 2 * half
	}
	return l
}

// aliased is the share of a column's squares below which what other columns leave of it is
// rounding.
const aliased = 1e-10

// OrdinaryLeastSquares returns the coefficients of a design in the data's units, intercept first,
// and last the residual sd σ̂, and their standard errors; NaN where the rows do not determine a coefficient or leave no degree
// of freedom. The sweep operator (Goodnight 1979, The American Statistician 33(3)) takes
//
//	⎡ XᵀX Xᵀy ⎤      ⎡ (XᵀX)⁻¹  θ̂   ⎤
//	⎣ yᵀX yᵀy ⎦  to  ⎣ −θ̂ᵀ     RSS ⎦
//
// by one column after the other. A column that is a combination of those before it is left
// out, as R leaves it out: the others are then those of the smaller model.
// Var θ̂ = RSS/(n − rank)·(XᵀX)⁻¹, and of normal residuals Var σ̂ = ½σ̂²/(n − rank), nearly.
func OrdinaryLeastSquares(s *ssp.Statistics, d *schema.Design) (estimates, se []float64) {
	shape := model.DesignShape(d)
	q := shape.Q()
	sums := model.NewSums(shape)
	sums.Set(s.Vector(), float64(s.N))
	at, squares := make([]float64, (q+1)*(q+1)), make([]float64, q)
	for j := range q {
		copy(at[j*(q+1):], sums.XX[j*q:(j+1)*q])
		at[j*(q+1)+q], at[q*(q+1)+j] = sums.XY[j], sums.XY[j]
		squares[j] = sums.XX[j*q+j]
	}
	at[q*(q+1)+q] = sums.YY
	out := make([]bool, q)
	rank := 0
	for k := range q {
		if out[k] = !(at[k*(q+1)+k] > aliased*squares[k]); !out[k] {
			sweep(at, q+1, k)
			rank++
		}
	}
	variance := max(0, at[q*(q+1)+q]) / float64(s.N-int64(rank))
	if s.N <= int64(rank) {
		variance = math.NaN()
	}
	scaled, covariance := make([]float64, q), make([]float64, q*q)
	for j := range q {
		for k := range q {
			if !out[j] && !out[k] {
				covariance[j*q+k] = variance * at[j*(q+1)+k]
			}
		}
		if !out[j] {
			scaled[j] = at[j*(q+1)+q]
		}
	}
	estimates, se = make([]float64, q+1), make([]float64, q+1)
	frame := d.Frame()
	frame.ThetaToOriginal(estimates[:q], scaled)
	estimates[q] = math.Sqrt(frame.Sigma2ToOriginal(variance))
	se[q] = estimates[q] / math.Sqrt(2*float64(s.N-int64(rank)))
	to, _ := frame.ThetaMatrix()
	for i := range q {
		row, sum := to[i*q:(i+1)*q], 0.0
		for j, a := range row {
			for k, b := range row {
				sum += float64(a * b * covariance[j*q+k])
			}
		}
		if se[i] = math.Sqrt(sum); out[i] {
			estimates[i], se[i] = math.NaN(), math.NaN()
		}
	}
	return estimates, se
}

// sweep sweeps an n×n matrix by column k, in place.
func sweep(a []float64, n, k int) {
	pivot, row := a[k*n+k], slices.Clone(a[k*n:(k+1)*n])
	for i := range n {
		if i == k {
			continue
		}
		b := a[i*n+k]
		for j := range n {
			a[i*n+j] -= float64(b * row[j] / pivot)
		}
		a[i*n+k] = -b / pivot
	}
	for j := range n {
		a[k*n+j] = row[j] / pivot
	}
	a[k*n+k] = 1 / pivot
}
