package main

import (
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/release"
)

// people has a factor, a boolean and missing cells in rows 4 and 5.
func people() map[string]string {
	var rows strings.Builder
	for range 20 {
		rows.WriteString("30,red,true,2\n40,green,FALSE,3\n50,dark blue,1,5\n")
	}
	return map[string]string{
		"people.csv":   "age,colour,owner,income\n" + rows.String(),
		"gaps.csv":     "age,colour,owner,income\n" + rows.String() + "NA,,,2\n-,n/a,0,3\n",
		"unknown.csv":  "age,colour,owner,income\n30,red,1,1\n30," + secret + ",1,1\n",
		"maybe.csv":    "age,colour,owner,income\n30,red," + secret + ",1\n",
		"people.json":  peopleSchema(`["red", "green", "dark blue"]`),
		"once.json":    peopleSchema(`["red"]`),
		"twice.json":   peopleSchema(`["red", "green", "red"]`),
		"none.json":    peopleSchema(`[]`),
		"numbers.json": peopleSchema(`["red", 2]`),
	}
}

func peopleSchema(levels string) string {
	return `{"fields":[{"name":"age","constraints":{"minimum":0,"maximum":100}},
		{"name":"colour","type":"string","constraints":{"enum":` + levels + `}},
		{"name":"owner","type":"boolean"},
		{"name":"income","constraints":{"minimum":0,"maximum":9}}]}`
}

var wrongFactors = []wrong{
	{name: "level", args: "fit --eps 1 unknown.csv --schema people.json", code: misused, says: `unknown.csv:3: column "colour": a cell is none of the levels`},
	{name: "truth value", args: "release --eps 1 maybe.csv --schema people.json", code: misused, says: `maybe.csv:2: column "owner": a cell is neither true nor false`},
	{name: "one level", args: "fit --eps 1 people.csv --schema once.json", code: misused, says: `once.json: field 2 ("colour"): "enum": a factor needs at least two levels`},
	{name: "level twice", args: "fit --eps 1 people.csv --schema twice.json", code: misused, says: `level "red" stands twice`},
	{name: "no levels", args: "fit --eps 1 people.csv --schema none.json", code: misused, says: "needs levels"},
	{name: "level no text", args: "fit --eps 1 people.csv --schema numbers.json", code: misused, says: "level 2 is no string"},
	{name: "bounds", args: "fit --eps 1 people.csv --schema people.json --bounds colour=0:1", code: misused, says: `--bounds: column "colour" is no number`},
	{name: "response", args: "fit --eps 1 people.csv --schema people.json --formula colour~age", code: misused, says: `the response "colour" is categorical`},
	{name: "one level of a release", args: "release --eps 1 people.csv --schema people.json --formula income~colourgreen", code: misused, says: "so name the factor"},
	{name: "gaps", args: "fit --eps 1 gaps.csv --schema people.json", code: misused, says: `gaps.csv:62: column "age": missing value: every row must be complete in the columns of the model; or`},
	{name: "other gaps", args: "fit --eps 1 gaps.csv --schema people.json --missing midpoint", code: misused, says: `gaps.csv:63: column "age": a cell is not a finite`},
	{name: "drop", args: "fit --eps 1 gaps.csv --schema people.json --missing drop", code: refused, says: "changes their number"},
	{name: "drop, add-remove", args: "fit --eps 1 gaps.csv --schema people.json --missing drop --neighbours add-remove", code: misused, says: `gaps.csv:63: column "age": a cell is not a finite`},
	{name: "missing what", args: "fit --eps 1 gaps.csv --schema people.json --missing mean", code: misused, says: `--missing "mean": choose one of error, midpoint, drop`},
	{name: "NA and level", args: "release --eps 1 people.csv --schema people.json --na green", code: misused, says: `"green" is a level, and means that a cell is missing, too`},
}

