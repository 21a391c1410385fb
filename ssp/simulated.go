package ssp

import (
	"fmt"
	"math"
	"math/big"
)

// FromVector returns statistics of n rows of m columns that no row was summed
// for, for simulations: v has them in canonical order and scaled units, and each
// is rounded to the nearest multiple of 2^-40, ties to even. Noise then comes
// from Publish, as it does for rows.
//
// Errors: n not in 1 … MaxRows, v of another length, a number above 1000·MaxRows
// in magnitude, or NaN: values drawn from a law without bounds may be beyond the box
// that rows are clamped to, but 128 bits have an end. It panics if m < 1.
func FromVector(m int, n int64, v []float64) (*Statistics, error) {
	s := NewAccumulator(m).Statistics()
	if n < 1 || n > MaxRows {
		return nil, fmt.Errorf("n = %d: simulated statistics are of 1 to %d rows", n, int64(MaxRows))
	}
	if len(v) != len(s.sum) {
		return nil, fmt.Errorf("%d statistics for %d columns, which have %d", len(v), m, len(s.sum))
	}
	s.N = n
	for i, x := range v {
		if !(math.Abs(x) <= 1000*MaxRows) {
			return nil, fmt.Errorf("statistic %d is %v: out of range", i+1, x)
		}
		s.sum[i] = toInt128(math.RoundToEven(math.Ldexp(x, 2*LatticeBits)))
	}
	return s, nil
}

// toInt128 converts a whole number below 2¹²⁷ in magnitude, exactly.
func toInt128(x float64) int128 {
	z, _ := new(big.Float).SetFloat64(x).Int(nil)
	hi := new(big.Int).Rsh(z, 64) // rounds down: an arithmetic shift
	lo := new(big.Int).Sub(z, new(big.Int).Lsh(hi, 64))
	return int128{hi.Int64(), lo.Uint64()}
}
