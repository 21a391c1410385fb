package release

import (
	"slices"

	"github.com/dpreg/dpreg/schema"
)

// The factor by whose levels sums are may be the response, a truth value: of models whose response is it a
// family has the law. Such a release is that of a factor among the covariates, with columns in another order,
// the response first and the last covariate in its place: what is said of Levels is said of that one.

// LevelsAreOfResponse tells whether sums are by the levels of the response.
func (r *Release) LevelsAreOfResponse() bool {
	return r.Levels != nil && Responds(&r.Schema, r.Levels.Factor)
}

// OwnLaw is how many covariates, the first, are columns of factors with a law of their own.
func (r *Release) OwnLaw() int {
	if r.LevelsAreOfResponse() {
		return 0
	}
	return r.Levels.Dummies()
}

// Responds tells whether the response is the factor, of two levels.
func Responds(d *schema.Design, factor string) bool {
	return factor != "" && d.Response.FactorName() == factor && len(levelsOf(d, factor)) <= 2 && len(d.Covariates) > 0
}

// FactorFirst returns the release whose first covariates are the columns of the factor; r itself where they are, or
// there is none.
func (r *Release) FactorFirst() *Release {
	if !r.LevelsAreOfResponse() {
		return r
	}
	out := *r
	out.Schema, out.Statistics = *responseFirst(&r.Schema), r.Statistics.pick(factorFirst(r.Dim()))
	return &out
}

// FactorLast returns the release whose response is the factor, of one whose only first covariate it is.
func (r *Release) FactorLast() *Release {
	out, d := *r, r.Schema
	d.Covariates = append(slices.Clone(d.Covariates[1:]), d.Response)
	d.Response = r.Schema.Covariates[0]
	out.Schema, out.Statistics = d, r.Statistics.pick(factorLast(r.Dim()))
	return &out
}

// factorFirst are the places of m columns, the last before the others.
func factorFirst(m int) []int { return slices.Insert(upTo(m-1), 0, m-1) }

// factorLast are the places of m columns from the second on, and of the first.
func factorLast(m int) []int { return append(upTo(m)[1:], 0) }

func upTo(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

// responseFirst is the design with the response as the first covariate, and the last one as the response.
func responseFirst(d *schema.Design) *schema.Design {
	out, last := *d, len(d.Covariates)-1
	out.Response = d.Covariates[last]
	out.Covariates = append([]schema.Column{d.Response}, d.Covariates[:last]...)
	return &out
}

// asWanted are canonical statistics of FactorFirst in the order of r's columns.
func (r *Release) asWanted(z []float64) []float64 {
	if !r.LevelsAreOfResponse() {
		return z
	}
	s := StatisticsFromVector(r.Dim(), z)
	s = s.pick(factorLast(r.Dim()))
	return s.Vector()
}

// MeasuredOfResponse are the sums that have noise where they are by the levels of the response: combinations of
// canonical statistics, in a frame of those of FactorLast's columns in it.
func (r *Release) MeasuredOfResponse() []Combination {
	m, counts := r.Dim(), 1
	if r.Frame != nil {
		counts = 2
	}
	all, at := Combinations(m, 1, counts), picked(m, factorFirst(m))
	for _, c := range all {
		for i := range c.At {
			c.At[i] = at[c.At[i]]
		}
	}
	return all
}

// Combination is Σ Weight_i s_At(i) + Rows·n of canonical statistics s of n rows.
type Combination struct {
	At     []int
	Weight []float64
	Rows   float64
}

// LevelCounts is how many counts have noise in the box, of a factor of k dummies.
func LevelCounts(k int, nb Neighbours) int {
	if k <= 1 && nb == ReplaceOne {
		return k
	}
	return k + 1
}

// Combinations are the sums that noise is on, of a factor of k dummies among m columns: so many counts, sums
// within levels, products.
func Combinations(m, k, counts int) (all []Combination) {
	of := func(l int, at func(dummy int) int, total Combination) Combination {
		c := Combination{At: slices.Clone(total.At)} // half of the dummy's and of the total; of the first level what others leave
		if l > 0 {
			c.At, c.Rows = append(c.At, at(l-1)), total.Rows/2
			c.Weight = slices.Repeat([]float64{0.5}, len(c.At))
			return c
		}
		others := 1 - float64(k)/2
		c.Weight, c.Rows = slices.Repeat([]float64{others}, len(total.At)), total.Rows*others
		for i := range k {
			c.At, c.Weight = append(c.At, at(i)), append(c.Weight, -0.5)
		}
		return c
	}
	for l := k + 1 - counts; l <= k; l++ {
		all = append(all, of(l, func(i int) int { return i }, Combination{Rows: 1}))
	}
	for l := range k + 1 {
		for j := k; j < m; j++ {
			all = append(all, of(l, func(i int) int { return Index(m, i, j) }, Combination{At: []int{j}}))
		}
	}
	for j := k; j < m; j++ {
		for h := j; h < m; h++ {
			all = append(all, Combination{At: []int{Index(m, j, h)}, Weight: []float64{1}})
		}
	}
	return all
}

// Value is that of a combination.
func (c *Combination) Value(s []float64, n float64) float64 {
	v := c.Rows * n
	for i, at := range c.At {
		v += c.Weight[i] * s[at]
	}
	return v
}
