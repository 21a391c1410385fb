package ssp

import (
	"fmt"
	"math/big"
	"math/bits"
	"slices"

	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
)

// Monomials of degree 3 and 4 in values k·2^-20 are multiples of 2^-80, at most
// 2⁸⁰ of them, and MaxRows rows need 121 bits: their sums are exact as well. Those of
// degree 1 and 2 stand among the statistics.
const momentBits = release.MomentDegree * LatticeBits

// leastSummed is the degree from which a MomentAccumulator sums.
const leastSummed = 3

// MomentAccumulator sums the monomials of degree 3 and 4 of the covariates of rows
// exactly: give it each row that an Accumulator gets. Like that one it is not safe
// for concurrent use, and merges to the same bits in any order.
type MomentAccumulator struct {
	withheld
	n       int64
	total   []int128 // in the order of release.MomentExponents
	values  []int64  // of the row at hand, in units of 2^-40: x_j, then x_j x_k, j ≤ k
	factors [][2]int // of each monomial, places in values
	p       int
}

// NewMomentAccumulator returns an empty accumulator for rows of p covariates and
// the response. It panics if p is not in 1 … release.MaxMomentCovariates.
func NewMomentAccumulator(p int) *MomentAccumulator {
	if p < 1 || p > release.MaxMomentCovariates {
		panic(fmt.Sprintf("ssp: moments of %d covariates", p))
	}
	all := release.MomentExponents(p, leastSummed)
	a := &MomentAccumulator{p: p, total: make([]int128, len(all)), values: make([]int64, release.Length(p))}
	for _, e := range all {
		var f []int
		for j, k := range e {
			f = append(f, slices.Repeat([]int{j}, k)...)
		}
		rest := f[2]
		if len(f) == 4 {
			rest = release.Index(p, f[2], f[3])
		}
		a.factors = append(a.factors, [2]int{release.Index(p, f[0], f[1]), rest})
	}
	return a
}

// AddRows adds rows as Accumulator.AddRows does, whatever their responses. It allocates nothing.
func (a *MomentAccumulator) AddRows(rows []float64) error {
	for ; len(rows) > 0; rows = rows[a.p+1:] {
		if err := a.add(rows[:a.p]); err != nil {
			return err
		}
	}
	return nil
}

func (a *MomentAccumulator) add(covariates []float64) error {
	if a.n >= MaxRows {
		return errTooManyRows
	}
	linear, products := a.values[:a.p], a.values[a.p:]
	for j, v := range covariates {
		k, ok := toLattice(v)
		if !ok {
			return offBox(j)
		}
		linear[j] = int64(k)
	}
	for j, kj := range linear {
		for i, ki := range linear[j:] {
			products[i] = kj * ki
		}
		products = products[a.p-j:]
	}
	for j := range linear {
		linear[j] <<= LatticeBits
	}
	for i, f := range a.factors {
		a.total[i] = a.total[i].add(times(a.values[f[0]], a.values[f[1]]))
	}
	a.n++
	return nil
}

// times is the product in two's complement: that of the bits as if without signs,
// less 2⁶⁴ times the other factor for each negative one.
func times(x, y int64) int128 {
	hi, lo := bits.Mul64(uint64(x), uint64(y))
	return int128{int64(hi) - (x>>63)&y - (y>>63)&x, lo}
}

// Merge adds the rows of b to a; b keeps its own. It is an error, and a is
// unchanged, if the two have different numbers of covariates or together more than
// MaxRows rows.
func (a *MomentAccumulator) Merge(b *MomentAccumulator) error {
	if a.p != b.p {
		return fmt.Errorf("cannot merge moments of %d covariates with those of %d", a.p, b.p)
	}
	if b.n > MaxRows-a.n {
		return errTooManyRows
	}
	for i, x := range b.total {
		a.total[i] = a.total[i].add(x)
	}
	a.n += b.n
	return nil
}

// N is the number of rows added.
func (a *MomentAccumulator) N() int64 { return a.n }

// BigInts returns the sums in the order of release.MomentExponents(p, 3), exactly,
// as multiples of 2^-80 in scaled units. The caller owns them. They are not private.
func (a *MomentAccumulator) BigInts() []*big.Int { return bigInts(a.total) }

// noised are the moments with the noise of c: those of degree 3 and 4, or all.
func (a *MomentAccumulator) noised(s *Statistics, c Calibration, e *mechanisms.Entropy) (*release.Moments, error) {
	z, least := a.BigInts(), leastSummed
	if !c.Together {
		z, least = slices.Concat(a.low(s), z), 1
	}
	if err := addNoise(c.Moments.Kind, []part{{z, c.Moments.Scale, momentBits}}, e); err != nil {
		return nil, err
	}
	return &release.Moments{
		Noise:     c.Moments,
		Exponents: release.MomentExponents(a.p, least),
		Sums:      toScaled(z, momentBits),
	}, nil
}

// low takes the moments of degree 1 and 2 from the statistics, in units of 2^-80.
// release.MomentExponents has them in canonical order.
func (a *MomentAccumulator) low(s *Statistics) []*big.Int {
	all := s.BigInts()
	z := slices.Clone(all[:a.p])
	for j := range a.p {
		first := release.Index(s.m, j, j)
		z = append(z, all[first:first+a.p-j]...)
	}
	for _, v := range z {
		v.Lsh(v, momentBits-2*LatticeBits)
	}
	return z
}