var wrongLevels = []wrong{
	{name: "no list", args: "fit --eps 1 people.csv --levels colour", code: misused, says: `--levels "colour": want NAME=LEVEL,LEVEL`},
	{name: "one", args: "fit --eps 1 people.csv --levels colour=red", code: misused, says: `--levels "colour=red": a factor needs at least two levels`},
	{name: "twice", args: "fit --eps 1 people.csv --levels colour=red,green,red", code: misused, says: `level "red" stands twice`},
	{name: "column twice", args: "fit --eps 1 people.csv --levels colour=red,green --levels colour=red,blue", code: misused, says: "the column already has levels"},
	{name: "no column", args: "fit --eps 1 people.csv --bounds age=0:9 --levels hue=red,green", code: misused, says: `--levels: no column "hue"`},
	{name: "unknown", args: "fit --eps 1 people.csv --schema people.json --levels colour=red,green", code: misused, says: "a cell is none of the levels"},
	{name: "other of no factor", args: "fit --eps 1 people.csv --bounds age=0:9,income=0:9 --formula income~age --other rest", code: misused, says: `--other "rest": no column has levels`},
}

// TestAdviceByLevels: what is said of sums by levels is what can be done.
func TestAdviceByLevels(t *testing.T) {
	workspace(t)
	for name, text := range people() {
		write(t, name, text)
	}
	const order = "release --eps 1 --no-ledger --steps 1 --schema people.json "
	for args, says := range map[string][2]string{ // a part that is said, and one that is not
		"--by-level colour gaps.csv":                                         {"--missing drop --neighbours add-remove", "midpoint"},
		"--by-level colour gaps.csv --missing drop":                          {"adds noise to the number", "midpoint"},
		"--by-level colour gaps.csv --on-bad-cell missing":                   {"by --missing drop", "midpoint"},
		"--formula income~age gaps.csv":                                      {"--missing midpoint", "NAME"},
		"maybe.csv":                                                          {"--levels owner=no,yes", "NAME"},
		"--schema empty.json people.csv --formula income~age":                {"--levels age=LEVEL,LEVEL", "NAME"},
		"--formula owner~age+colour --by-level owner:colour -o x people.csv": {`"owner" is the response`, "NAME"},
	} {
		write(t, "empty.json", `{"fields":[{"name":"age"},{"name":"income"}]}`)
		got := command(strings.Fields(order + args)...)
		if text := must.Folded(got.stderr); got.code == 0 || !strings.Contains(text, says[0]) || strings.Contains(text, says[1]) {
			t.Errorf("%s: exit code %d: %s", args, got.code, text)
		}
	}
	command(strings.Fields(order + "--formula income~owner+colour --by-level owner:colour -o cells.json people.csv")...).finished(t)
	got := command("infer", "cells.json", "--formula", "owner ~ colour")
	must.Say(t, must.Folded(got.stderr), `"owner", one of its factors, is a response beside none of the others: leave these out, or name another response`)
	for formula, says := range map[string]string{
		"owner ~ colour":       "sums within each.",
		"owner ~ colour + age": "sums within each, and squares and products of all other columns but for the square of one that is 0 or 1.",
	} {
		command(append(strings.Fields(order+"--by-level colour -o known.json --formula"), formula, "people.csv")...).finished(t)
		must.Say(t, must.Folded(command("show", "known.json").finished(t).stdout), says)
		must.Do(t, os.Remove("known.json"))
	}
}

// TestLevelsOfTheCommandLine compares them with the schema file's, and cells of no level with those
// of one.
func TestLevelsOfTheCommandLine(t *testing.T) {
	workspace(t)
	for name, text := range people() {
		write(t, name, text)
	}
	const formula = "income ~ age + colour"
	made := func(path string, args ...string) *release.Release {
		command(append([]string{"release", "--eps", "1e12", "--steps", "1", "--formula", formula, "--no-ledger", "-o", path}, args...)...).finished(t)
		return must.Get(release.ReadFile(path))(t)
	}
	same := func(a, b *release.Release) {
		t.Helper()
		if !reflect.DeepEqual(a.Schema, b.Schema) || !floats.EqualApprox(a.Statistics.Vector(), b.Statistics.Vector(), 1e-6) {
			t.Errorf("%+v %v, and %+v %v", a.Schema, a.Statistics.Vector(), b.Schema, b.Statistics.Vector())
		}
	}
	bounds := []string{"--bounds", "age=0:100,income=0:9"}
	same(made("stated.json", append(bounds, "people.csv", "--levels", "colour=red,green,dark blue")...), made("listed.json", "people.csv", "--schema", "people.json"))
	text := people()["people.csv"]
	write(t, "mixed.csv", strings.Replace(text, "dark blue", "olive", 7))
	write(t, "merged.csv", strings.ReplaceAll(text, "dark blue", "rest"))
	same(made("other.json", append(bounds, "mixed.csv", "--levels", "colour=red,green", "--other", "rest")...),
		made("merged.json", append(bounds, "merged.csv", "--levels", "colour=red,green,rest")...))
}

