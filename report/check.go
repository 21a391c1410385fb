package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/check"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/schema"
)

// smallP is from where on a p-value is called small, and muchOutside a share of rows
// that a normal law puts outside the bounds.
const (
	smallP      = 0.05
	muchOutside = 0.05
)

// Check writes a posterior predictive check of releases of the design: each one's sums beside
// those of replicated releases, the blocks, the shares outside the bounds, and what they say.
func Check(w io.Writer, c *check.Result, d *schema.Design) error {
	parts := [][]block{say(checkSubject(c, d)), blank}
	for _, r := range leastLikely(c) {
		if several(c) {
			parts = append(parts, say(r.Name), blank)
		}
		parts = append(parts, show(checkTables(r)...))
	}
	return write(w, append(parts, checkOverview(c), say(checkVerdict(c, d)...), warn(c.Warnings))...)
}

// CheckPage writes a posterior predictive check of the releases of f as a page.
func CheckPage(w io.Writer, c *check.Result, f *dpreg.Fit, run Run) error {
	p := page{Title: "Check of " + f.Design.Formula().String(), Lead: checkSubject(c, f.Design) + ".", Alerts: alerts(f)}
	p.add("What was asked", fitAsked(f, run))
	p.add("What is private", private(f))
	p.add("What the check says", checkOverview(c), say(checkVerdict(c, f.Design)...), []block{{Picture: CheckPlot(c, f.Design).picture()}})
	for _, r := range leastLikely(c) {
		title := "The numbers"
		if several(c) {
			title = r.Name
		}
		p.add(title, show(checkTables(r)...))
	}
	p.add("Warnings", warn(c.Warnings))
	p.addRepeat(run, "The same release, command and version give the same numbers, and cost no further ε.", fact{"Seed", fmt.Sprint(f.Plan.Seed)})
	return p.write(w)
}

// several tells whether a check is of more releases than one, which have names and something
// in common.
func several(c *check.Result) bool { return len(c.Releases) > 1 }

// leastLikely are the releases of which all sums are shown: of many, those of the
// smallest p, in their order.
func leastLikely(c *check.Result) []*check.Release {
	if len(c.Releases) <= mostCustodians {
		return c.Releases
	}
	sorted := slices.SortedStableFunc(slices.Values(c.Releases), func(a, b *check.Release) int { return cmp.Compare(allSums(a).P, allSums(b).P) })
	least := sorted[:mostCustodians]
	return slices.DeleteFunc(slices.Clone(c.Releases), func(r *check.Release) bool { return !slices.Contains(least, r) })
}

// allSums is the block of all sums of a release.
func allSums(r *check.Release) check.Block { return r.Blocks[len(r.Blocks)-1] }

func checkSubject(c *check.Result, d *schema.Design) string {
	of, what := "", "the release"
	if several(c) {
		of, what = fmt.Sprintf(" at %d custodians", len(c.Releases)), "each release"
	}
	text := fmt.Sprintf("Posterior predictive check of %s%s, method %s, n = %d", d.Formula(), of, c.Method, c.N)
	if several(c) {
		text += fmt.Sprintf(", %s pooling, %s covariates", c.Pooling, c.Covariates)
	}
	return text + ": " + what + " beside those that the fitted model makes, in its own scaled units"
}

// checkTables are those of a release's sums, blocks and columns.
func checkTables(r *check.Release) []table {
	entries := table{Header: []string{"Sum of", "Released", "Expected", "Sd", "l-95%", "u-95%", "p", "Calibrated"}, Left: 1, widest: []int{24}}
	for _, e := range r.Entries {
		d := common(e.SD, e.Z, e.Mean, e.Q2_5, e.Q97_5)
		entries.Rows = append(entries.Rows, []string{e.Label, number(e.Z, d), number(e.Mean, d), number(e.SD, d),
			number(e.Q2_5, d), number(e.Q97_5, d), number(e.P, 3), known(e.Calibrated, 3)})
	}
	blocks := table{Header: []string{"Block", "Sums", "p", "Calibrated"}, Left: 1}
	for _, b := range r.Blocks {
		blocks.Rows = append(blocks.Rows, []string{b.Name, fmt.Sprint(b.Size), number(b.P, 3), known(b.Calibrated, 3)})
	}
	columns := table{Header: []string{"Column", "Normal rows outside the bounds"}, Left: 1, widest: []int{40}}
	for _, column := range r.Columns {
		columns.Rows = append(columns.Rows, []string{column.Label, number(100*column.Outside, 1) + "%"})
	}
	if columns.Rows == nil {
		return []table{entries, blocks}
	}
	return []table{entries, blocks, columns}
}

