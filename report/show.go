package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// Show explains a release, which Validate accepts: its columns and their bounds,
// its privacy, its looks at the rows, and each statistic and moment beside the sd of its noise.
func Show(w io.Writer, r *release.Release) error {
	return write(w, say(r.Format+": "+r.Schema.Formula().String()), statement(r), show(columnsTable(&r.Schema)), looks(r), statistics(r), moments(r),
		say("Other models of these columns cost no further privacy: see dpreg infer --formula"+map[bool]string{true: ", and --family, which this response needs"}[r.LevelsAreOfResponse()]+"."))
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

// looks are those at the rows of a release in a frame. Of the ellipsoid ‖W(v − c)‖ ≤ R they
// have the geometric mean h = R/det(W)^(1/m) of its half-axes, and the noise on a square along
// one as long, σ(h/R)².
func looks(r *release.Release) []block {
	if r.Frame == nil {
		return nil
	}
	t := table{Header: []string{"Look", "Half-axis", "Radius", "Noise sd of a square", "Rows beyond"}, Left: 1}
	for i, l := range r.Looks() {
		log := 0.0
		for j, row := range l.Frame.Matrix {
			log -= math.Log(row[j])
		}
		unit := math.Exp(log / float64(len(l.Frame.Matrix)))
		t.Rows = append(t.Rows, []string{strconv.Itoa(i + 1), general(unit * l.Frame.Radius), general(l.Frame.Radius), general(unit * unit * l.Noise.SD()), beyond(r, &l)})
	}
	return []block{{Table: &t, Text: "Half-axis: the geometric mean of those of the look's ellipsoid, in scaled units, and the noise on a square along it. Rows beyond: the share of rows outside, by noisy counts, and its sd."}}
}

// beyond is the share of rows that a look clips, by its noisy radii.
func beyond(r *release.Release, l *release.Look) string {
	n := float64(r.N)
	if l.Radii == nil || n < 1 {
		return "-"
	}
	rows, sd := l.Radii.Beyond(l.Frame.Radius, l.Noise.Kind)
	d := precision(100 * sd / n)
	return number(100*rows/n, d) + "% ± " + number(100*sd/n, d) + "%"
}

// sumsTable is of noisy sums, in scaled units, with as many decimals as show three digits of the
// noise.
func sumsTable(what string) *table {
	return &table{Header: []string{what + " (scaled units)", "Released", "Noise sd", "|Released|/sd"}, Left: 1, widest: []int{sumWidth}}
}

func (t *table) addSum(label string, v, sd float64) {
	d := precision(sd)
	t.Rows = append(t.Rows, []string{"sum of " + label, number(v, d), number(sd, d), number(math.Abs(v)/sd, 1)})
}

// statistics are the noisy sums and sums of products.
func statistics(r *release.Release) []block {
	r = r.FactorFirst()
	z, sd, columns := r.Scaled(), r.ScaledSD(), r.Schema.Columns()
	m, t := len(columns), sumsTable("Statistic")
	add := func(label string, at int) {
		if at < len(z) {
			t.addSum(label, z[at], sd[at])
		} else {
			t.Rows = append(t.Rows, []string{"sum of " + label, "withheld", "-", "-"})
		}
	}
	first := 0
	if r.Levels != nil {
		first = r.Levels.Dummies()
		byLevel(t, r)
	} else {
		for j, c := range columns {
			add(c.Name, j)
		}
	}
	for j := first; j < m; j++ {
		c := columns[j]
		if r.Levels == nil || j-first != int(r.Levels.Known)-1 {
			add(c.Name+"²", release.Index(m, j, j))
		}
		for k := j + 1; k < m && m <= mostMultiplied; k++ {
			add(c.Name+" × "+columns[k].Name, release.Index(m, j, k))
		}
	}
	out := block{Table: t}
	if m > mostMultiplied {
		out.Text = fmt.Sprintf("And the sums of %s products of two columns, which the file has.", number(float64(m*(m-1)/2), 0))
	}
	return []block{out}
}

// byLevel adds the rows of each level, and sums within.
func byLevel(t *table, r *release.Release) {
	levels := r.LevelNames()
	sums, sd, countSD := r.ScaledLevels()
	for i, count := range r.Levels.Counts {
		t.addSum("1 in "+levels[len(levels)-len(r.Levels.Counts)+i], count, countSD)
	}
	for l, row := range sums {
		for j, v := range row {
			t.addSum(r.OwnColumns()[j].Name+" in "+levels[l], v, sd[l][j])
		}
	}
}

// mostMultiplied is the number of columns up to which sums of products of two are listed:
// nobody reads half a million.
const mostMultiplied = 40

// sumWidth is what the numbers leave of a line.
const sumWidth = 44

// moments are those of the covariates, where a release has any.
func moments(r *release.Release) []block {
	if r.Moments == nil {
		return nil
	}
	t := sumsTable("Moment")
	for i, e := range r.Moments.Exponents {
		var factors []string
		for j, k := range e {
			if k > 0 {
				factors = append(factors, r.Schema.Covariates[j].Name+[]string{"", "", "²", "³", "⁴"}[k])
			}
		}
		t.addSum(strings.Join(factors, " × "), r.Moments.Sums[i], r.Moments.Noise.SD())
	}
	return show(*t)
}
