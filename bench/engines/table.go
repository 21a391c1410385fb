//go:build unix

package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// table writes what the outcomes say as Markdown, medians over the releases of a
// cell: a row for each cell, a column for each engine.
func (s *settings) table(w io.Writer, all []outcome) {
	fmt.Fprintf(w, "Effective draws a CPU second of sampling, the smallest over all parameters / of θ₁. Bold: the most of the engines that have the exact posterior.\n\n")
	fmt.Fprint(w, "| p | ε | n |")
	for _, e := range engines {
		fmt.Fprintf(w, " `%s` |", e.name)
	}
	fmt.Fprintf(w, "\n|%s\n", strings.Repeat("---|", 3+len(engines)))
	for _, c := range cells() {
		fmt.Fprintf(w, "| %d | %g | %d |", c.p, c.epsilon, c.n)
		fastest := fastest(all, c)
		for _, e := range engines {
			fmt.Fprintf(w, " %s |", say(find(all, c, e.name), e.name == fastest))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "\nReleases of a cell: %d. † a run was cut at %g CPU seconds of sampling; ‡ so many runs at %g of warm-up. – not run: n > %d.\n",
		s.releases, s.limit, warmupShare*s.limit, mostIndividuals)
}

// say is a cell of the table.
func say(runs []outcome, best bool) string {
	warm := slices.DeleteFunc(slices.Clone(runs), func(o outcome) bool { return o.warmupCut })
	early := fmt.Sprintf("‡%d", len(runs)-len(warm))
	switch {
	case len(runs) == 0:
		return "–"
	case len(warm) == 0:
		return early
	}
	text := short(rate(warm)) + " / " + short(median(warm, func(o outcome) float64 { return o.slope }))
	if best {
		text = "**" + text + "**"
	}
	if slices.ContainsFunc(warm, func(o outcome) bool { return o.cut }) {
		text += "†"
	}
	if len(warm) < len(runs) {
		text += " " + early
	}
	return text
}

func find(all []outcome, c cell, engine string) (runs []outcome) {
	for _, o := range all {
		if o.cell == c && o.engine == engine {
			runs = append(runs, o)
		}
	}
	return runs
}

// fastest names the engine of the exact posterior with most effective draws a second.
func fastest(all []outcome, c cell) (name string) {
	best := 0.0
	for _, e := range engines[:3] {
		if r := rate(find(all, c, e.name)); r > best {
			best, name = r, e.name
		}
	}
	return name
}

// rate is the median of the smallest effective draws a CPU second.
func rate(runs []outcome) float64 { return median(runs, func(o outcome) float64 { return o.least }) }

// median of what can be compared, NaN of nothing.
func median(runs []outcome, f func(outcome) float64) float64 {
	var x []float64
	for _, o := range runs {
		if v := f(o); !math.IsNaN(v) && !o.warmupCut {
			x = append(x, v)
		}
	}
	if x == nil {
		return math.NaN()
	}
	slices.Sort(x)
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
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