// checkOverview has a row for each of several releases, and a column for each block that one has: calibrated
// p-values where there are any.
func checkOverview(c *check.Result) []block {
	if !several(c) {
		return nil
	}
	t := table{Header: []string{"p of"}, Left: 1, widest: []int{32}}
	if c.Refits > 0 {
		t.Header[0] = "Calibrated p of"
	}
	short := strings.NewReplacer("sums of ", "", "sum of ", "")
	for _, r := range c.Releases {
		for _, b := range r.Blocks[:len(r.Blocks)-1] {
			if name := short.Replace(b.Name); !slices.Contains(t.Header, name) {
				t.Header = append(t.Header, name)
			}
		}
	}
	last := len(t.Header)
	t.Header = append(t.Header, allSums(c.Releases[0]).Name)
	for _, r := range c.Releases {
		row := make([]string, last+1)
		row[0], row[last] = r.Name, number(best(allSums(r).PValue), 3)
		for _, b := range r.Blocks[:len(r.Blocks)-1] {
			row[slices.Index(t.Header, short.Replace(b.Name))] = number(best(b.PValue), 3)
		}
		t.Rows = append(t.Rows, row)
	}
	all := make([]string, last+1)
	all[0], all[last] = "all releases", number(best(c.All), 3)
	t.Rows = append(t.Rows, all)
	return show(t)
}

// best is the calibrated p-value, where there is one.
func best(p check.PValue) float64 {
	if p.Calibrated != nil {
		return *p.Calibrated
	}
	return p.P
}

func isSmall(p check.PValue) bool { return best(p) <= smallP }

// checkVerdict says what was found, what it can mean, and what the check cannot see.
func checkVerdict(c *check.Result, d *schema.Design) []string {
	adds := add(c.Releases[0], d)
	text := []string{checkFound(c, adds)}
	// The smallest rank of K refits is 1/(K + 1).
	if least := 1 / float64(c.Refits+1); c.Refits > 0 && least > smallP {
		text = append(text, fmt.Sprintf("With %s no calibrated p is below %.2g: at least %d are needed to find anything.", Count(c.Refits, "refit"), least, int(math.Ceil(1/smallP))-1))
	}
	if slices.ContainsFunc(c.Releases, func(r *check.Release) bool { return r.InFrame }) {
		text = append(text, "u(x) is the coordinate of column x in the frame of the last look: x less what the columns before it tell, about 0 and of a spread of about 1.")
	}
	if c.Refits > 0 {
		text = append(text, fmt.Sprintf("Calibrated is the rank of p among those of %s to releases that the model made; under the model it is near uniform, which p itself is not.", Count(c.Refits, "refit")))
	} else {
		text = append(text, "Not calibrated: under the model such p-values lie around 0.5 and are rarely small, so that one a little above 0.05 can mean as much as a smaller one elsewhere (--calibrate K).")
	}
	if c.Covariates == dpreg.SeparateCovariates {
		text = append(text, "The law of each custodian's covariates is what its release alone says of it.")
	}
	if d.Intercept && !adds {
		unseen := "What it cannot see: with an intercept " + bends(c.Family)
		if several(c) {
			unseen += " What is compared is what custodians are said to share."
		}
		text = append(text, unseen)
	}
	if len(c.Releases) > mostCustodians {
		text = append(text, fmt.Sprintf("The sums of the %d releases with the smallest p are shown; --format csv or json has all.", mostCustodians))
	}
	for _, r := range leastLikely(c) {
		outside := checkOutside(r)
		if outside != "" && several(c) {
			outside = r.Name + ": " + outside
		}
		text = append(text, outside)
	}
	return text
}

// add tells whether covariates are categories alone, of whose effects a model has fewer than there are cells: sums tell
// whether they add.
func add(r *check.Release, d *schema.Design) bool {
	first := r.Blocks[0]
	return first.Name == check.RowsOfLevels && r.Blocks[1].Name == check.SumsOfYByLevel && first.Size > len(d.Covariates)+1
}

// bends says that a family's model has as many parameters as a release has sums.
func bends(f model.Family) string {
	switch f {
	case model.Normal:
		return "the normal model has as many parameters as there are sums of a release, and bends to nearly any of them; a p that is not small does not show that rows are normal."
	case model.Poisson:
		return "the model of counts has as many parameters as there are sums of a release, and bends to nearly any of them; a p that is not small does not show that covariates are normal, or the log of the rate linear."
	}
	return fmt.Sprintf("the %s model has as many parameters as there are sums of a release, and bends to nearly any of them; a p that is not small does not show that covariates are normal, or the %s of the probability linear.", kindOf(f), f.Link())
}

