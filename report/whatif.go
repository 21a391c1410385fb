package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/dpreg/dpreg/whatif"
)

// WhatIf writes what became of each coefficient under each variant of a fit, and
// whether the conclusions move.
func WhatIf(w io.Writer, what *whatif.Answers) error {
	p := &printer{w: w}
	p.printf("\nWhat if\n\n")
	p.do(whatIfTable(what).write)
	p.printf("\n")
	for _, text := range whatIfWords(what) {
		p.paragraph(text)
	}
	return p.err
}

// whatIfWords explain the table, and say what follows.
func whatIfWords(what *whatif.Answers) []string {
	text := []string{"Shift: of the estimate, in posterior sds of the fit above. Width: of the interval, over the fit's. " +
		"Sign: where the interval lies, + above 0, - below, 0 about it; ! where the fit's lies elsewhere.", whetherMoved(what)}
	for _, v := range what.Variants {
		if v.Reason != "" {
			text = append(text, fmt.Sprintf("Not converged, %s: %s.", v.Name, v.Reason))
		}
	}
	return text
}

func whatIfTable(what *whatif.Answers) table {
	var rows [][]string
	for _, v := range what.Variants {
		name := v.Name
		for _, e := range v.Effects {
			sign := [...]string{"-", "0", "+"}[e.Sign+1]
			if e.Changed {
				sign += "!"
			}
			rows = append(rows, []string{name, e.Label, number(e.Shift, 2), number(e.Width, 2), sign})
			name = ""
		}
	}
	return table{Header: []string{"", "", "Shift", "Width", "Sign"}, Rows: rows, Left: 2, widest: []int{40, 20}}
}

// whetherMoved says in a sentence whether the conclusions move, and which one most.
func whetherMoved(what *whatif.Answers) string {
	type worst struct {
		size  float64
		where string
	}
	var shift, width worst
	var changed []string
	note := func(w *worst, size float64, variant, label string) {
		if size > w.size {
			*w = worst{size, fmt.Sprintf("%s, %s", label, variant)}
		}
	}
	for _, v := range what.Variants {
		for _, e := range v.Effects {
			note(&shift, math.Abs(e.Shift), v.Name, e.Label)
			note(&width, max(e.Width, 1/e.Width), v.Name, e.Label)
			if e.Changed {
				changed = append(changed, fmt.Sprintf("%s (%s)", e.Label, v.Name))
			}
		}
	}
	level := exactly(percent(what.Level))
	if !what.Moved() {
		return fmt.Sprintf("The conclusions stand: estimates shift by at most %s posterior sds, no interval is more than %s times as wide or as narrow, and no sign at %s %% changes.",
			number(shift.size, 2), number(width.size, 2), level)
	}
	text := fmt.Sprintf("The conclusions move with what was assumed: by up to %s posterior sds (%s), and intervals by a factor of up to %s (%s); ",
		number(shift.size, 2), shift.where, number(width.size, 2), width.where)
	if changed == nil {
		return text + fmt.Sprintf("no sign at %s %% changes.", level)
	}
	return text + fmt.Sprintf("the sign at %s %% changes of %s.", level, strings.Join(changed, ", "))
}
