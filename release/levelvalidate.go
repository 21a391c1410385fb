package release

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/schema"
)

// validateLevels checks the factor, the shapes, and that the statistics are those that follow.
func (r *Release) validateLevels() error {
	l := r.Levels
	if l == nil || r.Format != FormatLevels {
		if (l == nil) == (r.Format == FormatLevels) {
			return within("levels", fmt.Errorf("a release of the format %q has them, and no other", FormatLevels))
		}
		return nil
	}
	switch {
	case l.Products != nil && (r.LevelsAreOfResponse() || r.Frame != nil):
		return within("levels", within("products", errors.New("only of one look, by the levels of a covariate")))
	case r.LevelsAreOfResponse() && r.Neighbours() == AddRemove:
		return within("privacy", within("neighbours", fmt.Errorf("must be %q where \"levels\" are of the response", ReplaceOne)))
	case r.Moments != nil || r.Bounds != nil || r.Persons != nil || len(r.Withheld) > 0:
		return within("levels", errors.New("not with \"moments\", \"bounds\", \"persons\" or \"withheld\""))
	}
	if r.LevelsAreOfResponse() { // whose statistics may be of any size yet
		first := *r
		first.Schema, r = *responseFirst(&r.Schema), &first
	}
	d, k, err := LevelsFirst(&r.Schema, l.Factor)
	levels := k + 1
	if l.Coding != nil {
		d, k = &r.Schema, l.Dummies()
	}
	own, q, counts := error(nil), r.Dim()-k, LevelCounts(levels-1, r.Neighbours())
	if l.PerLevel() && err == nil {
		var at []int
		at, _, own = WithinLevels(d, l.Factor, k)
		q = len(at)
	}
	if r.Frame != nil || l.Merged > 0 && k > 0 {
		counts = levels
	}
	switch {
	case err != nil:
		return within("levels", within("factor", err))
	case l.Merged < 0 || l.Merged > MaxLevels:
		return within("levels", within("merged", fmt.Errorf("must be from 0 to %d, not %d", MaxLevels, l.Merged)))
	case l.Factor == "" && (l.Merged == 0 || !r.Schema.Intercept):
		return within("levels", within("factor", errors.New("missing; only a model with an intercept, of levels that are \"merged\", has none")))
	case l.Known < 0 || l.Known > int64(q) || l.Known > 0 && (r.Frame != nil || l.Products != nil || !d.Columns()[k+int(l.Known)-1].Binary()):
		return within("levels", within("known", fmt.Errorf("%d is no place, from 1, of a column of 0 and 1 behind those of the factor, of one look at products over all rows", l.Known)))
	case own != nil:
		return within("schema", within("covariates", own))
	case !slices.Equal(schema.Names(d.Covariates), schema.Names(r.Schema.Covariates)):
		return within("schema", within("covariates", fmt.Errorf("the columns of %q must be the first", l.Factor)))
	case len(l.Counts) != counts:
		return within("levels", within("counts", fmt.Errorf("must be %d, not %d", counts, len(l.Counts))))
	case len(l.Sums) != levels:
		return within("levels", within("sums", fmt.Errorf("must have %d rows, one for each level, not %d", levels, len(l.Sums))))
	}
	for i, c := range d.Covariates[:k] {
		if l.Coding == nil && c.Factor != "" && c.Level != levelsOf(d, l.Factor)[i+1] {
			return within("schema", within("covariates", fmt.Errorf("the columns of %q must be in the order of its levels", l.Factor)))
		}
	}
	for i, row := range l.Sums {
		if len(row) != q {
			return within("levels", within("sums", within(index(i), fmt.Errorf("must have %d entries, one for each column but the factor's, the response last, not %d", q, len(row)))))
		}
	}
	if l.Products != nil {
		if err := l.validatePerLevel(q); err != nil {
			return within("levels", within("products", err))
		}
	}
	if r.Frame == nil && l.Noise != nil {
		return within("levels", within("noise", errors.New(withFrame)))
	} else if r.Frame != nil {
		last := r.last()
		return within("levels", within("noise", l.Noise.validate(&last, q)))
	}
	return nil
}

// impossible is what no noise is beyond, in its sds: Laplace's is with probability e^(−√2·100).
const impossible = 100

// validateFollows checks that n, where it is not public, and the statistics are those that follow from the sums by
// levels.
func (r *Release) validateFollows() error {
	if r.Levels == nil {
		return nil
	}
	r = r.FactorFirst()
	s := r.Statistics.Vector()
	for _, v := range r.Measured() {
		if err := checkFinite(v); err != nil {
			return within("levels", err)
		}
	}
	if n, noise := r.sumOfCounts(); r.Neighbours() == AddRemove {
		switch {
		case r.N != n:
			return within("n", fmt.Errorf("must be the sum of \"levels.counts\", rounded, %d, and not %d", n, r.N))
		case !(math.Abs(r.NNoise-noise) <= isotropy*noise):
			return within("n_noise", fmt.Errorf("must be that of the sum of \"levels.counts\", %v, and not %v", noise, r.NNoise))
		}
	} else if l := r.Levels; len(l.Counts) == len(l.Sums) {
		_, sd := r.scales()
		if sum := floats.Sum(l.Counts); !(math.Abs(sum-float64(r.N)) <= impossible*sd[0]*math.Sqrt(float64(len(l.Counts)))) {
			return within("levels", within("counts", fmt.Errorf("add up to %.6g, which noise of sd %.3g on each does not make of n = %d", sum, sd[0], r.N)))
		}
	}
	most := max(math.Abs(float64(r.N)), floats.Norm(s, math.Inf(1)))
	names := sumNames(r.Schema.Columns())
	for i, v := range r.follow() {
		if !(math.Abs(v-s[i]) <= 1e-9*most) {
			return within("statistics", fmt.Errorf("the sum of %s is %v, and %v follows from \"levels\"", names[i], s[i], v))
		}
	}
	return nil
}

// sumNames are names of sums of these columns and of their products, in canonical order.
func sumNames(columns []schema.Column) (names []string) {
	for _, c := range columns {
		names = append(names, strconv.Quote(c.Name))
	}
	for i := range columns {
		for j := i; j < len(columns); j++ {
			names = append(names, names[i]+" × "+names[j])
		}
	}
	return names
}
