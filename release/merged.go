package release

import (
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/schema"
)

// A model that lacks factors by whose levels sums are has the sums of levels that differ in these alone: rows, sums and,
// where they are per level, products add up, and so does their noise. A model that lacks all of them has one level, of no
// factor: sums over all rows, as of a release without levels, but with more noise.

// merged is a release of sums by the levels of those factors that are left, whose columns are the first; of each level of r
// it has the number of that which it is a part of. In the box a count of all rows tells nothing of a public n.
func (r *Release) merged(first []schema.Column, factor string, of []int) *Release {
	l, k, products := r.Levels, len(first), r.products()
	to := &Levels{Factor: factor, Counts: []float64{}, Sums: make([][]float64, k+1), Noise: l.Noise, Known: l.Known, Merged: max(1, l.Merged) * int64(len(of)/(k+1))}
	if k > 0 || r.Frame != nil || r.Neighbours() == AddRemove {
		to.Counts = make([]float64, k+1)
	}
	for level, at := range of {
		to.Sums[at] = plus(to.Sums[at], l.Sums[level])
		if len(to.Counts) > 0 {
			to.Counts[at] += l.Counts[level]
		}
	}
	if l.PerLevel() {
		products = nil
		for _, row := range l.Products {
			products = plus(products, row)
		}
		to.Products = [][]float64{products}
	}
	own := r.OwnColumns()
	out, q := *r, len(own)
	out.Schema.Covariates = slices.Concat(first, own[:q-1])
	out.Levels, out.Statistics = to, StatisticsFromVector(k+q, to.statistics(k+q, float64(r.N), products))
	return &out
}

// plus is a + b; nil is 0.
func plus(a, b []float64) []float64 {
	if a == nil {
		return slices.Clone(b)
	}
	floats.Add(a, b)
	return a
}
