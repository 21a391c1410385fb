//go:build unix

package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// table writes what the outcomes say as Markdown: a row for each cell, a column for each
// engine.
func (s *settings) table(w io.Writer, all map[cell][]outcome) {
	fmt.Fprintf(w, "Effective draws a CPU second of sampling, the smallest over all parameters / of θ₁. Bold: the most of the engines that have the exact posterior.\n\n")
	fmt.Fprint(w, "| p | ε | n |")
	for _, e := range engines {
		fmt.Fprintf(w, " `%s` |", e.name)
	}
	fmt.Fprintf(w, "\n|%s\n", strings.Repeat("---|", 3+len(engines)))
	for _, c := range cells() {
		fmt.Fprintf(w, "| %d | %g | %d |", c.p, c.epsilon, c.n)
		most := 0.0
		for _, o := range all[c][:3] {
			most = max(most, o.least)
		}
		for i, o := range all[c] {
			fmt.Fprintf(w, " %s |", o.say(i < 3 && o.least == most))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "\n† a run was cut at %g CPU seconds of sampling; ‡ at %g of warm-up. – not run: n > %d.\n", s.limit, warmupShare*s.limit, mostIndividuals)
}

// say is a cell of the table.
func (o *outcome) say(best bool) string {
	switch {
	case o.left:
		return "–"
	case o.warmupCut:
		return "‡"
	}
	text := short(o.least) + " / " + short(o.slope)
	if best {
		text = "**" + text + "**"
	}
	if o.cut {
		text += "†"
	}
	return text
}

// short writes a number above 0 in two digits.
func short(x float64) string {
	if !(x > 0) {
		return "?"
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'e', 1, 64), 64)
	text := strconv.FormatFloat(rounded, 'f', int(max(0, 1-math.Floor(math.Log10(rounded)))), 64)
	if rounded >= 1000 {
		text = text[:len(text)-3] + "," + text[len(text)-3:]
	}
	return text
}
