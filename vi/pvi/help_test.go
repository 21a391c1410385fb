package pvi

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/vi"
)

func simulated(seed uint64) *mechanisms.Stream {
	return mechanisms.NewStream(mechanisms.Simulated(rand.New(rand.NewPCG(seed, 5))))
}

// linearRows are n rows of y = xᵀθ + e, θ_j = j + 1, e ~ N(0, sd²).
func linearRows(n, p int, sd float64, rng *rand.Rand) *vi.Rows {
	rows := &vi.Rows{P: p}
	for range n {
		y := sd * rng.NormFloat64()
		for j := range p {
			x := rng.NormFloat64()
			rows.X = append(rows.X, x)
			y += x * float64(j+1)
		}
		rows.Y = append(rows.Y, y)
	}
	return rows
}

// logisticRows have a one-hot column pair beside two numeric ones.
func logisticRows(n int, rng *rand.Rand) *vi.Rows {
	rows := &vi.Rows{P: 4}
	for range n {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		level := float64(rng.IntN(2))
		y := 0.
		if rng.Float64() < 1/(1+math.Exp(-2*a+b-level)) {
			y = 1
		}
		rows.X, rows.Y = append(rows.X, a, b, level, 1-level), append(rows.Y, y)
	}
	return rows
}

// constant is a rule whose aim never changes.
type constant struct {
	family Family
	aim    []float64
}

func (c constant) Family() Family          { return c.family }
func (c constant) Memory() []float64       { return nil }
func (c constant) Aim(dst, _, _ []float64) { copy(dst, c.aim) }