// checkFound goes by all sums together: of six blocks, or of many releases, one would look
// unlike the model's too often by chance.
func checkFound(c *check.Result, adds bool) string {
	first := c.Releases[0]
	parts, all, part, unlike := first.Blocks[:len(first.Blocks)-1], "sums", "block", "x may not be normal, values may have been clamped, or the prior contradicts the release."
	if adds && isSmall(first.Blocks[1].PValue) {
		unlike = "Effects of categories may not add, as a formula with a*b for a + b lets them, or the prior contradicts the release."
	} else if adds {
		unlike = "The prior may contradict the release."
	}
	if several(c) {
		parts, all, part, unlike = nil, "releases", "release", unshared(c)
		for _, r := range c.Releases {
			parts = append(parts, check.Block{Name: r.Name, PValue: allSums(r).PValue})
		}
	}
	var small []string
	for _, b := range parts {
		if isSmall(b.PValue) {
			small = append(small, b.Name)
		}
	}
	names := strings.Join(small, ", ")
	switch {
	case isSmall(c.All):
		if small == nil {
			names = "no " + part + " alone"
		}
		return fmt.Sprintf("A small p for all %s together (%s): the model seldom makes such %[1]s, even with parameters fitted to them. %[3]s", all, names, unlike)
	case small != nil:
		return fmt.Sprintf("All %s together are such as the fitted model makes. A small p for %s alone may be chance: one %s in twenty has one.", all, names, part)
	}
	return "All " + all + " are such as the fitted model makes."
}

// unshared is what custodians may not have in common where the model says so.
func unshared(c *check.Result) string {
	var ways []string
	if c.Covariates == dpreg.SharedCovariates {
		ways = append(ways, "a law of the covariates (--covariates separate gives each its own)")
	}
	if c.Pooling == dpreg.CompletePooling {
		ways = append(ways, "a regression (--pooling partial gives each its own coefficients)")
	}
	if ways == nil {
		return "Values may have been clamped, or the prior contradicts the releases."
	}
	return "They may not share " + strings.Join(ways, ", or ") + "."
}

// checkOutside names the columns whose normal law does not fit between the bounds.
func checkOutside(c *check.Release) string {
	var names []string
	for _, column := range c.Columns {
		if column.Outside > muchOutside {
			names = append(names, column.Label)
		}
	}
	if names == nil {
		return ""
	}
	return fmt.Sprintf("Not normal, or clamped: %s. The normal law that fits the sums would put more than %s%% of the rows outside the public bounds, where none can be.", strings.Join(names, ", "), exactly(100*muchOutside))
}

// The height of an entry in a picture, and of the rest; the width of a name, of a release or a sum, and
// of a column's, of which a product has two.
const (
	checkRow     = 0.6 * vg.Centimeter
	checkMargins = 2.2 * vg.Centimeter
	checkName    = 6 * vg.Centimeter
	checkFactor  = (checkName - 12) / 2
)

// CheckPlot draws each released sum against the law of replicated ones, a row each,
// in units of their standard deviation from their mean: a thin bar for 95 % of the
// replicates, a thick one for half of them, a point for the release. Several releases stand
// each below its name.
func CheckPlot(c *check.Result, d *schema.Design) *Figure {
	p := newPlot()
	p.X.Label.Text = "distance from the replicates' mean, in standard deviations"
	p.Y.Label.Text = "sum of"
	p.X.Label.Padding, p.X.Tick.Marker = 4, linearTicks{pageRoom, 1}
	var names, rows []string
	checks := leastLikely(c)
	for _, r := range checks {
		names = append(names, r.Name)
		for _, e := range r.Entries {
			names = append(names, e.Label)
		}
	}
	short := shortNames(newPlot().Y.Tick.Label, checkName, names...)
	drawn, reach := &bars{wide: wideLine, half: halfLine, mark: barMark}, 2.5
	for _, r := range checks {
		if len(checks) > 1 {
			rows = append(rows, short[r.Name])
		}
		for _, e := range r.Entries {
			distance := func(v float64) float64 { return (v - e.Mean) / e.SD }
			b := bar{-float64(len(rows)), distance(e.Q2_5), distance(e.Q97_5), distance(e.Q25), distance(e.Q75), distance(e.Z)}
			drawn.all, rows = append(drawn.all, b), append(rows, short[e.Label])
			reach = max(reach, 1.1*math.Abs(b.at), -1.1*b.low, 1.1*b.high)
		}
	}
	nameRows(p, rows)
	upright(p, 0)
	p.Add(drawn)
	p.X.Min, p.X.Max = -reach, reach
	f := alone("check", "Posterior predictive check: "+d.Formula().String(), p, checkMargins+vg.Length(len(rows))*checkRow,
		key{Name: "released", mark: barMark}, key{Name: "half of the replicates", LineStyle: halfLine}, key{Name: "95 % of the replicates", LineStyle: wideLine})
	f.caption = "Each released sum against those of replicated releases, in their standard deviations: a point outside the thin bar is one that the fitted model makes less than one time in twenty."
	return f
}
