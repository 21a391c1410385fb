package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
)

// planned runs plan on one point of two releases.
func planned(args ...string) result {
	return command(append([]string{"plan", "--releases", "2", "--n", "200", "--eps", "1", "--no-grid"}, args...)...)
}

func TestPlan(t *testing.T) {
	testsize.Full(t, "TestPlanGrid has the command")
	workspace(t)
	r := planned("--p", "2", "--plot", "p.png").finished(t).says(t, "plot written to p.png")
	must.Say(t, r.stdout, "y ~ x1 + x2, scaled units", "No row was read", "95% width", "Contr.", "Price", "Detected", "mean of 2", "default prior", "± 0.250", "--sd")
	if again := planned("--p", "2"); again.stdout != r.stdout {
		t.Errorf("the same seed gave another result:\n%s\n%s", r.stdout, again.stdout)
	}
	if r := planned("--p", "1", "--family", "binomial").finished(t); !strings.Contains(r.stdout, "family binomial (logit link)") || !strings.Contains(r.stdout, "R2 of 0.1") {
		t.Errorf("of a family it says\n%s", r.stdout)
	}
	if other := planned("--p", "2", "--seed", "4"); other.stdout == r.stdout {
		t.Error("another seed gave the same result")
	}
	if picture, err := os.ReadFile("p.png"); err != nil || !strings.HasPrefix(string(picture), "\x89PNG") {
		t.Errorf("p.png: %v", err)
	}
}

func TestPlanOfASchema(t *testing.T) {
	testsize.Full(t, "TestPlanGrid has the command")
	workspace(t)
	r := planned("--schema", "pums.schema.json", "--formula", "income ~ age + educ", "--covariate", "educ", "--slope", "5000", "--sd", "income=50000, educ=3", "--mean", "income=35000", "--r2", "0.2", "--plot", "p.SVG").finished(t)
	must.Say(t, must.Folded(r.stdout), "income ~ age + educ, original units", "the slope of educ", "The slope is 5000", "educ 6.62 ± 3.00", "income 35000 ± 50000", "R2 of 0.2")
	must.Say(t, read(t, "p.SVG"), "slope of educ")
	table := planned("--schema", "pums.schema.json", "--formula", "income ~ age + educ", "--format", "csv").finished(t).stdout
	if strings.Count(table, "\n") != 3 || !strings.Contains(table, ",educ,") {
		t.Error(table)
	}
}

// Of one value three are made, and that is said; a list stays as it is.
func TestPlanGrid(t *testing.T) {
	for _, c := range []struct {
		args, says string
		points     int
	}{
		{"--n 10 --eps 0.3", "0.075, 0.3, 1.2", 6}, // n/4 is too few rows
		{"--n 40,200,40 --eps 1", "0.25, 1, 4", 6},
		{"--n 1e3 --eps 2,1", "250, 1000, 4000", 6},
		{"--n 1000 --eps 1 --no-grid", "", 1},
	}[:testsize.Of(2, 4)] {
		r := command(append(strings.Fields("plan --p 1 --releases 1 --format json "), strings.Fields(c.args)...)...).finished(t).says(t, c.says)
		var f struct {
			Points []struct {
				N       int64
				Epsilon float64
			}
		}
		if err := json.Unmarshal([]byte(r.stdout), &f); err != nil || len(f.Points) != c.points {
			t.Errorf("%s: %v, %+v", c.args, err, f)
		}
	}
}

// A width gives an ε or a number of records, or says why none gives it.
func TestPlanWidth(t *testing.T) {
	testsize.Full(t, "TestForeseeWidth of plan has widths")
	workspace(t)
	const of = "plan --releases 2 --schema pums.schema.json --formula income~educ --sd income=50000,educ=3 --mean income=60000 --of educ "
	for args, says := range map[string]string{
		"--width 3000 --n 100,20000 --steps 3":              "With n = 100 no epsilon gives a width of 3000 for the slope of educ: without any noise",
		"--width 3000 --n 20000":                            "slope of educ is no wider than 3000 in half of the releases with n = 20000 and epsilon =",
		"--width 3000 --eps 1 --steps auto --delta 1e-6":    "and epsilon = 1; with less it is wider",
		"--width 1e-9 --eps 1 --plot p.png --report p.html": "With epsilon = 1 no possible number of records gives a width of 1e-09",
	} {
		if testing.Short() && !strings.Contains(args, "--report") {
			continue
		}
		r := command(strings.Fields(of + args)...).finished(t)
		if !strings.Contains(strings.Join(strings.Fields(r.stdout), " "), says) {
			t.Errorf("%s: no %q in\n%s", args, says, r.stdout)
		}
	}
	if _, err := os.Stat("p.png"); err == nil || !strings.Contains(read(t, "p.html"), "no possible number") {
		t.Errorf("a picture of nothing, %v", err)
	}
}