// TestWordsRespond compares a release by the levels of a response that is told in words with that of truth values.
func TestWordsRespond(t *testing.T) {
	workspace(t)
	words := strings.NewReplacer("true", "yes", "FALSE", "no", ",1,", ",yes,").Replace(people()["people.csv"])
	write(t, "people.csv", people()["people.csv"])
	write(t, "words.csv", words)
	bounds, made := []string{"--bounds", "age=0:100,income=0:9"}, map[string]*release.Release{}
	for data, args := range map[string][]string{"people.csv": {"--schema", "people.json"}, "words.csv": append(bounds, "--levels", "owner=no,yes")} {
		write(t, "people.json", people()["people.json"])
		command(append([]string{"release", "--eps", "1e12", "--formula", "owner ~ age + income", "--by-level", "owner", "--no-ledger", "-o", "r.json", data}, args...)...).finished(t)
		r := must.Get(release.ReadFile("r.json"))(t)
		made[data] = r
		must.Do(t, os.Remove("r.json"))
	}
	truth, word := made["people.csv"], made["words.csv"]
	if y := word.Schema.Response; y.Name != "owneryes" || y.Factor != "owner" || !word.LevelsAreOfResponse() || !floats.EqualApprox(truth.Measured(), word.Measured(), 1e-6) {
		t.Errorf("%+v %v, and %v of truth values", y, word.Measured(), truth.Measured())
	}
}

func TestWrongFactors(t *testing.T) {
	for _, w := range slices.Concat(wrongFactors, wrongLevels) {
		w.files = people()
		t.Run(w.name, w.run)
	}
}

func TestFactorsEndToEnd(t *testing.T) {
	testsize.Full(t, "TestByLevelEndToEnd has a factor, TestPredictFactor predicts from one")
	workspace(t)
	for name, text := range people() {
		write(t, name, text)
	}
	command("release", "gaps.csv", "--schema", "people.json", "--eps", "10", "--missing", "midpoint", "--na", "n/a", "--na", "-", "--na", "NA", "-o", "r.json").finished(t).says(t, "--missing midpoint: a missing cell counts as the middle of its public bounds")
	r := must.Get(release.ReadFile("r.json"))(t)
	var names []string
	for _, c := range r.Schema.Columns() {
		names = append(names, c.Name)
	}
	if got := strings.Join(names, ","); got != "age,colourgreen,colourdark blue,owner,income" || r.N != 62 {
		t.Errorf("columns %s, n = %d", got, r.N)
	}
	infer := func(args ...string) result {
		return command(append(append([]string{"infer", "r.json"}, quick...), args...)...).finished(t)
	}
	if out := infer("--save", "draws").stdout; !strings.Contains(out, "income ~ age + colour + owner") || !strings.Contains(out, "x is modelled as normal") {
		t.Errorf("stdout:\n%s", out)
	}
	if out := infer("--formula", "income ~ `colourdark blue` + age").stdout; !strings.Contains(out, "colourdark blue ") {
		t.Errorf("stdout:\n%s", out)
	}
	write(t, "new.csv", "owner,colour,age\ntrue,red,30\n0,dark blue,40\n")
	if out := command("predict", "--draws", "draws", "new.csv").finished(t).stdout; strings.Count(out, "\n") != 3 {
		t.Errorf("stdout:\n%s", out)
	}
	write(t, "new.csv", "owner,colour,age\ntrue,"+secret+",30\n")
	if bad := command("predict", "--draws", "draws", "new.csv"); bad.code != misused || strings.Contains(bad.stderr, secret) {
		t.Errorf("exit code %d, stderr %s", bad.code, bad.stderr)
	}
	// The same release serves again, and a sub-model is offered from it.
	again := append([]string{"fit", "people.csv", "--schema", "people.json", "--eps", "10"}, quick...)
	command(again...).finished(t)
	before := tree(t)
	command(again...).finished(t).says(t, "used again, at no further cost")
	sub := command(append(again, "--formula", "income ~ colour")...).says(t, "dpreg infer people.release.json --formula 'income ~ colour'")
	if sub.code != refused || !maps.Equal(before, tree(t)) {
		t.Errorf("exit code %d, or files changed", sub.code)
	}
}

