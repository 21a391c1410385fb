package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/signature"
)

// tiny is a study of two cells that takes no time.
const tiny = "calibrate --n 40 --eps 1 --method naive,non-private --chains 1 --draws 150 --trials 6"

func calibrate(line string, args ...string) result {
	return command(append(strings.Fields(line), args...)...)
}

// outcome is all that has to be the same whenever a study is run.
func outcome(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	for _, name := range []string{"study.json", "results.csv", "summary.csv", "summary.json"} {
		all = append(all, read(t, filepath.Join(dir, name)))
	}
	return strings.Join(all, "\n")
}

func TestCalibrate(t *testing.T) {
	workspace(t)
	r := calibrate(tiny).finished(t)
	must.Say(t, must.Folded(r.stdout), "6 trials of each of 2 cells", "no privacy guarantee", "non-private", "MMD2")
	var s struct {
		Note  string
		Cells []struct{ Method string }
	}
	r = calibrate(tiny, "--format", "json").finished(t)
	if err := json.Unmarshal([]byte(r.stdout), &s); err != nil || len(s.Cells) != 2 || !strings.Contains(s.Note, "no privacy guarantee") {
		t.Errorf("%v: %+v", err, s)
	}
	if r = calibrate(tiny, "--format", "csv").finished(t); strings.Count(r.stdout, "\n") != 1+2*4+2 {
		t.Errorf("csv:\n%s", r.stdout)
	}
	r = calibrate("calibrate --schema pums.schema.json --formula income~age+educ --n 60 --eps 1 --data clamped --x binary --method naive --chains 1 --draws 150 --trials 3").finished(t)
	must.Say(t, r.stdout, "binary covariates")
}

// Presets, and a change of each of their parts.
func TestCalibratePresets(t *testing.T) {
	workspace(t)
	for _, c := range []struct {
		line string
		rows int
	}{
		{"calibrate --preset fig3 --n 10 --eps 0.1 --kernel plain --method gibbs-ss-update,naive --warmup 10 --draws 150 --trials 1 --format csv", 2*6 + 2*4},
		{"calibrate --preset fig4 --eps 1 --method non-private --chains 1 --draws 150 --trials 2 --format csv", 1},
	} {
		if r := calibrate(c.line).finished(t); strings.Count(r.stdout, "\n") != 1+c.rows {
			t.Errorf("%s:\n%s", c.line, r.stdout)
		}
	}
}

// A study that is saved goes on from where it was stopped, by the same command or by
// its directory alone, and ends with the same bytes.
func TestCalibrateGoesOn(t *testing.T) {
	workspace(t)
	calibrate(tiny, "--save", "whole", "--plots").finished(t).says(t, "pictures written to whole/plots")
	want := outcome(t, "whole")
	if len(read(t, "whole/plots/ecdf-theta1.svg")) == 0 || len(read(t, "whole/plots/mmd.png")) == 0 {
		t.Error("an empty picture")
	}
	journal := read(t, "whole/journal")
	lines := strings.SplitAfter(journal, "\n")
	for _, again := range []string{tiny + " --save cut", "calibrate --save cut"} {
		write(t, "cut/study.json", read(t, "whole/study.json"))
		write(t, "cut/journal", strings.Join(lines[:5], "")+lines[5][:30])
		calibrate(again).finished(t).says(t, "going on after 4 finished trials").says(t, "cut off")
		if outcome(t, "cut") != want {
			t.Errorf("%s: other results", again)
		}
		must.Do(t, os.RemoveAll("cut"))
	}
	before := outcome(t, "whole")
	calibrate("calibrate --save whole").finished(t).says(t, "going on after 12")
	if outcome(t, "whole") != before {
		t.Error("a finished study has other results when it is opened again")
	}
}

func TestStudiesInterrupted(t *testing.T) {
	for _, line := range []string{tiny, few} {
		t.Run(line, func(t *testing.T) {
			workspace(t)
			ctx, cancel := context.WithCancel(context.Background())
			go func() {
				for range 1000 {
					if text, err := os.ReadFile("s/journal"); err == nil && bytes.Count(text, []byte("\n")) > 3 {
						break
					}
					time.Sleep(10 * time.Millisecond)
				}
				cancel()
			}()
			commandContext(ctx, append(strings.Fields(line), "--trials", "100000", "--save", "s")...).says(t, "the same command goes on").ends(t, interrupted)
			if _, err := os.Stat("s/results.csv"); err == nil {
				t.Error("results of a study that is not finished")
			}
		})
	}
}

