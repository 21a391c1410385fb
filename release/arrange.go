package release

import (
	"slices"

	"github.com/dpreg/dpreg/schema"
)

// Arrange gives the release with its covariates in the order of another design,
// which must have the same columns by name (schema.Hull sees to that), and its own
// bounds. It costs no privacy, and shares nothing with r that it changes. It panics
// where a column is missing.
func (r *Release) Arrange(d *schema.Design) *Release {
	have := r.Schema.Columns()
	out, at := *r, []int(nil)
	out.Schema.Covariates = nil
	for _, w := range d.Columns() {
		j := slices.IndexFunc(have, func(c schema.Column) bool { return c.Name == w.Name })
		at = append(at, j)
		if w.Name != d.Response.Name {
			out.Schema.Covariates = append(out.Schema.Covariates, have[j])
		}
	}
	out.Statistics = r.Statistics.pick(at)
	out.Moments = r.Moments.pick(at[:len(at)-1], r.Dim()-1)
	return &out
}
