package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/schema"
)

// CheckJointly writes a check of several releases: the blocks of each, what they say,
// and then each one's sums and the shares outside its bounds.
func CheckJointly(w io.Writer, c *dpreg.JointCheck, d *schema.Design) error {
	p := &printer{w: w}
	p.paragraph(jointSubject(c, d))
	p.printf("\n")
	p.do(jointBlocks(c).write)
	p.printf("\n")
	for _, text := range jointVerdict(c, d) {
		p.paragraph(text)
	}
	for _, r := range leastLikely(c) {
		p.printf("\n%s\n\n", r.Name)
		p.do(checkEntries(r).write)
		p.printf("\n")
		p.do(checkColumns(r).write)
	}
	if len(c.Warnings) > 0 {
		p.printf("\n")
	}
	p.do(func(w io.Writer) error { return Warnings(w, c.Warnings) })
	return p.err
}

// leastLikely are the releases of which all sums are shown: of many, those of the
// smallest p, in their order.
func leastLikely(c *dpreg.JointCheck) []*dpreg.Check {
	if len(c.Releases) <= mostCustodians {
		return c.Releases
	}
	p := func(r *dpreg.Check) float64 { return r.Blocks[len(r.Blocks)-1].P }
	sorted := slices.SortedStableFunc(slices.Values(c.Releases), func(a, b *dpreg.Check) int { return cmp.Compare(p(a), p(b)) })
	least := sorted[:mostCustodians]
	return slices.DeleteFunc(slices.Clone(c.Releases), func(r *dpreg.Check) bool { return !slices.Contains(least, r) })
}

func jointSubject(c *dpreg.JointCheck, d *schema.Design) string {
	return fmt.Sprintf("Posterior predictive check of %s at %d custodians, method %s, n = %d, %s pooling, %s covariates: each release beside those that the fitted model makes, in its own scaled units",
		Formula(d), len(c.Releases), c.Method, c.N, c.Pooling, c.Covariates)
}

// jointBlocks has a row for each release, and a column for each block: calibrated p-values
// where there are any.
func jointBlocks(c *dpreg.JointCheck) table {
	p := func(v dpreg.PValue) string {
		if v.Calibrated != nil {
			return calibrated(v)
		}
		return number(v.P, 3)
	}
	t := table{Header: []string{"p of", "x", "x x'", "y", "x y", "y²", "all sums"}, Left: 1, widest: []int{32}}
	if c.Refits > 0 {
		t.Header[0] = "Calibrated p of"
	}
	for _, r := range c.Releases {
		row := []string{r.Name}
		for _, b := range r.Blocks {
			row = append(row, p(b.PValue))
		}
		t.Rows = append(t.Rows, row)
	}
	t.Rows = append(t.Rows, []string{"all releases", "", "", "", "", "", p(c.All)})
	return t
}

// jointVerdict says what was found, what it can mean, and what the check cannot see.
func jointVerdict(c *dpreg.JointCheck, d *schema.Design) []string {
	text := append([]string{jointFound(c)}, fewRefits(c.Refits)...)
	if c.Refits > 0 {
		text = append(text, fmt.Sprintf("Calibrated p is the rank of p among those of %d sets of releases that the model made; under the model it is near uniform, which p itself is not.", c.Refits))
	} else {
		text = append(text, "Not calibrated: under the model such p-values lie around 0.5 and are rarely small (--calibrate K).")
	}
	if c.Covariates == dpreg.SeparateCovariates {
		text = append(text, "The law of each custodian's covariates is what its release alone says of it.")
	}
	if d.Intercept {
		text = append(text, "What it cannot see: whether rows are normal. With an intercept a normal law fits nearly any sums of one custodian; what is compared is what custodians are said to share.")
	}
	if len(c.Releases) > mostCustodians {
		text = append(text, fmt.Sprintf("The sums of the %d releases with the smallest p are shown; --format csv or json has all.", mostCustodians))
	}
	for _, r := range leastLikely(c) {
		for _, outside := range checkOutside(r) {
			text = append(text, r.Name+": "+outside)
		}
	}
	return text
}

// jointFound goes by all sums of all releases: of many some would be small by chance.
func jointFound(c *dpreg.JointCheck) string {
	var small []string
	for _, r := range c.Releases {
		if isSmall(r.Blocks[len(r.Blocks)-1].PValue) {
			small = append(small, r.Name)
		}
	}
	names := strings.Join(small, ", ")
	switch {
	case isSmall(c.All):
		if small == nil {
			names = "no release alone"
		}
		return fmt.Sprintf("A small p for all releases together (%s): the model seldom makes such releases, even with parameters fitted to them. %s", names, unshared(c))
	case small != nil:
		return fmt.Sprintf("All releases together are such as the fitted model makes. A small p for %s alone may be chance: one release in twenty has one.", names)
	}
	return "The releases are such as the fitted model makes."
}

// unshared is what custodians may not have in common where the model says so.
func unshared(c *dpreg.JointCheck) string {
	var ways []string
	if c.Covariates == dpreg.SharedCovariates {
		ways = append(ways, "a law of the covariates (--covariates separate gives each its own)")
	}
	if c.Pooling == dpreg.CompletePooling {
		ways = append(ways, "a regression (--pooling partial gives each its own coefficients)")
	}
	if ways == nil {
		return "σ², which they share, may differ, values may have been clamped, or the prior contradicts the releases."
	}
	return "They may not share " + strings.Join(ways, ", or ") + "."
}