// A command does not take the other's study.
func TestStudyOfTheOther(t *testing.T) {
	workspace(t)
	calibrate(tiny, "--save", "a").finished(t)
	compared(few, "--save", "b").finished(t)
	for line, says := range map[string]string{
		"calibrate --save b":         "of a study of dpreg compare",
		"compare --save a":           "of a study of dpreg calibrate",
		"compare merge --save c a a": "of a study of dpreg calibrate",
		tiny + " --save b":           "of another study",
	} {
		calibrate(line).says(t, says).ends(t, misused)
	}
}

// Shards merged are one run.
func TestCalibrateMerge(t *testing.T) {
	workspace(t)
	calibrate(tiny, "--save", "whole").finished(t)
	calibrate(tiny, "--save", "a", "--shard", "1/2").finished(t).says(t, "shard 1/2 is finished")
	calibrate("calibrate merge --save m a").says(t, "shard 2/2 is missing").ends(t, misused)
	calibrate(tiny, "--save", "b", "--shard", "2/2").finished(t)
	merged := calibrate("calibrate merge --save m b a").finished(t)
	if outcome(t, "m") != outcome(t, "whole") {
		t.Error("shards have other results than one run")
	}
	must.Say(t, merged.stdout, "6 trials of each")
	calibrate(tiny+" --seed 5", "--save", "c", "--shard", "2/2").finished(t)
	for line, says := range map[string]string{
		"calibrate merge --save m2 a c":     "another study",
		"calibrate merge --save m2 a a":     "both shard 1/2",
		"calibrate merge --save m2 a whole": "do not fit together",
		"calibrate merge --save m2 a none":  "none",
		"calibrate merge --save m b a":      "trials already",
		"calibrate merge a b":               "--save DIR",
		"calibrate merge --save m2":         "directories of the shards",
	} {
		calibrate(line).says(t, says).ends(t, misused)
	}
}

// A study writes its page, be it run, gone on with or put together.
func TestCalibrateReport(t *testing.T) {
	workspace(t)
	calibrate(tiny, "--save", "s", "--report", "s/r.html").finished(t).says(t, "report written to s/r.html")
	wantPage(t, "s/r.html", "Calibration of naive, non-private", "--save s --report s/r.html", "6 trials of each of 2 cells", "no privacy guarantee", "study.json", signature.Version())
	calibrate("calibrate --save s --report again.html").finished(t)
	wantPage(t, "again.html", "6 trials of each of 2 cells", "dpreg calibrate --save s --report again.html")
	calibrate("calibrate merge --save m s --report m.html").finished(t)
	wantPage(t, "m.html", "dpreg calibrate merge --save m s")
}

// resampled is a study of two cells of real rows.
const resampled = "calibrate --population pums.csv --i-hold-the-data --formula income~educ+sex --n 100 --eps 1,10 --chains 1 --draws 150 --trials 2"

