package pvi

import (
	"errors"
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

func (p Protection) check() error {
	switch {
	case p.Clip == 0 && p.Multiplier == 0:
		return nil
	case !(p.Clip >= 1e-30 && p.Clip <= 1e30) || !(p.Multiplier > 0 && p.Multiplier <= accounting.MaxMultiplier):
		return fmt.Errorf("records are protected by a positive clip and multiplier, not %v and %v", p.Clip, p.Multiplier)
	case p.Stream == nil:
		return errors.New("noise needs a stream: mechanisms.NewStream(mechanisms.OS())")
	}
	return nil
}

// Analytic is the rule of linear regression with known noise, y ~ N(xᵀθ, s²): a record's
// factor has the natural parameters (xy, xxᵀ)/s², and a client's is their sum, whatever
// the global law is.
//
// Protected, each record's (xy, xxᵀ), the lower triangle of xxᵀ counting once, is clipped
// and the sum is noisy, anew at every Aim (Sharma's thesis, equations 4.21 and 4.22).
type Analytic struct {
	precision float64
	family    Family
	door      *vi.Door
	all       []int     // records
	none      []float64 // θ, which does not matter
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
	f, p := Family{Dim: rows.P, Full: true}, rows.P
	a := &Analytic{precision: 1 / (sd * sd), family: f, none: make([]float64, f.Len())}
	factors := make([]float64, 0, f.Len()*len(rows.Y))
	for i, y := range rows.Y {
		x := rows.X[i*p : (i+1)*p]
		for _, v := range x {
			factors = append(factors, v*y)
		}
		for j, v := range x {
			for _, w := range x[:j+1] {
				factors = append(factors, v*w)
			}
		}
		a.all = append(a.all, i)
	}
	// A record's vector is the gradient of its product with θ.
	a.door = vi.NewDoor(&vi.Model{Records: len(rows.Y), Parameters: []vi.Parameter{{Name: "factor", Size: f.Len()}}, LogLik: func(t *vi.Tape) {
		t.Factor(t.Dense(t.Rows(factors, f.Len()), 0))
	}}, protect.Clip, protect.Multiplier, protect.Stream)
	return a, nil
}

// Family implements Rule.
func (a *Analytic) Family() Family { return a.family }

// Memory implements Rule.
func (a *Analytic) Memory() []float64 { return nil }

// Aim implements Rule.
func (a *Analytic) Aim(dst, _, _ []float64) {
	a.door.Add(a.none, a.all)
	a.door.Release(dst)
	floats.Scale(a.precision, dst)
}
