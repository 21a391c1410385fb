package report

import (
	"fmt"
	"io"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/check"
)

// CheckPage writes a posterior predictive check of the releases of f as a page.
func CheckPage(w io.Writer, c *check.Result, f *dpreg.Fit, run Run) error {
	drawn, err := drawCheck(f.Design, leastLikely(c)...)
	if err != nil {
		return err
	}
	picture, err := drawn.picture()
	if err != nil {
		return err
	}
	p := page{Title: "Check of " + Formula(f.Design), Lead: checkSubject(c, f.Design) + "."}
	if ofSimulated(f) {
		p.Alerts = append(p.Alerts, simulatedRelease)
	}
	if ok, reason := f.Converged(); !ok {
		p.Alerts = append(p.Alerts, "Not converged: "+reason+".")
	}
	p.add("What was asked", fitAsked(f, run)...)
	p.addPrivate(f)
	says := append(paragraphs(checkVerdict(c, f.Design)...), block{Picture: picture})
	if several(c) {
		overview := checkOverview(c)
		says = append([]block{{Table: &overview}}, says...)
	}
	p.add("What the check says", says...)
	for _, r := range leastLikely(c) {
		title := "The numbers"
		if several(c) {
			title = r.Name
		}
		var tables []block
		for _, t := range checkTables(r) {
			tables = append(tables, block{Table: &t})
		}
		p.add(title, tables...)
	}
	p.addWarnings(c.Warnings)
	p.addRepeat(run, "The same release, command and version give the same numbers, and cost no further ε.", fact{"Seed", fmt.Sprint(f.Plan.Seed)})
	return p.write(w)
}
