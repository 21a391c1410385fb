package adassp

import (
	"math/big"

	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/ssp"
)

// sums are XᵀX, of which the upper triangle counts, and Xᵀy, in units of the lattice.
type sums struct {
	xx [][]*big.Int
	xy []*big.Int
}

// newSums arranges the exact sums of m = p + 1 columns.
func newSums(s *ssp.Statistics, intercept bool) *sums {
	m, z := s.Dim(), s.BigInts()
	p := m - 1
	first := 0
	if intercept {
		first = 1
	}
	q := p + first
	x := &sums{xx: make([][]*big.Int, q), xy: make([]*big.Int, q)}
	for i := range x.xx {
		x.xx[i] = make([]*big.Int, q)
	}
	if intercept {
		x.xx[0][0] = new(big.Int).Lsh(big.NewInt(s.N), latticeBits)
		x.xy[0] = z[p]
	}
	for j := range p {
		if intercept {
			x.xx[0][j+1] = z[j]
		}
		for k := j; k < p; k++ {
			x.xx[first+j][first+k] = z[release.Index(m, j, k)]
		}
		x.xy[first+j] = z[release.Index(m, j, p)]
	}
	return x
}

// secret is the unique entries of XᵀX, without the first where it is a public number of rows.
func (x *sums) secret(public bool) (z []*big.Int) {
	for i := range x.xx {
		z = append(z, x.xx[i][i:]...)
	}
	if public {
		z = z[1:]
	}
	return z
}

// leastEigenvalue returns max(0, ⌈λ⌉ − 1) for the least eigenvalue λ ≥ 0 of an integer matrix,
// of which it reads the upper triangle, exactly: the largest integer t > 0 for which A − tI
// is positive definite, or 0. Where λ moves by an integer at most, so does this.
func leastEigenvalue(a [][]*big.Int) *big.Int {
	low, high := new(big.Int), new(big.Int).Set(a[0][0]) // low ≤ t ≤ high, as λ ≤ a_ii
	for i := range a {
		if a[i][i].Cmp(high) < 0 {
			high.Set(a[i][i])
		}
	}
	one := big.NewInt(1)
	for low.Cmp(high) < 0 {
		middle := new(big.Int).Add(low, high)
		middle.Add(middle, one).Rsh(middle, 1)
		if definite(a, middle) {
			low = middle
		} else {
			high = middle.Sub(middle, one)
		}
	}
	return low
}

// definite tells whether A − tI is positive definite: whether all pivots are positive in
// elimination without fractions (Bareiss 1968, Sylvester's Identity and Multistep
// Integer-Preserving Gaussian Elimination), with pivot π and the one before it π′,
//
//	a_ij ← (a_ij π − a_ki a_kj) / π′.
func definite(a [][]*big.Int, t *big.Int) bool {
	work := make([][]*big.Int, len(a))
	for i := range a {
		work[i] = make([]*big.Int, len(a))
		for j := i; j < len(a); j++ {
			work[i][j] = new(big.Int).Set(a[i][j])
		}
		work[i][i].Sub(work[i][i], t)
	}
	var product big.Int
	before := big.NewInt(1)
	for k, row := range work {
		pivot := row[k]
		if pivot.Sign() <= 0 {
			return false
		}
		for i := k + 1; i < len(work); i++ {
			for j := i; j < len(work); j++ {
				v := work[i][j]
				v.Mul(v, pivot).Sub(v, product.Mul(row[i], row[j])).Quo(v, before)
			}
		}
		before = pivot
	}
	return true
}
