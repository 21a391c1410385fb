package pvi

import (
	"fmt"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/vi"
)

// Protection is of single records: what each adds to a sum is clipped to norm Clip, and
// N(0, (Multiplier·Clip)² I) is added to the sum. Where both are 0 neither is done.
type Protection struct {
	Clip, Multiplier float64
	Stream           *mechanisms.Stream // the secret randomness of one client
}

func (p Protection) none() bool { return p.Clip == 0 && p.Multiplier == 0 }

func (p Protection) check() error {
	switch {
	case p.none():
		return nil
	case !(p.Clip >= 1e-30 && p.Clip <= 1e30) || !(p.Multiplier > 0 && p.Multiplier <= accounting.MaxMultiplier):
		return fmt.Errorf("records are protected by a positive clip and multiplier, not %v and %v", p.Clip, p.Multiplier)
	case p.Stream == nil:
		return fmt.Errorf("noise needs a stream: mechanisms.NewStream(mechanisms.OS())")
	}
	return nil
}

// sum is of vectors of length dim.
func (p Protection) sum(dim int) vi.Summer {
	if p.none() {
		return vi.Plain(dim, 0)
	}
	return vi.NewSum(dim, p.Clip, p.Multiplier, p.Stream)
}

// spends is what so many sums over samples of a rate release.
func (p Protection) spends(rate float64, sums int) accounting.Training {
	if p.none() {
		return accounting.Training{}
	}
	return accounting.Training{Multiplier: p.Multiplier, Rate: rate, Steps: sums}
}

// Analytic is the rule of linear regression with known noise, y ~ N(xᵀθ, s²): a record's
// factor has the natural parameters (xy, xxᵀ)/s², and a client's is their sum, whatever
// the global law is.
//
// Protected, each record's (xy, xxᵀ), the lower triangle of xxᵀ counting once, is clipped
// and the sum is noisy, anew at every Aim (Sharma's thesis, equations 4.21 and 4.22).
type Analytic struct {
	rows      *vi.Rows
	precision float64
	protect   Protection
	family    Family
	sum       vi.Summer
	of        []float64 // one record's
	total     []float64 // where not protected
}

// NewAnalytic has full laws. Errors: records that do not fit or are not finite, sd not positive and finite, a
// protection out of range.
func NewAnalytic(rows *vi.Rows, sd float64, protect Protection) (*Analytic, error) {
	if _, err := Normal(rows, sd); err != nil {
		return nil, err
	}
	if err := protect.check(); err != nil {
		return nil, err
	}
	f := Family{Dim: rows.P, Full: true}
	a := &Analytic{rows: rows, precision: 1 / (sd * sd), protect: protect, family: f, sum: protect.sum(f.Len()), of: make([]float64, f.Len())}
	if protect.none() {
		a.total = make([]float64, f.Len())
		a.release(a.total)
	}
	return a, nil
}

// Family implements Rule.
func (a *Analytic) Family() Family { return a.family }

// Len implements Rule.
func (a *Analytic) Len() int { return len(a.rows.Y) }

// Spends implements Rule.
func (a *Analytic) Spends() accounting.Training { return a.protect.spends(1, 1) }

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
	p := a.rows.P
	for i, y := range a.rows.Y {
		x, at := a.rows.X[i*p:(i+1)*p], p
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
