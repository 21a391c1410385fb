package release

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/schema"
)

// cellsOf are those of several factors, as Levels.Factor names them; nil where it names one.
func cellsOf(d *schema.Design, factor string) (*schema.Cells, error) {
	for _, c := range d.Columns() {
		if c.FactorName() == factor {
			return nil, nil
		}
	}
	factors := schema.Crossed(factor)
	if factors == nil {
		return nil, nil
	}
	return d.Cells(factors)
}

func cellsFirst(d *schema.Design, factor string, cells *schema.Cells) (*schema.Design, int, error) {
	switch n := len(cells.Names); {
	case n > MaxLevels:
		return nil, 0, fmt.Errorf("%q has %d levels: sums by levels are of at most %d, so merge some, or name fewer columns", factor, n, MaxLevels)
	case !d.Intercept:
		return nil, 0, fmt.Errorf("sums by the levels of %q need a model with an intercept", factor)
	}
	return cells.Indicated(d), len(cells.Names) - 1, nil
}

// OfCells is the design of a model of a release of sums by the levels of several factors, in the order of its columns, and
// their coding, as Levels has it; nil where they are of one. The design of the release is that of LevelsFirst.
func OfCells(d *schema.Design, factor, formula string) (*schema.Design, [][]float64, error) {
	cells, err := cellsOf(d, factor)
	if cells == nil {
		return nil, nil, err
	}
	return coded(cells, d, formula)
}

func coded(cells *schema.Cells, d *schema.Design, formula string) (*schema.Design, [][]float64, error) {
	design, coding, err := cells.Select(d, formula)
	for _, row := range coding {
		for i, v := range row {
			row[i] = 2*v - 1
		}
	}
	return design, coding, err
}

// Indicate makes rows of the columns of LevelsFirst of rows of d's, of several factors, in scaled units: each as long as
// d has columns, the response last. A row in no cell is an error, which tells nothing of it.
func Indicate(d *schema.Design, factor string, rows []float64) ([]float64, error) {
	cells, err := cellsOf(d, factor)
	if err != nil {
		return nil, err
	}
	return cells.Indicate(d, rows)
}

// selectCells is Select of a release of sums by the cells of several factors.
func (r *Release) selectCells(cells *schema.Cells, formula string) (*Release, error) {
	refused := func(err error) error {
		return fmt.Errorf("formula %q: this release has its sums by the levels of %s: %w", formula, r.Levels.Factor, err)
	}
	factors, of, err := cells.Merge(&r.Schema, formula)
	if err != nil {
		return nil, refused(err)
	}
	if n := len(factors); n < len(cells.Factors()) {
		factor := schema.Named(factors)
		design, k, err := LevelsFirst(cells.Additive(&r.Schema), factor)
		if err != nil {
			return nil, refused(err)
		}
		merged, err := r.merged(design.Covariates[:k], factor, of).Select(formula)
		if err != nil { // which knows of the merged cells alone
			err = refused(fmt.Errorf("a model of it has an intercept and, each as a whole, some of %s or none among its covariates", schema.Listed(cells.Factors())))
		}
		return merged, err
	}
	design, coding, err := coded(cells, &r.Schema, formula)
	if err != nil {
		return nil, refused(err)
	}
	k, have := r.Levels.Dummies(), r.Schema.Columns()
	wanted := r.Schema
	wanted.Response = design.Response
	wanted.Covariates = slices.Concat(have[:k], design.Covariates[len(coding[0]):])
	at := schema.Places(wanted.Columns(), have)
	if _, err := r.pickLevels(&wanted, at); err != nil {
		return nil, refused(err)
	}
	out := r.take(&wanted, at)
	products := out.products()
	out.Levels.Coding, out.Schema = coding, *design
	out.Statistics = StatisticsFromVector(out.Dim(), out.Levels.coded(out.Dim(), float64(r.N), products))
	return out, nil
}

// takeCoding takes that of a model, where columns are not the indicators of cells, as a file leaves it out.
func (r *Release) takeCoding() {
	if r.Levels == nil {
		return
	}
	cells, _ := cellsOf(&r.Schema, r.Levels.Factor)
	if cells == nil {
		return
	}
	if first := cells.Indicated(&r.Schema); !slices.Equal(schema.Names(first.Covariates), schema.Names(r.Schema.Covariates)) {
		if _, coding, err := coded(cells, first, r.Schema.Formula().String()); err == nil { // else Validate says what is wrong
			r.Levels.Coding = coding
		}
	}
}

// coded are statistics as Levels has them, of products of columns behind those of Coding. Where n is public, counts are
// those of CountsOf.
func (l *Levels) coded(m int, n float64, products []float64) []float64 {
	k, s := l.Dummies(), make([]float64, Length(m))
	for level, count := range l.CountsOf(n) {
		own := l.Coding[level]
		for i, u := range own {
			s[i] += u * count
			for h := i; h < k; h++ {
				s[Index(m, i, h)] += u * own[h] * count
			}
			for j, v := range l.Sums[level] {
				s[Index(m, i, k+j)] += u * v
			}
		}
		for j, v := range l.Sums[level] {
			s[k+j] += v
		}
	}
	copy(s[Index(m, k, k):], products)
	return s
}

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
