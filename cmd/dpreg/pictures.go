package main

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/report"
	"github.com/dpreg/dpreg/whatif"
)

// plotFormat is the extension of a file's name, without the point.
func plotFormat(path string) string {
	return strings.ToLower(strings.TrimPrefix(filepath.Ext(path), "."))
}

// checkPlotFile looks whether --plot names a picture that can be written; empty is
// none.
func checkPlotFile(path string) error {
	if path == "" {
		return nil
	}
	if !slices.Contains(report.PlotFormats, plotFormat(path)) {
		return usagef("--plot %s: the name must end in .svg or .png", path)
	}
	return within("--plot", checkWritable(path))
}

// plotFiles are those of --plots.
func (f *inferFlags) plotFiles() []string {
	var files []string
	for _, name := range append(slices.Clone(report.FitPlotNames), report.CustodiansPlot) {
		for _, format := range report.PlotFormats {
			files = append(files, filepath.Join(f.plots, name+"."+format))
		}
	}
	return files
}

// illustrate draws a fit where --plots or --report asks for it.
func (f *inferFlags) illustrate(ctx context.Context, stderr io.Writer, fit *dpreg.Fit, what *whatif.Answers) error {
	if f.plots == "" && f.page == "" {
		return nil
	}
	other, err := naive(ctx, fit)
	if err != nil {
		return err
	}
	o := report.Options{Units: dpreg.Units(f.units), Level: f.level}
	figures, err := report.FitPlots(fit, other, o)
	if err != nil {
		return err
	}
	if f.plots != "" {
		if err := f.draw(stderr, fit, figures); err != nil {
			return err
		}
	}
	f.made.Method = f.method
	mode, _ := modes(fit)
	return f.pageFlag.write(stderr, mode, func(w io.Writer, made report.Run) error {
		return report.FitPage(w, fit, what, figures, o, made)
	})
}

// draw draws figures into the directory of --plots, each in each format.
func (f *inferFlags) draw(stderr io.Writer, fit *dpreg.Fit, figures []*report.Figure) error {
	mode, dirMode := modes(fit)
	if err := makeDir(f.plots, dirMode); err != nil {
		return within("--plots", err)
	}
	for _, figure := range figures {
		for _, format := range report.PlotFormats {
			path := filepath.Join(f.plots, figure.Name+"."+format)
			if err := writeFile(path, mode, func(w io.Writer) error { return figure.Write(w, format) }); err != nil {
				return err
			}
		}
	}
	note(stderr, "plots written to %s", f.plots)
	return nil
}

// naive draws from the naive posterior of a fit's releases, to be drawn beside it;
// nil where it has nothing to say. It costs no privacy.
func naive(ctx context.Context, fit *dpreg.Fit) (*dpreg.Fit, error) {
	method := model.Naive{}.Name()
	if fit.FromRows() || fit.Method == method {
		return nil, nil
	}
	o := dpreg.Options{Method: method, SameRows: fit.SameRows(), Prior: fit.Prior, Plan: mcmc.Plan{Chains: 4, Draws: 1000, Seed: fit.Plan.Seed}}
	_, o.Pooling = fit.Sharing()
	other, err := dpreg.Infer(ctx, fit.Custodians, o)
	if err != nil && ctx.Err() == nil {
		return nil, nil // such releases it refuses
	}
	return other, err
}
