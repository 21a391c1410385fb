// Package ssp is the custodian's side of dpreg: sufficient statistics
// perturbation (Vu & Slavković 2009; Foulds et al. 2016; Bernstein & Sheldon
// 2019). It sums rows exactly, knows how much one row can change the sums, and
// publishes the sums with the noise that this calls for.
//
// With v = (x_1, …, x_p, y) in [-1,1]^m, m = p+1, the statistics are the m
// linear sums Σ v_j and the m(m+1)/2 quadratic ones Σ v_j v_k, j ≤ k, in the
// canonical order of package release.
//
// Nothing here is computed in floating point but the first step: a scaled value
// v becomes the integer ⌊v·2²⁰ + ½⌋. From there to the noisy sums all is integer
// and rational arithmetic on the lattice 2⁻⁴⁰, so that sums do not depend on the
// order of rows, sensitivities hold as they are proved (docs/sensitivity.md),
// and noise lies on the same lattice as what it hides (docs/mechanism-laplace.md;
// Casacuberta et al., Widespread Underestimation of Sensitivity in Differentially
// Private Libraries and How to Fix It, CCS 2022).
package ssp

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// LatticeBits is the number of binary digits that a scaled value keeps. Values
// are multiples of 2^-LatticeBits, statistics of 2^-(2·LatticeBits).
const LatticeBits = 20

// MaxRows is the largest number of rows that an Accumulator takes.
const MaxRows = 10_000_000_000

const (
	unit = 1 << LatticeBits

	// A product of two values is at most 2⁴⁰, so 2²² of them fit in an int64
	// with a bit to spare; then the partial sums are carried to 128 bits.
	carryEvery = 1 << 22
)

// Accumulator sums rows of m values exactly. It is not safe for concurrent use:
// give each worker its own, and Merge them. The result is the same, bit for bit,
// however rows are ordered or divided.
type Accumulator struct {
	n       int64
	partial []int64  // sums of the rows since the last carry, canonical order
	pending int      // how many rows those are
	total   []int128 // sums before the last carry
	k       []int64  // the row at hand, as integers
}

// int128 is hi·2⁶⁴ + lo, two's complement. MaxRows rows of 2⁴⁰ need 74 bits.
type int128 struct {
	hi int64
	lo uint64
}

func (a int128) add(b int128) int128 {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	return int128{a.hi + b.hi + int64(carry), lo}
}

// widen extends the sign of x.
func widen(x int64) int128 { return int128{x >> 63, uint64(x)} }

// NewAccumulator returns an empty accumulator for rows of m values, m ≥ 1:
// p covariates and the response. It panics if m < 1.
func NewAccumulator(m int) *Accumulator {
	if m < 1 {
		panic("ssp: an accumulator needs at least one column")
	}
	length := m + m*(m+1)/2
	return &Accumulator{
		partial: make([]int64, length),
		total:   make([]int128, length),
		k:       make([]int64, m),
	}
}

// Dim is m, the length of a row.
func (a *Accumulator) Dim() int { return len(a.k) }

// N is the number of rows added.
func (a *Accumulator) N() int64 { return a.n }

// Add adds a row: m values in the order of v, scaled to [-1,1]. Each is rounded
// once, to ⌊v·2²⁰ + ½⌋ (the sum in float64; the product is exact). It is an
// error, and the row is not added, if a value is not in [-1,1] or is not a
// number, or if MaxRows is reached. Add panics if the row has not length m. It
// allocates nothing.
func (a *Accumulator) Add(row []float64) error {
	k := a.k
	if len(row) != len(k) {
		panic(fmt.Sprintf("ssp: a row of length %d for %d columns", len(row), len(k)))
	}
	if a.n >= MaxRows {
		return errTooManyRows
	}
	if err := integers(k, row); err != nil {
		return err
	}
	a.addIntegers()
	return nil
}

// integers rounds values of a row to the lattice.
func integers(k []int64, row []float64) error {
	for j, v := range row {
		if !(v >= -1 && v <= 1) {
			return fmt.Errorf("column %d of a scaled row is not a number in [-1, 1]", j+1)
		}
		k[j] = int64(math.Floor(float64(v*unit) + 0.5))
	}
	return nil
}

var errTooManyRows = errors.New("too many rows: at most 10,000,000,000 can be summed")

// addIntegers adds a.k: the linear sums, as k·2²⁰ on the lattice 2⁻⁴⁰, and the
// upper triangle of products.
func (a *Accumulator) addIntegers() {
	k := a.k
	linear, products := a.partial[:len(k)], a.partial[len(k):]
	for j, kj := range k {
		linear[j] += kj << LatticeBits
		tail := k[j:]
		row := products[:len(tail)]
		for i, ki := range tail {
			row[i] += kj * ki
		}
		products = products[len(tail):]
	}
	a.n++
	if a.pending++; a.pending == carryEvery {
		a.carry()
	}
}

// carry moves the partial sums to the totals.
func (a *Accumulator) carry() {
	for i, p := range a.partial {
		a.total[i] = a.total[i].add(widen(p))
		a.partial[i] = 0
	}
	a.pending = 0
}

// Merge adds the rows of b to a; b keeps its own. It is an error, and a is
// unchanged, if the two have different numbers of columns or together more than
// MaxRows rows.
func (a *Accumulator) Merge(b *Accumulator) error {
	if a.Dim() != b.Dim() {
		return fmt.Errorf("cannot merge sums over %d columns with sums over %d", a.Dim(), b.Dim())
	}
	if b.n > MaxRows-a.n {
		return errTooManyRows
	}
	a.carry()
	for i := range a.total {
		a.total[i] = a.total[i].add(b.total[i]).add(widen(b.partial[i]))
	}
	a.n += b.n
	return nil
}

// Statistics returns the sums so far. Rows added later do not change it.
func (a *Accumulator) Statistics() *Statistics {
	a.carry()
	return &Statistics{
		N:   a.n,
		m:   a.Dim(),
		sum: append([]int128{}, a.total...),
	}
}

// Format prints no sum, whatever the verb: an accumulator in a log line must not
// publish what it holds.
func (a Accumulator) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "ssp.Accumulator(%d columns, sums withheld)", a.Dim())
}
