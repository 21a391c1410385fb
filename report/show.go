package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// Show explains a release, which Validate accepts: its columns and their bounds,
// its privacy, and each statistic and moment beside the sd of its noise.
func Show(w io.Writer, r *release.Release) error {
	p := &printer{w: w}
	p.printf("%s: %s\n", r.Format, Formula(&r.Schema))
	p.do(func(w io.Writer) error { return Statement(w, r) })
	p.printf("\n")
	p.do(columnsTable(&r.Schema).write)
	p.printf("\n")
	p.do(func(w io.Writer) error { return statistics(w, r) })
	if r.Moments != nil {
		p.printf("\n")
		p.do(func(w io.Writer) error { return moments(w, r) })
	}
	p.printf("\n")
	p.paragraph("Other models of these columns cost no further privacy: see dpreg infer --formula.")
	return p.err
}

// columnsTable has the columns and their public bounds, in the data's units.
func columnsTable(d *schema.Design) table {
	var rows [][]string
	all := d.Columns()
	for j, c := range all {
		role := "covariate"
		if j == len(all)-1 {
			role = "response"
		}
		rows = append(rows, []string{c.Name, role, exactly(c.Lower), exactly(c.Upper)})
	}
	return table{Header: []string{"Column", "Role", "Lower", "Upper"}, Rows: rows, Left: 2, widest: []int{40}}
}

// statistics tabulates the noisy sums, in scaled units, with as many decimals as
// show three digits of the noise.
func statistics(w io.Writer, r *release.Release) error {
	z, sd, columns := r.Statistics.Vector(), r.Noise.SD(), r.Schema.Columns()
	d := precision(sd)
	m := len(columns)
	var rows [][]string
	add := func(label string, at int) {
		if at < len(z) {
			rows = append(rows, sumRow(label, z[at], sd, d))
		} else {
			rows = append(rows, []string{label, "withheld", "-", "-"})
		}
	}
	name := func(j int) string { return columns[j].Name }
	for j := range columns {
		add("sum of "+name(j), j)
	}
	for j := range columns {
		add("sum of "+name(j)+"²", release.Index(m, j, j))
		for k := j + 1; k < m && m <= mostMultiplied; k++ {
			add("sum of "+name(j)+" × "+name(k), release.Index(m, j, k))
		}
	}
	p := &printer{w: w}
	p.do(table{Header: []string{"Statistic (scaled units)", "Released", "Noise sd", "|Released|/sd"}, Rows: rows, Left: 1, widest: []int{sumWidth}}.write)
	if m > mostMultiplied {
		p.paragraph(fmt.Sprintf("And the sums of %s products of two columns, which the file has.", number(float64(m*(m-1)/2), 0)))
	}
	return p.err
}

// mostMultiplied is the number of columns up to which sums of products of two are listed:
// nobody reads half a million.
const mostMultiplied = 40

// sumWidth is what the numbers leave of a line.
const sumWidth = 44

func sumRow(label string, v, sd float64, decimals int) []string {
	return []string{label, number(v, decimals), number(sd, decimals), number(max(v, -v)/sd, 1)}
}

// moments tabulates the moments as statistics does the statistics.
func moments(w io.Writer, r *release.Release) error {
	sd := r.Moments.Noise.SD()
	var rows [][]string
	for i, e := range r.Moments.Exponents {
		var factors []string
		for j, k := range e {
			if k > 0 {
				factors = append(factors, r.Schema.Covariates[j].Name+[]string{"", "", "²", "³", "⁴"}[k])
			}
		}
		rows = append(rows, sumRow("sum of "+strings.Join(factors, " × "), r.Moments.Sums[i], sd, precision(sd)))
	}
	return table{Header: []string{"Moment (scaled units)", "Released", "Noise sd", "|Released|/sd"}, Rows: rows, Left: 1, widest: []int{sumWidth}}.write(w)
}
