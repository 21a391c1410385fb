// Package ssp is the custodian's side of dpreg: sufficient statistics
// perturbation (Vu & Slavković 2009; Foulds et al. 2016; Bernstein & Sheldon
// 2019). It sums rows exactly, knows how much one row can change the sums, and
// publishes the sums with the noise that this calls for.
//
// With v = (x_1, …, x_p, y) in [-1,1]^m, m = p+1, the statistics are the m
// linear sums Σ v_j and the m(m+1)/2 quadratic ones Σ v_j v_k, j ≤ k, in the
// canonical order of package release.
//
// Nothing here is rounded but at the first step: a scaled value v becomes the
// integer ⌊v·2²⁰ + ½⌋. From there to the noisy sums all is integer and rational
// arithmetic on the lattice 2⁻⁴⁰ (products are summed in float64 by the block, whose
// sums are integers that it holds exactly), so that sums do not depend on the
// order of rows, sensitivities hold as they are proved (docs/sensitivity.md),
// and noise lies on the same lattice as what it hides (docs/mechanism-laplace.md;
// Casacuberta et al., Widespread Underestimation of Sensitivity in Differentially
// Private Libraries and How to Fix It, CCS 2022).
package ssp

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/bits"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// LatticeBits is the number of binary digits that a scaled value keeps. Values
// are multiples of 2^-LatticeBits, statistics of 2^-(2·LatticeBits).
const LatticeBits = 20

// MaxRows is the largest number of rows that an Accumulator takes.
const MaxRows = 1_000_000_000_000

const (
	unit = 1 << LatticeBits

	// blockRows is the number of rows of which products are summed at once. A
	// product is at most 2⁴⁰, so their sums stay far below 2⁵³.
	blockRows = 256

	// Columns of a block begin a cache line more than blockRows apart, so that the
	// values of a row do not fall into the same sets of a cache.
	stride = blockRows + 8
)

// Accumulator sums rows of m values exactly. It is not safe for concurrent use:
// give each worker its own, and Merge them. The result is the same, bit for bit,
// however rows are ordered or divided.
//
// Rows wait in a block, column by column, until it is full; then its Gram matrix is
// added to the totals. The block holds integers, and so do all its partial sums: they
// are exact in float64, in whatever order and with whatever instructions they are
// computed, so that the fast kernel of a BLAS serves.
type Accumulator struct {
	withheld
	n     int64
	m     int
	total []int128  // sums of full blocks, canonical order
	block []float64 // columns of integers, stride apart: 2²⁰ throughout, then k_1, …, k_m
	rows  int       // of the block
	gram  []float64 // of the block: (m+1)×(m+1), upper triangle
}

// int128 is hi·2⁶⁴ + lo, two's complement. MaxRows rows of 2⁴⁰ need 81 bits.
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
	a := &Accumulator{
		m:     m,
		total: make([]int128, m+m*(m+1)/2),
		block: make([]float64, (m+1)*stride),
		gram:  make([]float64, (m+1)*(m+1)),
	}
	for i := range blockRows {
		a.block[i] = unit
	}
	return a
}

// AddRows adds rows that lie one after another: m values each in the order of v, scaled
// to [-1,1], each rounded once, to ⌊v·2²⁰ + ½⌋ (the sum in float64; the product is
// exact). It is an error if a value is not in [-1,1] or is not a number, or if MaxRows is
// reached: the row is not added, nor those behind it; those before it are. It panics if
// the length of rows is no multiple of m. It allocates nothing.
func (a *Accumulator) AddRows(rows []float64) error {
	m := a.m
	if len(rows)%m != 0 {
		panic(fmt.Sprintf("ssp: rows of length %d for %d columns", len(rows), m))
	}
	for ; len(rows) > 0; rows = rows[m:] {
		if a.n >= MaxRows {
			return errTooManyRows
		}
		at := stride + a.rows
		for j, v := range rows[:m] {
			k, ok := toLattice(v)
			if !ok {
				return offBox(j)
			}
			a.block[at] = k
			at += stride
		}
		a.n++
		if a.rows++; a.rows == blockRows {
			a.carry()
		}
	}
	return nil
}

// AddPerson adds what a person adds to the sums, in canonical order and units of 2⁻⁴⁰: as a row
// adds its values and their products, or as several do that together count as one
// (persons.Group.Sums).
func (a *Accumulator) AddPerson(sums []int64) error {
	if a.n >= MaxRows {
		return errTooManyRows
	}
	a.n++
	for i, sum := range sums {
		a.total[i] = a.total[i].add(widen(sum))
	}
	return nil
}

