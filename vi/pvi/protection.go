package pvi

import (
	"fmt"
	"math"

	"github.com/dpreg/dpreg/mechanisms"
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
	case !(p.Clip >= 1e-30 && p.Clip <= 1e30) || !(p.Multiplier > 0 && p.Multiplier <= 1<<29):
		return fmt.Errorf("records are protected by a positive clip and multiplier, not %v and %v", p.Clip, p.Multiplier)
	case p.Stream == nil:
		return fmt.Errorf("noise needs a stream: mechanisms.NewStream(mechanisms.OS())")
	}
	return nil
}

// sum is what both vi.Sum and plain are.
type sum interface {
	Add(c float64, x []float64, norm float64)
	Release(dst []float64)
}

// newSum is of vectors of length dim.
func (p Protection) newSum(dim int) sum {
	if p.none() {
		return plain(make([]float64, dim))
	}
	return vi.NewSum(dim, p.Clip, p.Multiplier, p.Stream)
}

// plain adds up what need not be private, all but what is not finite.
type plain []float64

func (s plain) Add(c float64, x []float64, norm float64) {
	if !(math.Abs(c)*norm <= math.MaxFloat64) {
		return
	}
	for j, v := range x {
		s[j] += c * v
	}
}

func (s plain) Release(dst []float64) {
	copy(dst, s)
	clear(s)
}
