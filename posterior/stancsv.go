package posterior

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// WriteStanCSV writes one chain, 0 ≤ chain < NumChains(), as CmdStan would:
// comments, a header, a line for each kept draw, in full precision. The
// sampler's columns come first, lp__ before all others, then the parameters
// under Stan's names, 1-based and with points: theta[0], theta[1] become
// theta.1, theta.2; tau[1,2] becomes tau.1.2. A dimension's smallest index
// among the names maps to 1. The elements of an array are reordered
// column-major, as Stan has them.
//
// The configuration that cmdstanr and ArviZ look for is written
// after the caller's comments, so that none of those can override it; a line
// break in a comment starts a new comment line.
func (d *Draws) WriteStanCSV(w io.Writer, chain int, comments []string) error {
	out := bufio.NewWriter(w)
	for _, comment := range comments {
		for line := range strings.Lines(comment + "\n") {
			fmt.Fprintf(out, "# %s\n", strings.TrimRight(line, "\r\n"))
		}
	}
	fmt.Fprintf(out, "# model = dpreg_model\n# method = sample\n# num_samples = %d\n# num_warmup = %d\n"+
		"# save_warmup = 0\n# thin = 1\n# id = %d\n", d.NumDraws(), d.Warmup, chain+1)

	info, params := infoOrder(d.InfoNames), stanColumns(d.Names)
	header := make([]string, 0, len(info)+len(params))
	for _, j := range info {
		header = append(header, d.InfoNames[j])
	}
	for _, column := range params {
		header = append(header, column.String())
	}
	fmt.Fprintln(out, strings.Join(header, ","))

	var line []byte
	for i := range d.NumDraws() {
		line = line[:0]
		for _, j := range info {
			line = appendStan(line, d.Info[chain][i*len(d.InfoNames)+j])
		}
		for _, column := range params {
			line = appendStan(line, d.Chains[chain][i*len(d.Names)+column.source])
		}
		line[len(line)-1] = '\n'
		out.Write(line)
	}
	return out.Flush() // bufio keeps the first error for Flush
}

// appendStan appends v and a comma, with infinities that R, too, can read.
func appendStan(line []byte, v float64) []byte {
	switch {
	case math.IsInf(v, 1):
		return append(line, "Inf,"...)
	case math.IsInf(v, -1):
		return append(line, "-Inf,"...)
	}
	return append(strconv.AppendFloat(line, v, 'g', -1, 64), ',')
}

// infoOrder lists the sampler's columns, lp__ first.
func infoOrder(names []string) []int {
	order := make([]int, len(names))
	for j := range order {
		order[j] = j
	}
	if j := slices.Index(names, "lp__"); j > 0 {
		order = slices.Insert(slices.Delete(order, j, j+1), 0, j)
	}
	return order
}

// StanNames are the names of WriteStanCSV's columns, in the order of the parameters
// names: theta.1 of theta[0].
func StanNames(names []string) []string {
	columns := make([]string, len(names))
	for _, column := range stanColumns(names) {
		columns[column.source] = column.String()
	}
	return columns
}

// StanLabels are comments for WriteStanCSV: what the parameters names are called, by
// the names of their columns. One that is called as its column is has none.
func StanLabels(names, labels []string) (comments []string) {
	breaks := strings.NewReplacer("\n", " ", "\r", " ")
	for j, column := range StanNames(names) {
		if labels[j] != column {
			comments = append(comments, fmt.Sprintf("label: %s is %s", column, breaks.Replace(labels[j])))
		}
	}
	return comments
}

// stanColumn is a parameter's place in a Stan CSV.
type stanColumn struct {
	source  int    // index among Draws.Names
	base    string // theta of theta[0]
	indices []int  // as named, 1-based once stanColumns is done
}

// stanColumns parses names and puts the elements of each array together, in
// column-major order, where its first element stood.
func stanColumns(names []string) []stanColumn {
	columns := make([]stanColumn, len(names))
	first := map[string]int{}
	smallest := map[string][]int{}
	for j, name := range names {
		base, indices := splitName(name)
		columns[j] = stanColumn{j, base, indices}
		if _, seen := first[base]; !seen {
			first[base], smallest[base] = j, slices.Clone(indices)
		}
		for k := range min(len(indices), len(smallest[base])) {
			smallest[base][k] = min(smallest[base][k], indices[k])
		}
	}
	for _, column := range columns {
		for k := range min(len(column.indices), len(smallest[column.base])) {
			column.indices[k] += 1 - smallest[column.base][k]
		}
	}
	slices.SortStableFunc(columns, func(a, b stanColumn) int {
		if a.base != b.base {
			return first[a.base] - first[b.base]
		}
		for k := min(len(a.indices), len(b.indices)) - 1; k >= 0; k-- {
			if a.indices[k] != b.indices[k] {
				return a.indices[k] - b.indices[k]
			}
		}
		return 0
	})
	return columns
}

// splitName takes tau[1,2] to tau and 1, 2; a name without whole-number
// indices is all base.
func splitName(name string) (base string, indices []int) {
	base, rest, found := strings.Cut(name, "[")
	inner, closed := strings.CutSuffix(rest, "]")
	if !found || !closed {
		return name, nil
	}
	for field := range strings.SplitSeq(inner, ",") {
		index, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil {
			return name, nil
		}
		indices = append(indices, index)
	}
	return base, indices
}

// String is the column's name in the header.
func (c stanColumn) String() string {
	name := c.base
	for _, index := range c.indices {
		name += "." + strconv.Itoa(index)
	}
	return name
}
