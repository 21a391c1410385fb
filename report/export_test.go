package report

import (
	"io"

	"gonum.org/v1/plot"

	"github.com/dpreg/dpreg/posterior"
)

// Plots are the panels of a figure.
func (f *Figure) Plots() (plots []*plot.Plot) {
	for _, p := range f.panels {
		plots = append(plots, p.plot)
	}
	return plots
}

// Table writes the table of a summary.
func Table(w io.Writer, s *posterior.Summary, all bool) error {
	return write(w, show(summaryTable(s, all, Options{Width: width, Digits: usualDigits})))
}

// Lines writes what goes below that table.
func Lines(w io.Writer, s *posterior.Summary, prices []float64) error {
	return write(w, say(diagnosed(s), priced(s, prices)), warn(s.Warnings))
}
