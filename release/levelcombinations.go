package release

import "slices"

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
			for range c.At {
				c.Weight = append(c.Weight, 0.5)
			}
			return c
		}
		c.Rows = total.Rows * (1 - float64(k)/2)
		for range total.At {
			c.Weight = append(c.Weight, 1-float64(k)/2)
		}
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
