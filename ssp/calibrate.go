package ssp

import (
	"fmt"
	"math"
	"math/big"
	"strconv"

	"github.com/dpreg/dpreg/release"
)

// Sensitivity chooses the sensitivity that Publish calibrates noise to.
type Sensitivity int

const (
	// Exact is SensitivityL1, the smallest that serves.
	Exact Sensitivity = iota
	// Paper is PaperSensitivity, for reproducing the figures of the paper.
	Paper
)

// calibration is what a release states of its Laplace noise, and the noise drawn.
//
// With ε the decimal it is written as, Δ the proven sensitivity:
//
//	sensitivity = the smallest float64 ≥ Δ
//	scale       = the smallest float64 b with b·ε ≥ sensitivity
//
// both decided in rational arithmetic, so Δ/scale ≤ ε for the numbers that stand
// in the file; and the noise drawn has exactly that scale.
type calibration struct {
	sensitivity float64
	scale       float64
	lattice     *big.Rat // scale in units of the lattice: scale·2⁴⁰
}

func calibrateLaplace(m int, epsilon float64, nb release.Neighbours, kind Sensitivity) (calibration, error) {
	delta := SensitivityL1(m, nb)
	switch kind {
	case Exact:
	case Paper:
		delta = PaperSensitivity(m)
	default:
		return calibration{}, fmt.Errorf("unknown sensitivity %d: choose ssp.Exact or ssp.Paper", int(kind))
	}
	c := calibration{sensitivity: roundUp(delta)}
	b := new(big.Rat).SetFloat64(c.sensitivity)
	c.scale = roundUp(b.Quo(b, decimal(epsilon)))
	c.lattice = new(big.Rat).SetFloat64(c.scale)
	c.lattice.Mul(c.lattice, new(big.Rat).SetInt64(1<<(2*LatticeBits)))
	return c, nil
}

// roundUp returns the smallest float64 that is not below q.
func roundUp(q *big.Rat) float64 {
	f, _ := q.Float64() // the nearest
	if new(big.Rat).SetFloat64(f).Cmp(q) < 0 {
		return math.Nextafter(f, math.Inf(1))
	}
	return f
}

// decimal returns the value of the shortest decimal that reads back as x: what a
// user who typed 0.1 meant, and what the file says.
func decimal(x float64) *big.Rat {
	q, ok := new(big.Rat).SetString(strconv.FormatFloat(x, 'g', -1, 64))
	if !ok {
		panic("ssp: not a finite number")
	}
	return q
}
