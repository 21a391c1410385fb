package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
)

// twoHospitals writes two releases of the example data, whose bounds differ.
func twoHospitals(t *testing.T) {
	t.Helper()
	workspace(t)
	twoReleases(t)
}

// twoReleases writes them to the workspace.
func twoReleases(t *testing.T) {
	t.Helper()
	text := read(t, "good.json")
	other := strings.Replace(text, `"n": 1000`, `"n": 1001`, 1)
	if other == text {
		t.Fatal("the example release is not of 1000 rows")
	}
	write(t, "same.json", text)
	write(t, "north.json", text)
	write(t, "south.json", other)
}

// TestInferSeveral: table, JSON, --save and --report of two releases; files of a
// former run go.
func TestInferSeveral(t *testing.T) {
	testsize.Full(t, "TestInferSameRows and TestLayouts infer from several")
	twoHospitals(t)
	run := func(args ...string) result {
		return command(append(append([]string{"infer"}, quick...), args...)...)
	}
	out := run("north.json", "south.json", "--save", "out", "--report", "page.html").finished(t).stdout
	must.Say(t, must.Folded(out), "north.json", "south.json", "epsilons add up", "n = 2001", "complete pooling, separate", "educ")
	page := read(t, "page.html")
	if !strings.Contains(page, "north.json, south.json") || strings.Contains(page, "NOT PRIVATE") {
		t.Error("the page does not name both releases, or takes them for rows")
	}
	read(t, "out/draws-release-2.json")
	if json := read(t, "out/summary.json"); !strings.Contains(json, `"pooling": "complete"`) || !strings.Contains(json, `"name": "south.json"`) {
		t.Errorf("summary.json:\n%s", json)
	}
	run("north.json", "--save", "out").finished(t)
	if _, err := os.Stat("out/draws-release-2.json"); err == nil {
		t.Error("a former run's release is left beside other draws")
	}
	out = run("north.json", "south.json", "--covariates", "shared", "--what-if").finished(t).stdout
	must.Say(t, must.Folded(out), "complete pooling, shared covariates", "Price of privacy", "each custodian's covariates their own")
	out = run("north.json", "south.json", "--pooling", "partial", "--plots", "plots").finished(t).stdout
	if svg := read(t, "plots/custodians.svg"); !strings.Contains(svg, "about common ones") || !strings.Contains(svg, "south.json") {
		t.Errorf("the picture of the custodians is %.200s", svg)
	}
	must.Say(t, must.Folded(out), "spread(educ)", "educ @ south.json", "Shrinkage", "fewer than")
	for _, format := range []string{"csv", "latex"} { // have numbers alone
		must.Say(t, run("north.json", "south.json", "--pooling", "partial", "--format", format).stderr, "warning: ", "fewer than")
	}
}

// TestInferSameRows: two releases of the same rows are warned about, and taken for such by
// --same-rows, by predict too, from releases and from what was saved.
func TestInferSameRows(t *testing.T) {
	workspace(t)
	text := read(t, "good.json")
	again := regexp.MustCompile(`"sum_y": *-?[0-9.]+`).ReplaceAllString(text, `"sum_y": -880.5`)
	if again == text {
		t.Fatal("the example release has no sum of y")
	}
	write(t, "first.json", strings.Replace(text, `"n": 1000`, `"n": 1003`, 1))
	write(t, "second.json", strings.Replace(again, `"n": 1000`, `"n": 1003`, 1))
	plan := []string{"--chains", "2", "--warmup", "100", "--ess", "100", "--method", "mcmc-exact"}
	run := func(args ...string) string {
		return strings.Join(strings.Fields(command(append(args, plan...)...).finished(t).stdout), " ")
	}
	if out := run("infer", "first.json", "second.json"); !strings.Contains(out, "n = 2006") || !strings.Contains(out, "may be two releases of the same rows") {
		t.Errorf("without the flag:\n%s", out)
	}
	out := run("infer", "first.json", "second.json", "--same-rows", "--units", "scaled", "--save", "out")
	if !strings.Contains(out, "n = 1003") || !strings.Contains(out, "2 releases of the same rows") || strings.Contains(out, "may be two releases") {
		t.Errorf("with the flag:\n%s", out)
	}
	if json := read(t, "out/summary.json"); !strings.Contains(json, `"same_rows": true`) {
		t.Errorf("summary.json:\n%s", json)
	}
	write(t, "new.csv", "educ\n10\n")
	saved := command("predict", "--draws", "out", "new.csv").finished(t).stdout
	if again := command(append([]string{"predict", "--same-rows", "first.json", "second.json", "new.csv"}, plan...)...).finished(t).stdout; again != saved {
		t.Errorf("predicted from what was saved:\n%s\nfrom the releases:\n%s", saved, again)
	}
}

// TestShowSeveral: each release below its name.
func TestShowSeveral(t *testing.T) {
	twoHospitals(t)
	alone, both := command("show", "south.json"), command("show", "north.json", "south.json")
	if both.code != done || !strings.HasPrefix(both.stdout, "north.json\n") || !strings.HasSuffix(both.stdout, "\nsouth.json\n"+alone.stdout) {
		t.Errorf("exit code %d\n%s", both.code, both.stdout)
	}
}

// TestShowPlot: one release is drawn, and only into a picture that is not a release.
func TestShowPlot(t *testing.T) {
	twoHospitals(t)
	command("show", "south.json", "--plot", "south.svg").finished(t)
	if svg := read(t, "south.svg"); !strings.Contains(svg, "educ × income") || !strings.Contains(svg, "sd of its noise") {
		t.Errorf("no sums are in\n%.2000s", svg)
	}
	for want, args := range map[string][]string{
		"--plot draws one release": {"north.json", "south.json", "--plot", "a.svg"},
		"must end in .svg or .png": {"north.json", "--plot", "a.pdf"},
	} {
		command(append([]string{"show"}, args...)...).says(t, want).ends(t, misused)
	}
}

func TestInferSeveralRefuses(t *testing.T) {
	twoHospitals(t)
	wide := strings.NewReplacer(`"upper": 16`, `"upper": 20`, `"n": 1001`, `"n": 1002`).Replace(read(t, "south.json"))
	write(t, "wide.json", wide)
	write(t, "prior.json", `{"units":"scaled","sigma2":{"shape":3,"scale":0.2}}`)
	for want, args := range map[string][]string{
		"north.json and same.json are the same": {"north.json", "same.json"},
		"--pooling is of several":               {"north.json", "--pooling", "partial"},
		"--pooling \"all\"":                     {"north.json", "south.json", "--pooling", "all"},
		`no column "age"`:                       {"north.json", "south.json", "--formula", "income ~ age"},
		"infer needs a release":                 {},
		"--same-rows is of several":             {"north.json", "--same-rows"},
		"--same-rows and --covariates exclude":  {"north.json", "south.json", "--same-rows", "--covariates", "shared"},
		"they are not of the same rows":         {"north.json", "south.json", "--same-rows"},
		"wide.json: it has other bounds":        {"north.json", "wide.json", "--same-rows"},
		`units: north.json has the bounds 1:16 of "educ", wide.json has 1:20: a prior in scaled units would be in those of none; state it in the data's units, with "units": "original"`: {"north.json", "south.json", "wide.json", "--prior", "prior.json"},
	} {
		command(append([]string{"infer"}, args...)...).says(t, want).ends(t, misused)
	}
}
