package model

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dpreg/dpreg/internal/dense"
)

// The projection ends when the two sets' iterates are within momentTolerance
// in Frobenius norm: M is positive semidefinite to that, and the rest holds
// exactly.
const (
	momentTolerance  = 1e-9
	momentIterations = 20_000
)

// projectMoments replaces M by the nearest matrix, in Frobenius norm, in the
// intersection of two convex sets that hold the moments of every x in [−1, 1]^p:
//
//	the positive semidefinite matrices, and
//	M₀₀ = 1, entries of one and the same moment equal and in [−1, 1],
//
// by Dykstra's alternating projections (Boyle & Dykstra 1986): each set's
// projection is applied to the iterate plus what the same projection took off
// before,
//
//	Y = P₁(X + I₁), I₁ ← X + I₁ − Y;   X = P₂(Y + I₂), I₂ ← Y + I₂ − X.
//
// Neither set alone would do: a moment matrix with noise has negative
// eigenvalues, and clipping them makes one moment two numbers. Errors: numbers not
// finite; no end within momentIterations.
func projectMoments(x *XMoments) error {
	d := monomials(x.P)
	square := func() []float64 { return make([]float64, d*d) }
	cone := psdCone{n: d, values: make([]float64, d), vectors: square(), work: square()}
	same := sameMoments(x.P)
	y, first, second := square(), square(), square()
	for range momentIterations {
		for i, v := range x.M {
			first[i] += v
		}
		if !cone.project(y, first) {
			return errors.New("the released moments are too large to be moments")
		}
		distance := 0.0
		for i, v := range y {
			first[i] -= v
			second[i] += v
		}
		copy(x.M, second)
		equate(x.M, same)
		for i, v := range x.M {
			second[i] -= v
			distance += (v - y[i]) * (v - y[i])
		}
		if math.Sqrt(distance) < momentTolerance {
			return nil
		}
	}
	return fmt.Errorf("no valid covariance of the statistics: the released moments are too far from those of any distribution to be projected (%d iterations); n·ε is too small for this method, take gibbs-ss-update", momentIterations)
}

// psdCone projects symmetric matrices to the positive semidefinite ones: their
// eigenvalues are clipped at 0.
type psdCone struct {
	n             int
	values        []float64
	vectors, work []float64
}

func (c *psdCone) project(dst, a []float64) bool {
	n := c.n
	if !dense.SymEigen(c.values, c.vectors, a, n, c.work) {
		return false
	}
	for j, v := range c.values {
		scale := math.Sqrt(max(0, v))
		for i := range n {
			c.vectors[i*n+j] *= scale
		}
	}
	dense.MulABt(dst, c.vectors, c.vectors, n, n, n)
	return true
}

// sameMoments lists the places in M of each moment, the constant's first.
func sameMoments(p int) [][]int {
	u := factors(p)
	d := len(u)
	var places [][]int
	index := map[string]int{}
	for r := range d {
		for c := range d {
			f := slices.Sorted(slices.Values(slices.Concat(u[r], u[c])))
			key := fmt.Sprint(f)
			if _, ok := index[key]; !ok {
				index[key] = len(places)
				places = append(places, nil)
			}
			places[index[key]] = append(places[index[key]], r*d+c)
		}
	}
	return places
}

// equate gives the places of one moment their mean, clipped to [−1, 1], and the
// constant 1.
func equate(m []float64, same [][]int) {
	for i, places := range same {
		mean := 0.0
		for _, at := range places {
			mean += m[at] / float64(len(places))
		}
		if mean = min(1, max(-1, mean)); i == 0 {
			mean = 1
		}
		for _, at := range places {
			m[at] = mean
		}
	}
}
