package ssp

import (
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/dpreg/dpreg/release"
)

// maxExact is the number of columns up to which StatisticsOf finds out exactly whether
// the sums are those of a Gram matrix: elimination of m columns takes m³/6 steps on
// integers of up to 75m bits, a second or two for a hundred.
const maxExact = 100

var errNotGram = errors.New("the sums are none that rows can have together: their matrix is not positive semidefinite")

// StatisticsOf returns statistics that were summed elsewhere over n rows of m values:
// the sums in canonical order as multiples of 2^-40, as BigInts returns them. It
// refuses what no rows in the box have: a number of rows or sums that is not possible, a
// sum of another size or parity, a matrix B = Σ a aᵀ, a = (1, v), that is not positive
// semidefinite (of more than 100 columns: of which two rows and columns are not). Errors
// tell nothing of the sums. It panics if m < 1.
func StatisticsOf(m int, n int64, sums []*big.Int) (*Statistics, error) {
	a := NewAccumulator(m)
	switch {
	case n < 0:
		return nil, errors.New("a negative number of rows")
	case n > MaxRows:
		return nil, errTooManyRows
	case len(sums) != len(a.total):
		return nil, fmt.Errorf("%d sums where %d columns have %d", len(sums), m, len(a.total))
	}
	a.n = n
	limit := new(big.Int).Lsh(big.NewInt(1), 100)
	for i, sum := range sums {
		if sum.CmpAbs(limit) > 0 {
			return nil, fmt.Errorf("sum %d is none that so many rows can have", i+1)
		}
		a.total[i] = int128Of(sum)
	}
	if err := a.check(); err != nil {
		return nil, err
	}
	for j := range m {
		// k² and k are both even or both odd.
		if square := a.total[release.Index(m, j, j)]; (a.total[j].lo>>LatticeBits^square.lo)&1 != 0 {
			return nil, fmt.Errorf("the sum of column %d and that of its squares are not of the same integers: are they rounded?", j+1)
		}
	}
	gram := everyTwo
	if m <= maxExact {
		gram = semidefinite
	}
	if !gram(a.matrix()) {
		return nil, errNotGram
	}
	return a.Statistics(), nil
}

func int128Of(x *big.Int) int128 {
	hi := new(big.Int).Rsh(x, 64) // towards -∞
	lo := new(big.Int).Sub(x, new(big.Int).Lsh(hi, 64))
	return int128{hi.Int64(), lo.Uint64()}
}

// matrix is B in units of 2^-40.
func (a *Accumulator) matrix() [][]*big.Int {
	sums := bigInts(a.total)
	b := make([][]*big.Int, a.m+1)
	for i := range b {
		b[i] = make([]*big.Int, a.m+1)
	}
	b[0][0] = new(big.Int).Lsh(big.NewInt(a.n), 2*LatticeBits)
	for j := range a.m {
		b[0][j+1], b[j+1][0] = sums[j], sums[j]
		for i := j; i < a.m; i++ {
			x := sums[release.Index(a.m, j, i)]
			b[j+1][i+1], b[i+1][j+1] = x, x
		}
	}
	return b
}

// everyTwo tells whether b_ij² ≤ b_ii b_jj throughout, where no diagonal entry is negative.
func everyTwo(b [][]*big.Int) bool {
	var left, right big.Int
	for i := range b {
		for j := range i {
			if left.Mul(b[i][j], b[i][j]).Cmp(right.Mul(b[i][i], b[j][j])) > 0 {
				return false
			}
		}
	}
	return true
}

// semidefinite tells whether the symmetric matrix b is positive semidefinite, by symmetric
// elimination without fractions (Bareiss 1968, Sylvester's Identity and Multistep
// Integer-Preserving Gaussian Elimination): with pivot p and the one before it q,
//
//	b_ij ← (b_ij p - b_i0 b_0j) / q ,
//
// exactly, which is the Schur complement times a positive number. b is semidefinite if
// every diagonal entry on the way is ≥ 0, and where all that are left are 0, so is all
// that is left.
func semidefinite(b [][]*big.Int) bool {
	rows := make([]int, len(b)) // of b that are left
	work := make([][]*big.Int, len(b))
	for i := range b {
		rows[i] = i
		work[i] = append([]*big.Int(nil), b[i]...)
	}
	before := big.NewInt(1)
	for len(rows) > 0 {
		at := -1
		for i, r := range rows {
			switch work[r][r].Sign() {
			case -1:
				return false
			case 1:
				at = i
			}
		}
		if at < 0 {
			return zero(work, rows)
		}
		p := rows[at]
		rows = append(rows[:at:at], rows[at+1:]...)
		pivot := work[p][p]
		for x, i := range rows {
			for _, j := range rows[x:] {
				v := new(big.Int).Mul(work[i][j], pivot)
				v.Sub(v, new(big.Int).Mul(work[i][p], work[p][j]))
				v.Quo(v, before)
				work[i][j], work[j][i] = v, v
			}
		}
		before = pivot
	}
	return true
}

func zero(b [][]*big.Int, rows []int) bool {
	for _, i := range rows {
		for _, j := range rows {
			if b[i][j].Sign() != 0 {
				return false
			}
		}
	}
	return true
}

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
		z, _ := big.NewFloat(math.RoundToEven(math.Ldexp(x, 2*LatticeBits))).Int(nil)
		s.sum[i] = int128Of(z)
	}
	return s, nil
}
