package report

import "gonum.org/v1/plot"

// Plots are the panels of a figure.
func (f *Figure) Plots() (plots []*plot.Plot) {
	for _, p := range f.panels {
		plots = append(plots, p.plot)
	}
	return plots
}