// toLattice is ⌊v·2²⁰ + ½⌋; ok tells whether v is in [-1,1].
func toLattice(v float64) (k float64, ok bool) {
	return math.Floor(float64(v*unit) + 0.5), v >= -1 && v <= 1
}

func offBox(j int) error {
	return fmt.Errorf("column %d of a scaled row is not a number in [-1, 1]", j+1)
}

var errTooManyRows = errors.New("too many rows: at most 1,000,000,000,000 can be summed")

// carry moves the sums of the block to the totals. With a = (2²⁰, k_1, …, k_m) the
// upper triangle of Σ a aᵀ is, below its first entry, the linear sums on the lattice
// 2⁻⁴⁰ and then the products, in canonical order.
func (a *Accumulator) carry() {
	if a.rows == 0 {
		return
	}
	d := a.m + 1
	columns := blas64.General{Rows: d, Cols: a.rows, Stride: stride, Data: a.block}
	gram := blas64.Symmetric{N: d, Stride: d, Data: a.gram, Uplo: blas.Upper}
	blas64.Syrk(blas.NoTrans, 1, columns, 0, gram)
	i := 0
	for j := range d {
		for _, sum := range a.gram[j*d+max(j, 1) : (j+1)*d] {
			a.total[i] = a.total[i].add(widen(int64(sum)))
			i++
		}
	}
	a.rows = 0
}

// Merge adds the rows of other, an *Accumulator, to a; other keeps its own. It is an error, and
// the sums of a are unchanged, if the two have different numbers of columns or together more
// than MaxRows rows.
func (a *Accumulator) Merge(other Summand) error {
	b, ok := other.(*Accumulator)
	if !ok {
		return errOthers
	}
	if a.m != b.m {
		return fmt.Errorf("cannot merge sums over %d columns with sums over %d", a.m, b.m)
	}
	if b.n > MaxRows-a.n {
		return errTooManyRows
	}
	a.carry()
	b.carry()
	for i, sum := range b.total {
		a.total[i] = a.total[i].add(sum)
	}
	a.n += b.n
	return nil
}

// Statistics returns the sums so far. Rows added later do not change it.
func (a *Accumulator) Statistics() *Statistics {
	a.carry()
	return &Statistics{
		N:   a.n,
		m:   a.m,
		sum: append([]int128{}, a.total...),
	}
}

// withheld prints in place of what has it, whatever the verb: an accumulator in a log line
// must not publish the sums and counts that it holds.
type withheld struct{}

func (withheld) Format(f fmt.State, _ rune) { fmt.Fprint(f, "ssp: withheld") }

// Statistics are exact sums over N rows of m values. They are not private:
// Publish makes a release of them. They print as a placeholder.
type Statistics struct {
	withheld
	N   int64
	m   int
	sum []int128 // canonical order, units of 2^-40
}

// Dim is m, the number of columns: the covariates and the response.
func (s *Statistics) Dim() int { return s.m }

// BigInts returns the m + m(m+1)/2 sums in canonical order, exactly, as
// multiples of 2^-40 in scaled units. The caller owns them.
func (s *Statistics) BigInts() []*big.Int {
	return bigInts(s.sum)
}

// Gram returns the upper triangle of Σ a aᵀ, a = (1, v), exactly, as multiples of 2^-40 in scaled
// units; below it are nils. The caller owns it.
func (s *Statistics) Gram() [][]*big.Int {
	rest, gram := append([]*big.Int{s.rows()}, s.BigInts()...), make([][]*big.Int, s.m+1)
	for i := range gram {
		own := len(gram) - i
		gram[i], rest = append(make([]*big.Int, i), rest[:own]...), rest[own:]
	}
	return gram
}

func bigInts(sum []int128) []*big.Int {
	z := make([]*big.Int, len(sum))
	for i, x := range sum {
		z[i] = new(big.Int).Lsh(big.NewInt(x.hi), 64)
		z[i].Add(z[i], new(big.Int).SetUint64(x.lo))
	}
	return z
}

// Vector returns the sums in canonical order and scaled units, each correctly
// rounded to float64.
func (s *Statistics) Vector() []float64 { return toScaled(s.BigInts(), 2*LatticeBits) }

// toScaled converts multiples of 2^-digits to float64, rounding once, to nearest and
// ties to even: the conversion of the integer rounds, the power of two is exact.
func toScaled(z []*big.Int, digits int) []float64 {
	v := make([]float64, len(z))
	for i, x := range z {
		f, _ := x.Float64()
		v[i] = math.Ldexp(f, -digits)
	}
	return v
}
