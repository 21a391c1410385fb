package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/report"
	"github.com/dpreg/dpreg/whatif"
)

// pageFlag is --report.
type pageFlag struct {
	page  string
	made  report.Run
	given []string // flags of inference, as words
}

func (f *pageFlag) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.page, "report", "", "write the result with its plots as a page to this `FILE`, .html, that needs no other file and no network")
}

// check checks the file's name, and keeps the command line.
func (f *pageFlag) check(cmd *cobra.Command) error {
	f.made.Command, f.made.Version = typed(cmd), version()
	f.given = givenFlags(cmd)
	if f.page != "" && plotFormat(f.page) != "html" {
		return usagef("--report %s: the name must end in .html", f.page)
	}
	return nil
}

// writable looks whether the page can be written. keep is what it must not overwrite.
func (f *pageFlag) writable(keep inputs) error {
	if f.page == "" {
		return nil
	}
	if err := keep.spare(f.page); err != nil {
		return within("--report", err)
	}
	return within("--report", checkWritable(f.page))
}

// of says of which releases the page is.
func (f *pageFlag) of(paths []string) error {
	if f.page == "" {
		return nil
	}
	var digests []string
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		digests = append(digests, hex.EncodeToString(sum[:]))
	}
	f.made.Release, f.made.Digest = strings.Join(paths, ", "), strings.Join(digests, ", ")
	return nil
}

// write writes the page, if one was asked for.
func (f *pageFlag) write(stderr io.Writer, mode fs.FileMode, page func(io.Writer, report.Run) error) error {
	if f.page == "" {
		return nil
	}
	if err := writeFile(f.page, mode, func(w io.Writer) error { return page(w, f.made) }); err != nil {
		return err
	}
	note(stderr, "report written to %s", f.page)
	return nil
}

// argsKey is where a command's context has the arguments that the program was given.
type argsKey struct{}

// typed is the command line, as one can type it again, but for where the rows are: the
// address of a database, and what is selected from it, may hold passwords and keys.
func typed(cmd *cobra.Command) string {
	args, _ := cmd.Context().Value(argsKey{}).([]string)
	words := []string{cmd.Root().Name()}
	for i, word := range args {
		for flag, shown := range map[string]string{"--from": "URL", "--table": "NAME"} {
			switch {
			case i > 0 && args[i-1] == flag:
				word = shown
			case strings.HasPrefix(word, flag+"="):
				word = flag + "=" + shown
			}
		}
		words = append(words, word)
	}
	return shellLine(words)
}

func shellLine(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = shellWord(word)
	}
	return strings.Join(quoted, " ")
}

// inferenceFlags are those of fit that say how to infer from its release.
var inferenceFlags = []string{"prior", "prior-sd", "shrink", "method", "kernel", "chains", "warmup", "draws", "ess", "seed", "units", "level", "what-if"}

// givenFlags are those of inferenceFlags that were given, as words of a command line.
func givenFlags(cmd *cobra.Command) []string {
	var words []string
	for _, name := range inferenceFlags {
		switch flag := cmd.Flags().Lookup(name); {
		case flag == nil || !flag.Changed:
		case flag.Value.Type() == "bool":
			words = append(words, "--"+name+"="+flag.Value.String())
		default:
			values := []string{flag.Value.String()}
			if list, ok := flag.Value.(pflag.SliceValue); ok {
				values = list.GetSlice()
			}
			for _, value := range values {
				words = append(words, "--"+name, value)
			}
		}
	}
	return words
}

// repeatBy makes the infer that repeats the inference of a fit from its release the
// way to repeat the page.
func (f *pageFlag) repeatBy(path string) {
	f.made.Repeat = shellLine(append([]string{"dpreg", "infer", path}, f.given...))
}

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
	figures := report.FitPlots(fit, other, o)
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
