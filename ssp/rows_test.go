package ssp

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

func mustAdd(t testing.TB, a *Accumulator, rows ...[]float64) {
	t.Helper()
	for _, row := range rows {
		must.Do(t, a.Add(row))
	}
}

// randomRows has uniform values, edges and multiples of the lattice's half step.
func randomRows(rng *rand.Rand, n, m int) [][]float64 {
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = make([]float64, m)
		for j := range rows[i] {
			switch rng.IntN(4) {
			case 0:
				rows[i][j] = float64(rng.IntN(3) - 1)
			case 1:
				rows[i][j] = (float64(rng.IntN(2*unit)) - unit + 0.5) / unit
			default:
				rows[i][j] = 2*rng.Float64() - 1
			}
		}
	}
	return rows
}

// reference sums in big integers, straight from the definition.
func reference(rows [][]float64, m int) []*big.Int {
	z := make([]*big.Int, m+m*(m+1)/2)
	for i := range z {
		z[i] = new(big.Int)
	}
	k := make([]*big.Int, m)
	for _, row := range rows {
		for j, v := range row {
			k[j] = big.NewInt(int64(math.Floor(v*unit + 0.5)))
		}
		i := m
		for j := range k {
			z[j].Add(z[j], new(big.Int).Lsh(k[j], LatticeBits))
			for l := j; l < m; l++ {
				z[i].Add(z[i], new(big.Int).Mul(k[j], k[l]))
				i++
			}
		}
	}
	return z
}

func equalInts(a, b []*big.Int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Cmp(b[i]) != 0 {
			return false
		}
	}
	return true
}