// Rows are left out where their number is noised, or nothing is released.
func TestDropRows(t *testing.T) {
	workspace(t)
	for name, text := range people() {
		write(t, name, text)
	}
	drop := []string{"gaps.csv", "--schema", "people.json", "--missing", "drop", "--na", "-", "--na", "NA", "--na", "n/a"}
	made := command(append([]string{"release", "--eps", "1000", "--neighbours", "add-remove"}, drop...)...)
	made.finished(t).says(t, "--missing drop: a row with a missing cell is left out")
	r := must.Get(release.ReadFile("gaps.release.json"))(t)
	// Noise of scale 16/1000 or so on n: it is 60, and not 62.
	if r.N != 60 {
		t.Errorf("n = %d", r.N)
	}
	out := command(append(append([]string{"fit", "--method", "non-private", "--i-hold-the-data"}, drop...), quick...)...).finished(t)
	must.Say(t, out.stdout, "n = 60")
}

// TestByLevelEndToEnd: a release by levels says what it has, is answered at no further ε by an order that
// is the same, is inferred from with its own law, and says what it cannot do.
func TestByLevelEndToEnd(t *testing.T) {
	testsize.Full(t, "TestPerLevelEndToEnd has the commands of such a release")
	workspace(t)
	for name, text := range people() {
		write(t, name, text)
	}
	fit := func(args ...string) result {
		return command(append([]string{"fit", "people.csv", "--schema", "people.json", "--eps", "2", "--by-level", "colour", "--release", "r.json", "--no-ledger", "--seed", "1"}, append(quick, args...)...)...)
	}
	first := fit()
	if !strings.Contains(first.stdout, "it alone has the law of sums by levels") || !strings.Contains(first.stdout, "income ~ colour + age + owner") || strings.Contains(first.stderr, `"colourgreen"`) {
		t.Errorf("%s\n%s", first.stdout, first.stderr)
	}
	if again := fit(); again.stdout != first.stdout {
		t.Error("the same order does not use the release again")
	}
	fit("--by-level", "owner").ends(t, refused)
	if shown := command("show", "r.json").finished(t); !strings.Contains(shown.stdout, "age in dark blue") {
		t.Error(shown.stdout)
	}
	command("show", "r.json", "--plot", "r.png").finished(t) // sums of no noise are in no picture of it
	if checked := command(append(strings.Fields("check r.json --calibrate 0"), quick...)...).finished(t); !strings.Contains(checked.stdout, "age in dark blue") {
		t.Error(checked.stdout)
	}
	command("release", "people.csv", "--schema", "people.json", "--eps", "4", "--by-level", "colour", "-o", "s.json", "--no-ledger").finished(t)
	command("release", "people.csv", "--schema", "people.json", "--eps", "4", "-o", "plain.json", "--no-ledger").finished(t)
	joint := command(append(strings.Fields("infer r.json s.json --pooling partial --save joint/"), quick...)...).finished(t)
	must.Say(t, joint.stdout, "it alone has the law of sums by levels", "partial pooling", "colourgreen @ s.json")
	command("predict", "--draws", "joint/", "people.csv", "--custodian", "s.json").finished(t)
	if checked := command(append(strings.Fields("check r.json s.json --calibrate 0"), quick...)...).finished(t); strings.Count(checked.stdout, "age in dark blue") != 2 {
		t.Error(checked.stdout)
	}
	if planned := command(strings.Fields("plan --schema people.json --by-level colour --steps 1 --eps 1 --n 500 --no-grid --releases 2 --covariate colourgreen")...).finished(t); !strings.Contains(strings.Join(strings.Fields(planned.stdout), " "), "normal rows, sums by the levels of colour") {
		t.Error(planned.stdout)
	}
	for args, says := range map[string]string{"infer r.json plain.json --save both/": "age", "check r.json --calibrate 0": "age in all rows", "ask r.json": "sd(age)"} { // sums of all levels
		if out := command(append(strings.Fields(args+" --formula income~age"), quick...)...).finished(t); !strings.Contains(out.stdout, says) {
			t.Errorf("%s: %s", args, out.stdout)
		}
	}
	command("predict", "--draws", "both/", "people.csv").finished(t)
	for _, args := range []string{"infer r.json --formula income~age+colourgreen", "infer r.json --method naive", "infer r.json plain.json", "infer plain.json r.json", "infer r.json s.json --covariates shared"} {
		command(strings.Fields(args)...).says(t, "level").ends(t, misused)
	}
}

