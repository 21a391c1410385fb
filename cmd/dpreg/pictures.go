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
	for _, name := range report.FitPlotNames {
		for _, format := range report.PlotFormats {
			files = append(files, filepath.Join(f.plots, name+"."+format))
		}
	}
	return files
}

// draw draws a fit into the directory of --plots, each picture in each format.
func (f *inferFlags) draw(ctx context.Context, stderr io.Writer, fit *dpreg.Fit) error {
	other, err := naive(ctx, fit)
	if err != nil {
		return err
	}
	figures, err := report.FitPlots(fit, other, report.Options{Units: dpreg.Units(f.units), Level: f.level})
	if err != nil {
		return err
	}
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

// naive draws from the naive posterior of a fit's release, to be drawn beside it;
// nil where it has nothing to say. It costs no privacy.
func naive(ctx context.Context, fit *dpreg.Fit) (*dpreg.Fit, error) {
	method := model.Naive{}.Name()
	if fit.Release == nil || fit.Method == method {
		return nil, nil
	}
	plan := mcmc.Plan{Chains: 4, Draws: 1000, Seed: fit.Plan.Seed}
	other, err := dpreg.Infer(ctx, fit.Release, dpreg.Options{Method: method, Prior: fit.Prior, Plan: plan})
	if err != nil && ctx.Err() == nil {
		return nil, nil // such a release it refuses
	}
	return other, err
}
