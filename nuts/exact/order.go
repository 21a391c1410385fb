package exact

import (
	"slices"

	"github.com/dpreg/dpreg/model"
)

// pivoted returns an order of covariates in which each has, of all that are left, most beside those
// before it by z: Cholesky's factorisation with pivoting. Of a row D_j that noise hides D_ij are not told by
// products with column j, and if columns behind it have much beside it, by theirs: where it is the last there are
// none. It is nil where another serves as well: z tells the scatter well, or nothing of it; and in a frame, of which
// what is allowed for clipping is by its own columns.
func pivoted(joint *model.Joint) (order []int) {
	site, p, m := joint.Sites[0], joint.Shape.P, joint.Shape.M()
	if len(joint.Sites) > 1 || joint.Family != model.Normal || site.Told != nil || site.Frame != nil || farFromSingular(site.Observation) || hidden(site.Observation) {
		return nil
	}
	left := make([]float64, m*m)
	model.Scatter(left, site.Z, m, rowsTold(site.Observation))
	taken := make([]bool, p)
	for range p {
		at := -1
		for j, before := range taken {
			if !before && (at < 0 || left[j*(m+1)] > left[at*(m+1)]) {
				at = j
			}
		}
		order, taken[at] = append(order, at), true
		if pivot := left[at*(m+1)]; pivot > 0 {
			for j := range m {
				if j != at {
					addScaled(left[j*m:(j+1)*m], -left[j*m+at]/pivot, left[at*m:])
				}
			}
		}
	}
	if slices.IsSorted(order) {
		return nil
	}
	return order
}
