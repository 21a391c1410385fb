package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/schema"
)

// smallP is from where on a p-value is called small, and muchOutside a share of rows
// that a normal law puts outside the bounds.
const (
	smallP      = 0.05
	muchOutside = 0.05
)

// Check writes a posterior predictive check of a release of the design: its sums
// beside those of replicated releases, the blocks, the shares outside the bounds,
// and what they say.
func Check(w io.Writer, c *dpreg.Check, d *schema.Design) error {
	p := &printer{w: w}
	p.paragraph(checkSubject(c, d))
	p.printf("\n")
	for _, t := range []table{checkEntries(c), checkBlocks(c), checkColumns(c)} {
		p.do(t.write)
		p.printf("\n")
	}
	for _, text := range checkVerdict(c, d) {
		p.paragraph(text)
	}
	p.do(func(w io.Writer) error { return Warnings(w, c.Warnings) })
	return p.err
}

func checkSubject(c *dpreg.Check, d *schema.Design) string {
	return fmt.Sprintf("Posterior predictive check of %s, method %s, n = %d: the release beside those that the fitted model makes, scaled units", Formula(d), c.Method, c.N)
}

func checkEntries(c *dpreg.Check) table {
	var rows [][]string
	for _, e := range c.Entries {
		d := common(e.SD, e.Z, e.Mean, e.Q2_5, e.Q97_5)
		rows = append(rows, []string{e.Label, number(e.Z, d), number(e.Mean, d), number(e.SD, d),
			number(e.Q2_5, d), number(e.Q97_5, d), number(e.P, 3), calibrated(e.PValue)})
	}
	return table{Header: []string{"Sum of", "Released", "Expected", "Sd", "l-95%", "u-95%", "p", "Calibrated"}, Rows: rows, Left: 1, widest: []int{24}}
}

func checkBlocks(c *dpreg.Check) table {
	var rows [][]string
	for _, b := range c.Blocks {
		rows = append(rows, []string{b.Name, fmt.Sprint(b.Size), number(b.P, 3), calibrated(b.PValue)})
	}
	return table{Header: []string{"Block", "Sums", "p", "Calibrated"}, Rows: rows, Left: 1}
}

func checkColumns(c *dpreg.Check) table {
	var rows [][]string
	for _, column := range c.Columns {
		rows = append(rows, []string{column.Label, number(100*column.Outside, 1) + "%"})
	}
	return table{Header: []string{"Column", "Normal rows outside the bounds"}, Rows: rows, Left: 1, widest: []int{40}}
}

func calibrated(p dpreg.PValue) string {
	if p.Calibrated == nil {
		return "NA"
	}
	return number(*p.Calibrated, 3)
}

// checkVerdict says what was found, what it can mean, and what the check cannot see.
func checkVerdict(c *dpreg.Check, d *schema.Design) []string {
	text := append([]string{checkFound(c)}, fewRefits(c.Refits)...)
	if c.Refits > 0 {
		text = append(text, fmt.Sprintf("Calibrated is the rank of p among those of %d releases that the model made; under the model it is near uniform, which p itself is not.", c.Refits))
	} else {
		text = append(text, "Not calibrated: under the model such p-values lie around 0.5 and are rarely small, so that one a little above 0.05 can mean as much as a smaller one elsewhere.")
	}
	if d.Intercept {
		text = append(text, "What it cannot see: with an intercept the normal model has as many parameters as there are sums, and bends to nearly any of them; a p that is not small does not show that rows are normal.")
	}
	return append(text, checkOutside(c)...)
}

// fewRefits says where there were too few to find anything: the smallest rank of K is
// 1/(K + 1).
func fewRefits(refits int) []string {
	if least := 1 / float64(refits+1); refits > 0 && least > smallP {
		return []string{fmt.Sprintf("With %s no calibrated p is below %.2g: at least %d are needed to find anything.", count(refits, "refit"), least, int(math.Ceil(1/smallP))-1)}
	}
	return nil
}

// checkFound goes by all sums together: of six blocks one would look unlike the
// model's too often by chance.
func checkFound(c *dpreg.Check) string {
	var small []string
	all := len(c.Blocks) - 1
	for _, b := range c.Blocks[:all] {
		if isSmall(b.PValue) {
			small = append(small, b.Name)
		}
	}
	names := strings.Join(small, ", ")
	switch {
	case isSmall(c.Blocks[all].PValue):
		if small == nil {
			names = "no block alone"
		}
		return fmt.Sprintf("A small p for all sums together (%s): the model seldom makes such a release, even with parameters fitted to it. x may not be normal, values may have been clamped, or the prior contradicts the release.", names)
	case small != nil:
		return fmt.Sprintf("All sums together are such as the fitted model makes. A small p for %s alone may be chance: one block in twenty has one.", names)
	}
	return "The release is such as the fitted model makes."
}

func isSmall(p dpreg.PValue) bool {
	if p.Calibrated != nil {
		return *p.Calibrated <= smallP
	}
	return p.P <= smallP
}

// checkOutside names the columns whose normal law does not fit between the bounds.
func checkOutside(c *dpreg.Check) []string {
	var names []string
	for _, column := range c.Columns {
		if column.Outside > muchOutside {
			names = append(names, column.Label)
		}
	}
	if names == nil {
		return nil
	}
	return []string{fmt.Sprintf("Not normal, or clamped: %s. The normal law that fits the sums would put more than %s%% of the rows outside the public bounds, where none can be.", strings.Join(names, ", "), exactly(100*muchOutside))}
}
