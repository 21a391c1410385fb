package ssp

import (
	"fmt"
	"math"
	"math/big"
)

// Statistics are exact sums over N rows of m values. They are not private:
// Publish makes a release of them. They print as a placeholder.
type Statistics struct {
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

// Format prints no sum, whatever the verb.
func (s Statistics) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "ssp.Statistics(%d columns, sums withheld)", s.m)
}