func TestPlanInterrupted(t *testing.T) {
	workspace(t)
	before := tree(t)
	ctx, cancel := context.WithCancel(context.Background())
	stderr := &cancelOn{text: "around the one", cancel: cancel}
	code := run(ctx, io.Discard, stderr, strings.Fields("plan --p 3 --n 500 --eps 1 --plot p.svg"))
	if code != interrupted || !strings.Contains(stderr.all.String(), "interrupted") {
		t.Errorf("exit code %d, stderr:\n%s", code, stderr.all.String())
	}
	unchanged(t, before)
}

func TestWrongPlans(t *testing.T) {
	for _, w := range []wrong{
		{name: "nothing", args: "plan", says: "--eps"},
		{name: "looks of a family", args: "plan --n 100 --eps 1 --p 1 --family probit --steps 2", says: "takes one look"},
		{name: "counts without bounds", args: "plan --n 100 --eps 1 --p 1 --family poisson", says: "the largest count"},
		{name: "no n", args: "plan --p 1 --eps 1", says: "--n is missing"},
		{name: "no columns", args: "plan --n 100 --eps 1", says: "--p 3"},
		{name: "both", args: "plan --n 100 --eps 1 --p 1 --schema pums.schema.json", says: "exclude"},
		{name: "formula without schema", args: "plan --n 100 --eps 1 --p 1 --formula y~x", says: "--schema"},
		{name: "eps", args: "plan --n 100 --eps 1,much --p 1", says: `--eps "1,much"`},
		{name: "eps zero", args: "plan --n 100 --eps 0 --p 1", says: "--eps"},
		{name: "eps empty", args: "plan --n 100 --eps 1, --p 1", says: "--eps"},
		{name: "n not whole", args: "plan --n 10.5 --eps 1 --p 1", says: "whole"},
		{name: "n small", args: "plan --n 4 --eps 1 --p 3", says: "more than 4 records"},
		{name: "n huge", args: "plan --n 1e13 --eps 1 --p 3", says: "from 1 to 1e+12"},
		{name: "n text", args: "plan --n many --eps 1 --p 3", says: "--n"},
		{name: "p", args: "plan --n 100 --eps 1 --p 0", says: "--p 0"},
		{name: "p huge", args: "plan --n 100 --eps 1 --p 500", says: "1 to 30"},
		{name: "delta", args: "plan --n 100 --eps 1 --p 1 --delta 1", says: "--delta"},
		{name: "level", args: "plan --n 100 --eps 1 --p 1 --level 95", says: "--level"},
		{name: "releases", args: "plan --n 100 --eps 1 --p 1 --releases 0", says: "--releases"},
		{name: "slope", args: "plan --n 100 --eps 1 --p 1 --slope steep", says: "--slope"},
		{name: "sd of no column", args: "plan --n 100 --eps 1 --p 1 --sd z=1", says: `"z" is none of the columns`},
		{name: "sd of no values", args: "plan --n 100 --eps 1 --p 1 --sd x1=2", says: "at most 0.968"},
		{name: "sd without name", args: "plan --n 100 --eps 1 --p 1 --sd 0.5", says: "NAME=NUMBER"},
		{name: "sd twice", args: "plan --n 100 --eps 1 --p 1 --sd x1=0.1,x1=0.2", says: "twice"},
		{name: "mean", args: "plan --n 100 --eps 1 --p 1 --mean y=1", says: "not within its bounds"},
		{name: "mean no number", args: "plan --n 100 --eps 1 --p 1 --mean y=low", says: "--mean"},
		{name: "r2", args: "plan --n 100 --eps 1 --p 1 --r2 1", says: "--r2"},
		{name: "steps", args: "plan --n 100 --eps 1 --p 1 --steps 9", says: "from 1 to 8, or auto"},
		{name: "width", args: "plan --n 100 --p 1 --width 0", says: "a number above 0 is needed"},
		{name: "width of none", args: "plan --n 100 --p 1 --width 1 --of z", says: `--of "z" is none`},
		{name: "width for neither", args: "plan --p 1 --width 1", says: "as in --n 1000"},
		{name: "width for both", args: "plan --n 100,200 --eps 1,2 --p 1 --width 1", says: "one of the two"},
		{name: "of without width", args: "plan --n 100 --eps 1 --p 1 --of x1", says: "--of goes with --width"},
		{name: "covariate", args: "plan --n 100 --eps 1 --p 1 --covariate z", says: `"z" is none`},
		{name: "format", args: "plan --n 100 --eps 1 --p 1 --format xml", says: "table, json, csv"},
		{name: "plot", args: "plan --n 100 --eps 1 --p 1 --plot p.jpg", says: ".svg or .png"},
		{name: "plot, no directory", args: "plan --n 100 --eps 1 --p 1 --plot nowhere/p.png", says: "nowhere"},
		{name: "no schema", args: "plan --n 100 --eps 1 --schema nothing.json", says: "nothing.json"},
		{name: "no prior", args: "plan --n 100 --eps 1 --p 1 --prior nothing.json", says: "nothing.json"},
		{name: "formula", args: "plan --n 100 --eps 1 --schema pums.schema.json --formula income~height", says: "height"},
		{name: "data", args: "plan pums.csv --n 100 --eps 1", says: "takes no file"},
		{name: "what-if of non-private", args: "fit pums.csv --method non-private --i-hold-the-data --what-if", says: "--what-if"},
		{name: "what-if as CSV", args: "infer good.json --what-if --format csv", says: "--what-if"},
	} {
		w.code = misused
		t.Run(w.name, w.run)
	}
}

