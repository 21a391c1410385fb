package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/report"
	"github.com/dpreg/dpreg/signature"
	"github.com/dpreg/dpreg/whatif"
)

func (f *flags) checkPage() error {
	if f.page != "" && plotFormat(f.page) != "html" {
		return usagef("--report %s: the name must end in .html", f.page)
	}
	return nil
}

// pageWritable looks whether the page can be written. keep is what it must not overwrite.
func (f *flags) pageWritable(keep inputs) error {
	if f.page == "" {
		return nil
	}
	return within("--report", errors.Join(keep.spare(f.page), checkWritable(f.page)))
}

// made says for the page how it came about, and from which releases.
func (f *flags) made(releases []string) (report.Run, error) {
	run := report.Run{Command: typed(f.cmd), Version: signature.Version()}
	if f.page == "" {
		return run, nil
	}
	var digests []string
	for _, path := range releases {
		digest, err := digestOf(path)
		if err != nil {
			return run, err
		}
		digests = append(digests, digest)
	}
	run.Release, run.Digest = strings.Join(releases, ", "), strings.Join(digests, ", ")
	return run, nil
}

// digestOf is the SHA-256 of a file, in hexadecimal.
func digestOf(path string) (string, error) {
	content, err := os.ReadFile(path)
	return fmt.Sprintf("%x", sha256.Sum256(content)), usage(err)
}

func (f *flags) writePage(mode fs.FileMode, page func(io.Writer) error) error {
	return f.writeAsked("report", f.page, mode, page)
}

func (f *flags) writePlot(mode fs.FileMode, draw func(w io.Writer, format string) error) error {
	return f.writeAsked("plot", f.plot, mode, func(w io.Writer) error { return draw(w, plotFormat(f.plot)) })
}

// writeAsked writes a file, and says so, if it has a name.
func (f *flags) writeAsked(what, path string, mode fs.FileMode, write func(io.Writer) error) error {
	if path == "" {
		return nil
	}
	if err := files.Write(path, mode, write); err != nil {
		return err
	}
	f.note("%s written to %s", what, path)
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
	return files.Line(words...)
}

// inferenceFlags are those of fit that say how to infer from its release.
var inferenceFlags = strings.Fields(priorFlags + "method kernel model-clamping chains warmup draws ess seed units level what-if")

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

// plotFormat is the extension of a file's name, without the point.
func plotFormat(path string) string {
	return strings.ToLower(strings.TrimPrefix(filepath.Ext(path), "."))
}

// checkPlot looks whether --plot names a picture that can be written, and none of keep.
func (f *flags) checkPlot(keep ...string) error {
	if f.plot == "" {
		return nil
	}
	if !slices.Contains(report.PlotFormats, plotFormat(f.plot)) {
		return usagef("--plot %s: the name must end in .svg or .png", f.plot)
	}
	return within("--plot", errors.Join(inputs(keep).spare(f.plot), checkWritable(f.plot)))
}

func (f *flags) plotFiles() (paths []string) {
	for _, name := range append(slices.Clone(report.FitPlotNames), report.CustodiansPlot) {
		for _, format := range report.PlotFormats {
			paths = append(paths, filepath.Join(f.plots, name+"."+format))
		}
	}
	return paths
}

// illustrate draws a fit where --plots or --report asks for it.
func (f *flags) illustrate(fit *dpreg.Fit, what *whatif.Answers, made report.Run) error {
	if f.plots == "" && f.page == "" {
		return nil
	}
	other, err := fit.Naive(f.ctx())
	if err != nil {
		return err
	}
	o := report.Options{Units: dpreg.Units(f.units), Level: f.level}
	figures := report.FitPlots(fit, other, o)
	mode := modeOfFit(fit)
	if f.plots != "" {
		if err := drawFigures(f.plots, mode, figures); err != nil {
			return err
		}
		f.note("plots written to %s", f.plots)
	}
	return f.writePage(mode, func(w io.Writer) error { return report.FitPage(w, fit, what, figures, o, made) })
}

// drawFigures draws figures into a directory, each in each format.
func drawFigures(dir string, mode fs.FileMode, figures []*report.Figure) error {
	if err := files.MakeDir(dir, mode); err != nil {
		return within("--plots", err)
	}
	for _, figure := range figures {
		for _, format := range report.PlotFormats {
			path := filepath.Join(dir, figure.Name+"."+format)
			if err := files.Write(path, mode, func(w io.Writer) error { return figure.Write(w, format) }); err != nil {
				return err
			}
		}
	}
	return nil
}
