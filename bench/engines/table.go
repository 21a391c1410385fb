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

// tables writes what the outcomes say as Markdown: medians over the releases of a
// cell, and the largest distances.
func (s *settings) tables(w io.Writer, all []outcome) {
	fmt.Fprintf(w, "Effective draws a CPU second of sampling, the smallest over all parameters / of θ₁. Bold: the most of the engines that have the exact posterior.\n\n")
	s.table(w, all, engines, func(runs []outcome, best bool) string {
		text := short(rate(runs)) + " / " + short(median(runs, func(o outcome) float64 { return o.slope / o.sampling }))
		if best {
			text = "**" + text + "**"
		}
		return text + mark(runs)
	})
	fmt.Fprintf(w, "\nCPU seconds of a chain's warm-up, %d iterations; then leapfrog steps a draw, and for Gibbs the acceptance of its correction.\n\n", s.plan.Warmup)
	s.table(w, all, engines, func(runs []outcome, _ bool) string {
		text := short(median(runs, func(o outcome) float64 { return o.warmup / float64(s.plan.Chains) })) + " s"
		switch runs[0].engine {
		case "--kernel plain":
			return text
		case "gibbs-ss-update":
			text += fmt.Sprintf("; %.2f", median(runs, func(o outcome) float64 { return o.correction }))
		default:
			text += fmt.Sprintf("; %.0f", median(runs, func(o outcome) float64 { return o.leapfrogs }))
		}
		return text
	})
	fmt.Fprintf(w, "\nLargest R-hat, and the distance to the exact posterior: the largest difference of a mean in posterior sds; of an sd. Of all releases the largest; < is the largest "+
		"that the draws could hide, where they tell none; ? where the chains, or the reference's, have not mixed (R-hat above %g, %g), so that they tell nothing. Then the share of draws that diverged, where it is not 0.\n\n", mixes, referenceMixes)
	s.table(w, all, engines, quality)
	fmt.Fprintf(w, "\nReleases of a cell: %d. † a run was cut at %g CPU seconds of sampling; ‡ so many runs at %g of warm-up. – not run: n > %g.\n",
		s.releases, s.limit, warmupShare*s.limit, s.individual)
}

// quality tells whether the draws can be believed.
func quality(runs []outcome, _ bool) string {
	rhat, divergent, d := 0.0, 0.0, runs[0].apart
	for _, o := range runs {
		rhat, divergent, d = max(rhat, o.rhat), max(divergent, o.divergent), d.merge(o.apart)
	}
	text := fmt.Sprintf("%.3f; %s", rhat, d)
	if divergent > 0 {
		text += fmt.Sprintf("; %.1g %%", 100*divergent)
	}
	return text
}

// table writes a row for each cell, a column for each engine; say is given the runs
// that were not cut in warm-up, and whether they are the fastest of exact engines.
func (s *settings) table(w io.Writer, all []outcome, engines []engine, say func(runs []outcome, best bool) string) {
	fmt.Fprint(w, "| p | ε | n |")
	for _, e := range engines {
		name := "`" + e.name + "`"
		fmt.Fprintf(w, " %s |", name)
	}
	fmt.Fprintf(w, "\n|%s\n", strings.Repeat("---|", 3+len(engines)))
	for _, c := range s.cells() {
		fmt.Fprintf(w, "| %d | %g | %d |", c.p, c.epsilon, c.n)
		fastest := fastest(all, c)
		for _, e := range engines {
			runs := find(all, c, e.name)
			warm := slices.DeleteFunc(slices.Clone(runs), func(o outcome) bool { return o.warmupCut })
			switch {
			case len(runs) == 0:
				fmt.Fprint(w, " – |")
			case len(warm) == 0:
				fmt.Fprintf(w, " ‡%d |", len(runs))
			case len(warm) < len(runs):
				fmt.Fprintf(w, " %s ‡%d |", say(warm, e.name == fastest), len(runs)-len(warm))
			default:
				fmt.Fprintf(w, " %s |", say(warm, e.name == fastest))
			}
		}
		fmt.Fprintln(w)
	}
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

// rate is the median of the smallest effective draws a CPU second; NaN where a
// run did not get through warm-up.
func rate(runs []outcome) float64 {
	return median(runs, func(o outcome) float64 { return o.least / o.sampling })
}

// median of what can be compared, NaN of nothing.
func median(runs []outcome, f func(outcome) float64) float64 {
	var x []float64
	for _, o := range runs {
		if v := f(o); !math.IsNaN(v) {
			x = append(x, v)
		}
	}
	if x == nil {
		return math.NaN()
	}
	slices.Sort(x)
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// mark tells that a run was cut in sampling.
func mark(runs []outcome) string {
	if slices.ContainsFunc(runs, func(o outcome) bool { return o.cut }) {
		return "†"
	}
	return ""
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
