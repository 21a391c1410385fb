package report

import (
	"fmt"
	"io"

	"github.com/dpreg/dpreg"
)

// CheckPage writes a posterior predictive check of the release of f as a page.
func CheckPage(w io.Writer, c *dpreg.Check, f *dpreg.Fit, run Run) error {
	drawn, err := drawCheck(f.Design, c)
	if err != nil {
		return err
	}
	picture, err := drawn.picture()
	if err != nil {
		return err
	}
	p := page{Title: "Check of " + Formula(f.Design), Lead: checkSubject(c, f.Design) + "."}
	if f.Release.Simulated {
		p.Alerts = append(p.Alerts, simulatedRelease)
	}
	if ok, reason := f.Converged(); !ok {
		p.Alerts = append(p.Alerts, "Not converged: "+reason+".")
	}
	p.add("What was asked", fitAsked(f, run)...)
	p.add("What is private", paragraphs(promise(f.Release), contents(f.Release))...)
	p.add("What the check says", append(paragraphs(checkVerdict(c, f.Design)...), block{Picture: picture})...)
	entries, blocks, columns := checkEntries(c), checkBlocks(c), checkColumns(c)
	p.add("The numbers", block{Table: &entries}, block{Table: &blocks}, block{Table: &columns})
	p.addWarnings(c.Warnings)
	p.addRepeat(run, "The same release, command and version give the same numbers, and cost no further ε.", fact{"Seed", fmt.Sprint(f.Plan.Seed)})
	return p.write(w)
}

// CheckJointlyPage writes a check of the several releases of f as a page.
func CheckJointlyPage(w io.Writer, c *dpreg.JointCheck, f *dpreg.Fit, run Run) error {
	drawn, err := drawCheck(f.Design, leastLikely(c)...)
	if err != nil {
		return err
	}
	picture, err := drawn.picture()
	if err != nil {
		return err
	}
	p := page{Title: "Check of " + Formula(f.Design), Lead: jointSubject(c, f.Design) + "."}
	if ofSimulated(f) {
		p.Alerts = append(p.Alerts, simulatedRelease)
	}
	if ok, reason := f.Converged(); !ok {
		p.Alerts = append(p.Alerts, "Not converged: "+reason+".")
	}
	private, overview := custodiansTable(f), jointBlocks(c)
	p.add("What was asked", fitAsked(f, run)...)
	p.add("What is private", append([]block{{Table: &private}}, paragraphs(custodiansWords)...)...)
	p.add("What the check says", append(append([]block{{Table: &overview}}, paragraphs(jointVerdict(c, f.Design)...)...), block{Picture: picture})...)
	for _, r := range leastLikely(c) {
		entries, columns := checkEntries(r), checkColumns(r)
		p.add(r.Name, block{Table: &entries}, block{Table: &columns})
	}
	p.addWarnings(c.Warnings)
	p.addRepeat(run, "The same releases, command and version give the same numbers, and cost no further ε.", fact{"Seed", fmt.Sprint(f.Plan.Seed)})
	return p.write(w)
}
