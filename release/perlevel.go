package release

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/schema"
)

// Products of columns may have been released within each level (Levels.Products), as sums are. Then sums of the products
// of the factor's dummies with other columns follow, too, and those are columns of the release: of these alone counts,
// sums and products are not.

// InLevel is what a column is within a level, Constant + Slope·v, both in scaled units: v is the one at a place among
// the columns that sums are of, the response last; the place is 0 where Slope is.
type InLevel struct {
	At              int
	Constant, Slope float64
}

// WithinLevels returns the places of the columns of a design that sums within the levels of a factor are of, all but the
// k dummies, which are the first, and their products; and what each column is in each level. With a dummy d and a
// column x of middle c and half width h, their product, of c′ and h′, is dx: in the dummy's level
//
//	(x − c′)/h′ = (c − c′)/h′ + (h/h′)v,   elsewhere −c′/h′.
//
// It is an error where a product stands without its column.
func WithinLevels(d *schema.Design, factor string, k int) (own []int, all [][]InLevel, err error) {
	m, f := len(d.Covariates)+1, d.Frame()
	place, dummies, bases := make([]int, m), make([]int, m), make([]int, m)
	for j := k; j < m; j++ {
		if dummies[j], bases[j], err = d.Crossing(j, factor); err != nil {
			return nil, nil, err
		}
		if dummies[j] < 0 {
			place[j] = len(own)
			own = append(own, j)
		}
	}
	for l := range k + 1 {
		row := make([]InLevel, m)
		for j := range m {
			switch g, b := dummies[j], bases[j]; {
			case j < k:
				row[j].Constant = -1
				if j == l-1 {
					row[j].Constant = 1
				}
			case g < 0:
				row[j] = InLevel{place[j], 0, 1}
			case g == l-1:
				row[j] = InLevel{place[b], (f.Centre[b] - f.Centre[j]) / f.Half[j], f.Half[b] / f.Half[j]}
			default:
				row[j].Constant = -f.Centre[j] / f.Half[j]
			}
		}
		all = append(all, row)
	}
	return own, all, nil
}

// PerLevel tells whether products are per level, of several.
func (l *Levels) PerLevel() bool { return l != nil && len(l.Products) > 1 }

// OwnColumns are those that sums within levels are of, the response last.
func (r *Release) OwnColumns() (all []schema.Column) {
	k, columns := r.Levels.Dummies(), r.Schema.Columns()
	if !r.Levels.PerLevel() {
		return columns[k:]
	}
	own, _, _ := WithinLevels(&r.Schema, r.Levels.Factor, k) // of a schema that was checked
	for _, j := range own {
		all = append(all, columns[j])
	}
	return all
}

// Crossed is the factor of whose products with other columns sums follow; empty where there is none.
func (l *Levels) Crossed() string {
	if !l.PerLevel() {
		return ""
	}
	return l.Factor
}

// follow are the statistics that follow from what has noise.
func (r *Release) follow() []float64 {
	l := r.Levels
	if !l.PerLevel() {
		return l.statistics(r.Dim(), float64(r.N), r.products())
	}
	_, all, _ := WithinLevels(&r.Schema, l.Factor, l.Dummies()) // of a schema that was checked
	s, counts := make([]float64, Length(r.Dim())), l.CountsOf(float64(r.N))
	for i, of := range all {
		AddLevel(s, of, counts[i], slices.Concat(l.Sums[i], l.Products[i]))
	}
	return s
}

// CountsOf are the rows of all levels of n in all: those told, moved alike where they do not add up to n.
func (l *Levels) CountsOf(n float64) []float64 {
	counts, more := slices.Clone(l.Counts), n
	for _, count := range counts {
		more -= count
	}
	if len(counts) < len(l.Sums) {
		return append([]float64{more}, counts...)
	}
	for i := range counts {
		counts[i] += more / float64(len(counts))
	}
	return counts
}

// AddLevel adds to canonical statistics of all columns those of n rows of a level, in which the columns that sums are of
// have the statistics z.
func AddLevel(s []float64, of []InLevel, n float64, z []float64) {
	m := len(of)
	q := of[m-1].At + 1
	for j, a := range of {
		s[j] += a.Constant*n + a.Slope*z[a.At]
		for h := j; h < m; h++ {
			b := of[h]
			s[Index(m, j, h)] += a.Constant*b.Constant*n + a.Constant*b.Slope*z[b.At] + a.Slope*b.Constant*z[a.At] +
				a.Slope*b.Slope*z[Index(q, a.At, b.At)]
		}
	}
}

// perLevelSD is what noise on each entry is in all statistics; AddLevel has the factors.
func (r *Release) perLevelSD() []float64 {
	l, m := r.Levels, r.Dim()
	_, all, _ := WithinLevels(&r.Schema, l.Factor, l.Dummies()) // of a valid release
	sd := make([]float64, Length(m))
	of := func(at int, j, h int) {
		square, byCount := 0.0, make([]float64, len(all))
		for i, row := range all {
			a, b := row[j], InLevel{Constant: 1}
			if h < m {
				b = row[h]
			}
			first, second := b.Constant*a.Slope, a.Constant*b.Slope
			if a.At == b.At {
				first, second = first+second, 0
			}
			square += a.Slope*a.Slope*b.Slope*b.Slope + first*first + second*second
			byCount[i] = a.Constant * b.Constant
		}
		for i := range l.Counts { // of public n, what a level gains others lose
			change := byCount[len(byCount)-len(l.Counts)+i]
			switch {
			case len(l.Counts) < len(all):
				change -= byCount[0]
			case r.Neighbours() == ReplaceOne:
				change -= floats.Sum(byCount) / float64(len(all))
			}
			square += change * change
		}
		sd[at] = r.Noise.SD() * math.Sqrt(square)
	}
	for j := range m {
		of(j, j, m)
		for h := j; h < m; h++ {
			of(Index(m, j, h), j, h)
		}
	}
	return sd
}

// ownPlaces are those, among the columns that sums are of, of such columns of a model whose columns are at these places.
func (r *Release) ownPlaces(d *schema.Design, at []int) (places []int, err error) {
	wanted, _, err := WithinLevels(d, r.Levels.Factor, r.Levels.Dummies())
	own, _, _ := WithinLevels(&r.Schema, r.Levels.Factor, r.Levels.Dummies()) // of a valid release
	for _, j := range wanted {
		places = append(places, slices.Index(own, at[j]))
	}
	return places, err
}

func (l *Levels) validatePerLevel(q int) error {
	if len(l.Products) != len(l.Sums) {
		return fmt.Errorf("must have %d rows, one for each level, not %d", len(l.Sums), len(l.Products))
	}
	for i, row := range l.Products {
		if want := Length(q) - q; len(row) != want {
			return within(index(i), fmt.Errorf("must have %d entries, one for each product of two of the %d columns that sums are of, not %d", want, q, len(row)))
		}
	}
	return nil
}
