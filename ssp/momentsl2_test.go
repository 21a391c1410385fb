package ssp

import (
	"fmt"
	"math"
	"testing"

	"github.com/dpreg/dpreg/release"
)

// box is a product of intervals with dyadic ends of at most 12 digits, of which
// float64 has powers up to the fourth exactly.
type box struct{ low, high []float64 }

// powers returns the range of the monomial with these exponents.
func (b box) powers(e []int) (low, high float64) {
	low, high = 1, 1
	for j, k := range e {
		for range k / 2 { // squares
			l, h := b.low[j]*b.low[j], b.high[j]*b.high[j]
			if l > h {
				l, h = h, l
			}
			if b.low[j] < 0 && b.high[j] > 0 {
				l = 0
			}
			low, high = product(low, high, l, h)
		}
		if k%2 == 1 {
			low, high = product(low, high, b.low[j], b.high[j])
		}
	}
	return low, high
}

func product(a, b, c, d float64) (low, high float64) {
	return min(a*c, a*d, b*c, b*d), max(a*c, a*d, b*c, b*d)
}

// rounding is far above what float64 can err in sums of a hundred terms below 64.
const rounding = 1e-9

// above is an upper bound of Σ_α (1 − u^α)² over the box, which at a corner of
// [−1, 1]^m is the sum itself, of whole numbers.
func (b box) above(all [][]int) float64 {
	sum, corner := rounding, true
	for j := range b.low {
		corner = corner && b.low[j] == b.high[j] && math.Abs(b.low[j]) == 1
	}
	for _, e := range all {
		l, _ := b.powers(e)
		sum += (1 - l) * (1 - l)
	}
	if corner {
		sum -= rounding
		sum = math.Round(sum)
	}
	return sum
}

// slope bounds the derivative along variable j: Σ_α −2α_j (1 − u^α) u^(α − e_j).
func (b box) slope(all [][]int, j int) (low, high float64) {
	low, high = -rounding, rounding
	for _, e := range all {
		if e[j] == 0 {
			continue
		}
		l, h := b.powers(e)
		less := append([]int{}, e...)
		less[j]--
		c, d := b.powers(less)
		c, d = product(1-h, 1-l, c, d)
		k := 2 * float64(e[j])
		low, high = low-k*d, high-k*c
	}
	return low, high
}

// TestMomentsL2IsCertified proves max_u Σ_α (1 − u^α)² ≤ the number used, over
// [−1, 1]^m, by branch and bound. A box on which the sum rises or falls along a
// variable, strictly, is replaced by the face where it is largest: a maximum in the box
// lies there. One whose bound is not above the number is done; else its longest side is
// halved. By symmetry a maximum has x₁ ≥ x₂ ≥ x₃, and y is at ±1 (docs/sensitivity.md). The moments alone, which package release checks files
// against, are done beside.
func TestMomentsL2IsCertified(t *testing.T) {
	for p := 1; p <= release.MaxMomentCovariates; p++ {
		alone := [...]float64{8, 24, 64}[p-1]
		if n := certify(t, p, 1, alone, monomials(p, false)); n == 0 {
			t.Fatal("no box was looked at")
		}
		used, _ := togetherL2Squared(p, release.ReplaceOne).Float64()
		attained := false
		for _, y := range []float64{-1, 1} {
			certify(t, p, y, used, monomials(p, true))
			for corner := range 1 << p {
				u := make([]float64, p+1)
				for j := range p {
					u[j] = float64(2*(corner>>j&1) - 1)
				}
				u[p] = y
				attained = attained || box{u, u}.above(monomials(p, true)) == used
			}
		}
		if !attained {
			t.Errorf("p = %d: %v is not attained", p, used)
		}
	}
}

func certify(t *testing.T, p int, y, limit float64, all [][]int) (seen int) {
	t.Helper()
	first := box{make([]float64, p+1), make([]float64, p+1)}
	for j := range p {
		first.low[j], first.high[j] = -1, 1
	}
	first.low[p], first.high[p] = y, y
	for todo := []box{first}; len(todo) > 0; seen++ {
		b := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if b.unordered(p) || b.above(all) <= limit {
			continue
		}
		if moved := b.toFace(all, p); moved {
			todo = append(todo, b)
			continue
		}
		longest := 0
		for j := range p {
			if b.high[j]-b.low[j] > b.high[longest]-b.low[longest] {
				longest = j
			}
		}
		width := b.high[longest] - b.low[longest]
		if width < 1./(1<<11) {
			t.Fatalf("p = %d, y = %v: %v above %v in %v", p, y, b.above(all), limit, b)
		}
		left, right := b.clone(), b.clone()
		left.high[longest] -= width / 2
		right.low[longest] += width / 2
		todo = append(todo, left, right)
	}
	return seen
}

// toFace moves the box to a face where the sum is largest along some variable, if a
// derivative is not 0 in the box; bounds of it are off by rounding already.
func (b box) toFace(all [][]int, p int) bool {
	for j := range p {
		if b.low[j] == b.high[j] {
			continue
		}
		switch low, high := b.slope(all, j); {
		case low >= 0:
			b.low[j] = b.high[j]
			return true
		case high <= 0:
			b.high[j] = b.low[j]
			return true
		}
	}
	return false
}

// unordered tells that x₁ ≥ x₂ ≥ … nowhere in the box.
func (b box) unordered(p int) bool {
	for j := range p - 1 {
		if b.high[j] < b.low[j+1] {
			return true
		}
	}
	return false
}

func (b box) clone() box {
	return box{append([]float64{}, b.low...), append([]float64{}, b.high...)}
}

func (b box) String() string { return fmt.Sprint(b.low, b.high) }
