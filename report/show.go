package report

import (
	"io"

	"github.com/dpreg/dpreg/release"
)

// Show explains a release, which Validate accepts: its columns and their bounds,
// its privacy, and each statistic beside the sd of its noise.
func Show(w io.Writer, r *release.Release) error {
	p := &printer{w: w}
	p.printf("%s: %s\n", r.Format, Formula(&r.Schema))
	p.do(func(w io.Writer) error { return Statement(w, r) })
	p.printf("\n")
	p.do(func(w io.Writer) error { return columns(w, r) })
	p.printf("\n")
	p.do(func(w io.Writer) error { return statistics(w, r) })
	p.printf("\n")
	p.paragraph("Other models of these columns cost no further privacy: see dpreg infer --formula.")
	return p.err
}

// columns tabulates the columns and their public bounds, in the data's units.
func columns(w io.Writer, r *release.Release) error {
	var rows [][]string
	all := r.Schema.Columns()
	for j, c := range all {
		role := "covariate"
		if j == len(all)-1 {
			role = "response"
		}
		rows = append(rows, []string{truncate(c.Name, 40), role, exactly(c.Lower), exactly(c.Upper)})
	}
	return grid(w, []string{"Column", "Role", "Lower", "Upper"}, rows, 2)
}

// statistics tabulates the noisy sums, in scaled units, with as many decimals as
// show three digits of the noise.
func statistics(w io.Writer, r *release.Release) error {
	z, sd, columns := r.Statistics.Vector(), noiseSD(r), r.Schema.Columns()
	d := precision(sd)
	var rows [][]string
	add := func(label string) {
		v := z[len(rows)]
		rows = append(rows, []string{label, number(v, d), number(sd, d), number(max(v, -v)/sd, 1)})
	}
	name := func(j int) string { return truncate(columns[j].Name, 20) }
	for j := range columns {
		add("sum of " + name(j))
	}
	for j := range columns {
		add("sum of " + name(j) + "²")
		for k := j + 1; k < len(columns); k++ {
			add("sum of " + name(j) + " × " + name(k))
		}
	}
	return grid(w, []string{"Statistic (scaled units)", "Released", "Noise sd", "|Released|/sd"}, rows, 1)
}