func TestWhatIf(t *testing.T) {
	testsize.Full(t, "package whatif has the variants, and TestLayouts the output")
	weak := read(t, "../../testdata/pums-weak.release.json")
	workspace(t)
	write(t, "weak.json", weak)
	r := command(append([]string{"infer", "good.json", "--what-if"}, quick...)...).finished(t)
	must.Say(t, r.stdout, "Price of privacy", "What if", "prior sd a third", "covariates' prior sd tripled", "The conclusions")
	var summary struct {
		Format string
		WhatIf struct {
			Level    float64
			Variants []struct{ Effects []struct{ Label string } }
		} `json:"what_if"`
	}
	r = command(append([]string{"infer", "good.json", "--what-if", "--format", "json", "--level", "0.9"}, quick...)...).finished(t)
	must.Do(t, json.Unmarshal([]byte(r.stdout), &summary))
	if w := summary.WhatIf; summary.Format != "dpreg-summary/3" || w.Level != 0.9 || len(w.Variants) != 5 || w.Variants[0].Effects[1].Label != "educ" {
		t.Errorf("%+v", summary)
	}
	if testing.Short() {
		return
	}
	// A variant whose chains disagree, at a seed where the fit's agree.
	few := command("infer", "weak.json", "--what-if", "--draws", "200", "--seed", "3", "--format", "json")
	var doubts struct {
		Converged bool
		Warnings  []string
	}
	must.Do(t, json.Unmarshal([]byte(few.stdout), &doubts))
	last := doubts.Warnings[len(doubts.Warnings)-1]
	if few.code != unconverged || !doubts.Converged || !strings.Contains(last, "--what-if: not converged, ") || !strings.Contains(few.stderr, "--what-if: not converged, ") {
		t.Errorf("exit code %d, warnings %q, stderr %s", few.code, doubts.Warnings, few.stderr)
	}
	fit("--eps", "1", "--formula", educ).finished(t)
	if r := fit("--eps", "1", "--formula", educ, "--what-if").finished(t); !strings.Contains(r.stdout, "What if") {
		t.Error(r.stdout)
	}
}