// TestPerLevelEndToEnd: a release of products per level has a slope for each level, of some covariates or none, is answered at
// no further ε by an order that is the same, and says what it cannot do.
func TestPerLevelEndToEnd(t *testing.T) {
	workspace(t)
	for name, text := range people() {
		write(t, name, text)
	}
	made := strings.Fields("people.csv --schema people.json --eps 5 --by-level colour --no-ledger")
	fit := func(args ...string) result {
		return command(slices.Concat([]string{"fit", "--release", "r.json", "--seed", "1"}, made, args, quick)...)
	}
	first := fit("--per-level", "--formula", "income ~ colour + age")
	if !strings.Contains(first.stdout, "colourgreen:age") || !strings.Contains(first.stdout, "one spread within each level of colour") || strings.Contains(first.stdout+first.stderr, "modelled as normal") {
		t.Errorf("%s\n%s", first.stdout, first.stderr)
	}
	if again := fit("--per-level", "--formula", "income ~ colour + age"); again.stdout != first.stdout {
		t.Errorf("the same order does not use the release again: %s", again.stderr)
	}
	fit("--formula", "income ~ colour + age").says(t, "products per level").ends(t, refused)
	command(slices.Concat([]string{"release", "--per-level", "-o", "s.json"}, made)...).finished(t)
	if shown := command("show", "s.json").finished(t); !strings.Contains(shown.stdout, "age in dark blue") || !strings.Contains(strings.Join(strings.Fields(shown.stdout), " "), "products of all other columns within each") {
		t.Error(shown.stdout)
	}
	command("show", "s.json", "--plot", "s.png").finished(t)
	for formula, says := range map[string]string{"income ~ colour * age + owner": "colourgreen:age", "income ~ colour + owner": "owner", "age ~ colour + income": "income"} {
		if out := command(append([]string{"infer", "s.json", "--formula", formula, "--save", strings.Fields(formula)[4] + "/"}, quick...)...).finished(t); !strings.Contains(out.stdout, says) {
			t.Errorf("%s: %s", formula, out.stdout)
		}
	}
	command("predict", "--draws", "age/", "people.csv").finished(t)
	for args, says := range map[string]string{
		"check s.json": "products per level", "infer s.json r.json --formula income~colour+age": "--by-level alone", "infer s.json --formula owner~colour --family binomial": "--by-level alone",
		"infer s.json --method naive": "mcmc-exact alone", "infer s.json --formula income~colour+colour:age": "no column", "infer s.json --formula income~age+colourgreen": "as a whole or not at all",
		"release people.csv --schema people.json --eps 1 --no-ledger -o t.json --per-level":                                      "--by-level",
		"release people.csv --schema people.json --eps 1 --no-ledger -o t.json --per-level --by-level colour --steps 3":          "--steps 1",
		"release people.csv --schema people.json --eps 1 --no-ledger -o t.json --per-level --by-level colour --split 2":          "--split",
		"release people.csv --schema people.json --eps 1 --no-ledger -o t.json --per-level --by-level owner --formula owner~age": "is the response",
	} {
		command(strings.Fields(args)...).says(t, says).ends(t, misused)
	}
}
