package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/report"
)

// Pictures are there in both formats; of what is not private only for the owner.
func TestPlots(t *testing.T) {
	testsize.Full(t, "package report draws all pictures")
	workspace(t)
	command(append([]string{"infer", "good.json", "--plots", "p"}, quick...)...).finished(t).says(t, "plots written to p")
	fit("--method", "non-private", "--i-hold-the-data", "--formula", educ, "--plots", "q").finished(t)
	for dir, want := range map[string]os.FileMode{"p": 0o644, "q": 0o600} {
		for _, name := range report.FitPlotNames {
			for _, format := range report.PlotFormats {
				info, err := os.Stat(filepath.Join(dir, name+"."+format))
				if err != nil || info.Mode().Perm() != want || info.Size() < 1000 {
					t.Errorf("%s: %v, %v", dir, info, err)
				}
			}
		}
	}
}

func TestWrongPlots(t *testing.T) {
	r := read(t, "../../testdata/pums-eps1.release.json")
	for _, w := range []wrong{
		{name: "no directory", args: "fit pums.csv --eps 1 --plots nowhere/p", says: "--plots"},
		{name: "a file", args: "fit pums.csv --eps 1 --plots good.json", says: "not a directory"},
		{name: "over the release", args: "infer trace.svg --plots .", says: "overwritten", files: map[string]string{"trace.svg": r}},
		{name: "over the release to be made", args: "fit pums.csv --eps 1 --release p --plots p", says: "overwritten"},
	} {
		w.code = misused
		t.Run(w.name, w.run)
	}
}
