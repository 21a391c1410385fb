package pvi

import (
	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/vi"
)

// Analytic is the rule of linear regression with known noise, y ~ N(xᵀθ, s²): a record's
// factor has the natural parameters (xy, xxᵀ)/s², and a client's is their sum, whatever
// the global law is.
//
// Protected, each record's (xy, xxᵀ), the lower triangle of xxᵀ counting once, is clipped
// and the sum is noisy, anew at every Aim (Sharma's thesis, equations 4.21 and 4.22).
type Analytic struct {
	*Normal
	protect Protection
	family  Family
	sum     sum
	of      []float64 // one record's
	total   []float64 // where not protected
}

// NewAnalytic has full laws. Errors: records that do not fit or are not finite, sd not positive and finite, a
// protection out of range.
func NewAnalytic(rows *vi.Rows, sd float64, protect Protection) (*Analytic, error) {
	normal, err := NewNormal(rows, sd)
	if err != nil {
		return nil, err
	}
	if err := protect.check(); err != nil {
		return nil, err
	}
	f := Family{Dim: rows.P, Full: true}
	a := &Analytic{Normal: normal, protect: protect, family: f, sum: protect.newSum(f.Len()), of: make([]float64, f.Len())}
	if protect.none() {
		a.total = make([]float64, f.Len())
		a.release(a.total)
	}
	return a, nil
}

// Family implements Rule.
func (a *Analytic) Family() Family { return a.family }

// Aim implements Rule.
func (a *Analytic) Aim(dst, _, _ []float64) {
	if a.protect.none() {
		copy(dst, a.total)
		return
	}
	a.release(dst)
}

// release sums over all records.
func (a *Analytic) release(dst []float64) {
	for i, y := range a.rows.Y {
		x := a.Covariates(i)
		at := len(x)
		for j, v := range x {
			a.of[j] = v * y
			for k := range j + 1 {
				a.of[at] = v * x[k]
				at++
			}
		}
		a.sum.Add(1, a.of, floats.Norm(a.of, 2))
	}
	a.sum.Release(dst)
	floats.Scale(a.precision, dst)
}

// Spends implements Rule.
func (a *Analytic) Spends() []accounting.Training {
	if a.protect.none() {
		return nil
	}
	return []accounting.Training{{Multiplier: a.protect.Multiplier, Rate: 1, Steps: 1}}
}