// A study of a population goes on, is sharded and merged as any, and its files are the
// holder's alone.
func TestCalibratePopulation(t *testing.T) {
	workspace(t)
	r := calibrate(resampled, "--save", "whole", "--plots", "--report", "whole/r.html").finished(t)
	must.Say(t, must.Folded(r.stdout), "replacement from pums.csv", "LS 95%", "Slopes: ", "no privacy guarantee")
	wantPage(t, "whole/r.html", "replacement from pums.csv", "Slopes: ", "Share of trials whose 95 % interval holds")
	for _, name := range []string{"results.csv", "summary.csv", "summary.json", "study.json", "journal", "plots/coverage.svg", "r.html"} {
		if info, err := os.Stat("whole/" + name); err != nil || info.Mode().Perm() != private {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if rows := strings.Count(read(t, "whole/summary.csv"), "\npums.csv,100,"); rows != 2*4 {
		t.Errorf("%d rows:\n%s", rows, read(t, "whole/summary.csv"))
	}
	if testing.Short() { // TestCalibrateGoesOn has the rest, of simulated rows
		return
	}
	want := outcome(t, "whole")
	write(t, "cut/study.json", read(t, "whole/study.json"))
	write(t, "cut/journal", strings.Join(strings.SplitAfter(read(t, "whole/journal"), "\n")[:4], ""))
	calibrate("calibrate --population pums.csv --i-hold-the-data --save cut").finished(t).says(t, "going on after 3")
	for _, i := range []string{"1", "2"} {
		calibrate(resampled, "--save", "part"+i, "--shard", i+"/2").finished(t)
	}
	calibrate("calibrate merge --save merged part1 part2").finished(t)
	if outcome(t, "cut") != want || outcome(t, "merged") != want {
		t.Error("results depend on how they were come by")
	}
	write(t, "pums.csv", strings.Replace(read(t, "pums.csv"), "59,1,9", "59,0,9", 1))
	calibrate(tiny, "--save", "simulated").finished(t)
	before := tree(t)
	for line, says := range map[string]string{
		"calibrate --save cut": "name the file by --population",
		"calibrate --population pums.csv --i-hold-the-data --save cut":       "not those of the study",
		"calibrate --population pums.csv --i-hold-the-data --save simulated": "takes no --population",
	} {
		calibrate(line).says(t, says).ends(t, misused)
	}
	calibrate("calibrate --population pums.csv --n 100 --eps 1").says(t, "--i-hold-the-data").ends(t, refused)
	unchanged(t, before)
}

func TestCalibrateWrong(t *testing.T) {
	good := "calibrate --n 40 --eps 1 --trials 2 "
	for line, says := range map[string]string{
		"calibrate":                                   "--preset fig3 or fig4",
		"calibrate --n 40":                            "--n and --eps",
		"calibrate data.csv":                          "data.csv",
		"calibrate --preset fig5":                     "fig5",
		"calibrate --preset fig4 --n 10":              "its own covariate",
		good + "--method gibs":                        "method gibs: there is none of this name",
		good + "--kernel fast":                        "--kernel",
		good + "--sensitivity none":                   "--sensitivity",
		good + "--data real":                          "--data",
		good + "--x uniform":                          `x "uniform"`,
		good + "--p 0":                                "--p",
		good + "--p 2 --schema pums.schema.json":      "exclude each other",
		good + "--formula y~x":                        "--formula",
		good + "--prior nothing.json":                 "nothing.json",
		good + "--prior pums.csv":                     "not JSON",
		good + "--prior good.json":                    "prior",
		good + "--trials 0":                           "trials",
		good + "--warmup 20":                          "too short",
		good + "--draws 50":                           "ranked among",
		good + "--draws 500 --ess 400":                "exclude each other",
		good + "--ess 20":                             "ranked among",
		good + "--chains 2000":                        "from 1 to 1000",
		good + "--shard 1/2":                          "--save DIR",
		good + "--save s --shard 3/2":                 "--shard",
		good + "--save s --shard 1/2x":                "--shard",
		good + "--plots":                              "--save DIR",
		good + "--save s --shard 1/2 --plots":         "no result yet",
		good + "--save s --shard 1/2 --report a.html": "no result yet",
		good + "--report r.pdf":                       ".html",
		good + "--report nowhere/r.html":              "nowhere",
		good + "--save s --report s/no/r.html":        "s/no",
		good + "--format xml":                         "--format",
		good + "--model-clamping":                     "--method mcmc-ind",
		good + "--delta 2":                            "delta",
		good + "--delta 1e-6 --sensitivity paper":     "Laplace noise",
		"calibrate --save nowhere":                    "no study yet",
		good + "--save pums.csv":                      "--save",
		good + "--missing midpoint":                   "by --population",
		resampled + " --p 2":                          "--p is for simulated rows",
		resampled + " --data clamped":                 "--data is for simulated rows",
		resampled + " --bounds income=auto":           "--bounds",
		resampled + " --schema none.json":             "none.json",
		resampled + " --formula income~wealth":        "wealth",
		resampled + " --population none.csv":          "none.csv",
		resampled + " --report pums.csv":              "--report",
	} {
		t.Run(line, wrong{args: line, code: misused, says: says}.run)
	}
	t.Run("files of no study", func(t *testing.T) {
		workspace(t)
		write(t, "mine/summary.csv", "my own")
		write(t, "diary/journal", "Dear diary")
		before := tree(t)
		for dir, says := range map[string]string{"mine": "of no study", "diary": "not a journal"} {
			calibrate(tiny, "--save", dir).says(t, says).ends(t, misused)
		}
		unchanged(t, before)
	})
	t.Run("another study's directory", func(t *testing.T) {
		workspace(t)
		calibrate(tiny, "--save", "s").finished(t)
		before := tree(t)
		calibrate(tiny, "--save", "s", "--seed", "9").says(t, "of another study").ends(t, misused)
		calibrate(tiny, "--save", "s", "--shard", "1/2").says(t, "of shard 1/1").ends(t, misused)
		unchanged(t, before)
	})
}
