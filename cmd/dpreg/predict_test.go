package main

import (
	csvfile "encoding/csv"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/saved"
)

// Rows to predict from: a column that the model does not know, one value outside
// the bounds 1:16, and the covariate last.
const someRows = "name,educ\n\"Smith, A\",9\nBo,16\nCy,30\n"

// save leaves a run of two short chains in the directory s, and rows in new.csv.
func save(t *testing.T, flags ...string) {
	t.Helper()
	workspace(t)
	write(t, "new.csv", someRows)
	again(t, flags...)
}

// again saves a run in the workspace of another.
func again(t *testing.T, flags ...string) {
	t.Helper()
	args := append([]string{"infer", "good.json", "--formula", educ, "--save", "s"}, quick...)
	command(append(args, flags...)...).finished(t)
}

// TestPredictAsRead: predictions stand between what separates the fields that were read, with their decimal sign.
func TestPredictAsRead(t *testing.T) {
	save(t)
	write(t, "points.csv", "name,educ\nBo,9.5\nCy,30\n")
	write(t, "commas.csv", "name;educ\nBo;9,5\nCy;30\n")
	want := command("predict", "--draws", "s", "points.csv").finished(t).stdout
	want = strings.NewReplacer(",", ";", ".", ",").Replace(strings.Replace(want, ".fitted,.sd,.lower,.upper,.outside", "names", 1))
	got := command("predict", "--draws", "s", "--decimal", ",", "commas.csv").finished(t).stdout
	if got = strings.Replace(got, ".fitted;.sd;.lower;.upper;.outside", "names", 1); got != want || !strings.Contains(got, "Bo;9,5;") {
		t.Errorf("%s is not\n%s", got, want)
	}
}

// predictions reads what predict wrote.
func predictions(t *testing.T, text string) [][]string {
	t.Helper()
	return must.Get(csvfile.NewReader(strings.NewReader(text)).ReadAll())(t)
}

func parsed(t *testing.T, text string) float64 {
	t.Helper()
	return must.Get(strconv.ParseFloat(text, 64))(t)
}

func TestPredict(t *testing.T) {
	save(t)
	r := command("predict", "--draws", "s", "new.csv")
	if r.code != done || r.stderr != "" {
		t.Fatalf("exit code %d, stderr %q", r.code, r.stderr)
	}
	got := predictions(t, r.stdout)
	if head := strings.Join(got[0], " "); len(got) != 4 || head != "name educ .fitted .sd .lower .upper .outside" || got[1][0] != "Smith, A" {
		t.Fatalf("got %q", got)
	}
	for k, outside := range []string{"FALSE", "FALSE", "TRUE"} {
		row := got[k+1]
		fitted, sd, lower, upper := parsed(t, row[2]), parsed(t, row[3]), parsed(t, row[4]), parsed(t, row[5])
		if !(lower < fitted && fitted < upper && sd > 0) || row[6] != outside {
			t.Errorf("row %d: %v", k+1, row)
		}
	}
	line := predictions(t, command("predict", "--draws", "s", "new.csv", "--mean", "--level", "0.5").stdout)
	for k := 1; k < 4; k++ {
		if line[k][2] != got[k][2] || parsed(t, line[k][3]) >= parsed(t, got[k][3]) || parsed(t, line[k][5]) >= parsed(t, got[k][5]) {
			t.Errorf("row %d of the line: %v", k, line[k])
		}
	}

	write(t, "new.csv", strings.Replace(someRows, "Smith, A", "Smith\nAnn", 1))
	if r := command("predict", "--draws", "s", "new.csv"); r.code != done || !strings.Contains(r.stderr, "warning: new.csv:2: ") || strings.Contains(r.stderr, "Ann") {
		t.Errorf("a name of two lines: exit code %d, stderr %q", r.code, r.stderr)
	}
}

// To a file and to stdout go the same bytes, and a saved run in scaled units says
// what one in the data's units says, up to rounding.
func TestPredictOutputs(t *testing.T) {
	save(t)
	stdout := command("predict", "--draws", "s", "new.csv").stdout
	if r := command("predict", "--draws", "s", "new.csv", "-o", "out.csv"); r.code != done || r.stdout != "" || read(t, "out.csv") != stdout {
		t.Errorf("exit code %d, stdout %q", r.code, r.stdout)
	}
	again(t, "--units", "scaled")
	alike(t, stdout, command("predict", "--draws", "s", "new.csv").stdout)
}

// alike fails the test unless two predictions of the three rows say the same up to rounding.
func alike(t *testing.T, one, other string) {
	t.Helper()
	want, got := predictions(t, one), predictions(t, other)
	if len(got) != 4 {
		t.Fatalf("got %q", got)
	}
	for k := 1; k < 4; k++ {
		for j := 2; j < 6; j++ {
			if a, b := parsed(t, want[k][j]), parsed(t, got[k][j]); math.Abs(a-b) > 1e-9*math.Abs(a)+1e-6 {
				t.Errorf("row %d, column %d: %v and %v", k, j, a, b)
			}
		}
	}
}

// From a release predict infers as infer does: its draws are those that are saved.
func TestPredictFromRelease(t *testing.T) {
	save(t, "--draws", "500", "--seed", "3") // --ess 1 stops at the first look, at 500 draws
	want := command("predict", "--draws", "s", "new.csv").stdout
	r := command("predict", "good.json", "new.csv", "--formula", educ, "--chains", "2", "--warmup", "100", "--ess", "1", "--seed", "3").finished(t)
	alike(t, want, r.stdout)
}

// Many rows, more than a batch, keep their order.
func TestPredictMany(t *testing.T) {
	save(t)
	var text strings.Builder
	text.WriteString("row,educ\n")
	const rows = 2*batchRows + 7
	for i := range rows {
		fmt.Fprintf(&text, "%d,%v\n", i, 1+float64(i%16))
	}
	write(t, "many.csv", text.String())
	got := predictions(t, command("predict", "--draws", "s", "many.csv", "--mean").stdout)
	if len(got) != rows+1 {
		t.Fatalf("%d rows", len(got)-1)
	}
	for i, row := range got[1:] {
		if row[0] != fmt.Sprint(i) || row[2] != got[1+i%16][2] {
			t.Fatalf("row %d: %v", i, row)
		}
	}
}

// A factor of the model is read from its own column.
func TestPredictFactor(t *testing.T) {
	workspace(t)
	var data strings.Builder
	data.WriteString("g,x,y\n")
	for i := range 60 {
		fmt.Fprintf(&data, "%s,%d,%d\n", string(rune('a'+i%3)), i%10, i%3+i%10)
	}
	write(t, "d.csv", data.String())
	write(t, "d.schema.json", `{"fields":[{"name":"g","type":"string","constraints":{"enum":["a","b","c"]}},
		{"name":"x","type":"number","constraints":{"minimum":0,"maximum":9}},{"name":"y","type":"number","constraints":{"minimum":0,"maximum":12}}]}`)
	command(append([]string{"fit", "d.csv", "--eps", "1000", "--save", "s"}, quick...)...).finished(t)
	write(t, "new.csv", "x,g\n5,a\n5,b\n5,c\n")
	got := predictions(t, command("predict", "--draws", "s", "new.csv").stdout)
	for k := 1; k < 4; k++ { // y = x + 0, 1, 2, up to noise of scale 0.01 on 60 rows
		if v := parsed(t, got[k][2]); math.Abs(v-float64(4+k)) > 0.5 {
			t.Errorf("row %d: %v", k, got[k])
		}
	}
	write(t, "new.csv", "x,g\n5,z\n")
	command("predict", "--draws", "s", "new.csv").says(t, `new.csv:2: column "g"`).ends(t, misused)
}

var wrongPredict = []wrong{
	{name: "nothing", args: "predict", code: misused, says: "a release and a file of new rows"},
	{name: "no rows", args: "predict good.json", code: misused, says: "--draws DIR in place of the release"},
	{name: "three files", args: "predict a b c", code: misused, says: "open a: no such file or directory (`dpreg release` makes one from data); is a quotation mark missing"},
	{name: "two files with draws", args: "predict --draws s good.json new.csv", code: misused, says: "takes one file"},
	{name: "draws and seed", args: "predict --draws s new.csv --seed 4", code: misused, says: "--seed cannot be combined with --draws"},
	{name: "no directory", args: "predict --draws nowhere new.csv", code: misused, says: "no directory nowhere"},
	{name: "a number", args: "predict --draws 500 new.csv", code: misused, says: "no directory 500"},
	{name: "not a saved run", args: "predict --draws . new.csv", code: misused, says: "dpreg infer --save DIR"},
	{name: "rows missing", args: "predict --draws s nothing.csv", code: misused, says: "nothing.csv"},
	{name: "rows a directory", args: "predict --draws s s", code: misused, says: "directory"},
	{name: "level", args: "predict --draws s new.csv --level 95", code: misused, says: "--level 95"},
	{name: "over the rows", args: "predict --draws s new.csv -o new.csv", code: misused, says: "-o: new.csv would be overwritten"},
	{name: "over the draws", args: "predict --draws s new.csv -o ./s/draws-1.csv", code: misused, says: "would be overwritten"},
	{name: "over the release", args: "predict good.json new.csv -o good.json", code: misused, says: "would be overwritten"},
	{name: "no output directory", args: "predict --draws s new.csv -o nowhere/out.csv", code: misused, says: "nowhere/out.csv"},
	{name: "format", args: "predict --draws s new.csv --format json", code: misused, says: "--format belongs to"},
	{name: "formula", args: "predict good.json new.csv --formula income~agee", code: misused, says: `no column "agee"`},
	{name: "missing column", args: "predict --draws s bad.csv -o out.csv", code: misused, says: `bad.csv:1: column "educ"`, files: csv("x,y", "1,2")},
	{name: "cell", args: "predict --draws s bad.csv -o out.csv", code: misused, says: `bad.csv:3: column "educ"`, files: csv("educ", "1", secret)},
	{name: "cell, stdout", args: "predict --draws s bad.csv", code: misused, says: `bad.csv:3: column "educ"`, files: csv("educ", "1", secret)},
	{name: "missing value", args: "predict --draws s bad.csv", code: misused, says: "missing value", files: csv("a,educ", "1,NA")},
	{name: "ragged", args: "predict --draws s bad.csv", code: misused, says: "bad.csv:3: 1 fields", files: csv("a,educ", "1,2", "3")},
	{name: "overflow", args: "predict --draws s bad.csv", code: misused, says: "bad.csv:3: the covariates lie so far outside", files: csv("educ", "1", "1e308")},
	{name: "header only", args: "predict --draws s bad.csv", code: misused, says: "no rows", files: csv("educ")},
	{name: "no comma-separated values", args: "predict --draws s new.parquet", code: misused, says: "write the new rows as a .csv file", files: map[string]string{"new.parquet": "PAR1"}},
	{name: "to stdout by a dash", args: "predict --draws s new.csv -o -", code: misused, says: `--output "-": it needs a file`},
	{name: "predicted already", args: "predict --draws s bad.csv", code: misused, says: `column ".fitted"`, files: csv("educ,.fitted", "1,2")},
}

// savedFiles are those of save; the working directory stays.
func savedFiles(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{"new.csv": someRows}
	t.Run("save", func(t *testing.T) {
		save(t)
		for path, text := range tree(t) {
			if strings.HasPrefix(path, "s/") {
				files[path] = text
			}
		}
	})
	return files
}

// A wrong run is one in a workspace that has a saved run.
func TestWrongPredict(t *testing.T) {
	saved := savedFiles(t)
	for _, w := range wrongPredict {
		t.Run(w.name, w.with(saved).run)
	}
}

// with adds files to those of the run.
func (w wrong) with(files map[string]string) wrong {
	all := make(map[string]string)
	for name, text := range w.files {
		all[name] = text
	}
	for name, text := range files {
		all[name] = text
	}
	w.files = all
	return w
}

// A saved run that was changed is refused: each change to a good one.
func TestBrokenSave(t *testing.T) {
	good := savedFiles(t)
	for name, c := range map[string]struct{ file, old, new, says string }{
		"number":           {"s/draws-1.csv", "\n-", "\nx", "draws-1.csv"},
		"cut":              {"s/draws-2.csv", "# num_samples = 30", "# num_samples = 101", "cut short"},
		"model":            {"s/draws-2.csv", "income ~ educ", "income ~ age", "of two runs"},
		"units":            {"s/draws-1.csv", "units = original", "units = feet", "units"},
		"other units":      {"s/draws-2.csv", "units = original", "units = scaled", "in scaled units"},
		"parameter":        {"s/draws-1.csv", ",theta.2,", ",beta,", "other parameters"},
		"release":          {"s/draws-release.json", `"scale": `, `"scale": -`, "noise.scale"},
		"release's model":  {"s/draws-release.json", `"intercept": true`, `"intercept": false`, "of two runs"},
		"a chain too many": {"s/draws-9.csv", "", "x", "draws-3.csv is not among them"},
	} {
		t.Run(name, func(t *testing.T) {
			workspace(t)
			for path, text := range good {
				write(t, path, text)
			}
			bad := strings.Replace(good[c.file], c.old, c.new, 1)
			if bad == good[c.file] {
				t.Fatalf("%s has no %q", c.file, c.old)
			}
			write(t, c.file, bad)
			command("predict", "--draws", "s", "new.csv").says(t, c.says).ends(t, misused)
		})
	}
}

// A method without a release leaves none of a former run behind.
func TestSaveNonPrivate(t *testing.T) {
	save(t)
	command(append([]string{"fit", "pums.csv", "--formula", educ, "--method", "non-private", "--i-hold-the-data", "--save", "s"}, quick...)...).finished(t)
	if _, err := os.Stat("s/" + saved.Release); err == nil {
		t.Errorf("%s of another run stayed", saved.Release)
	}
	command("predict", "--draws", "s", "new.csv").ends(t, misused)
}

// Along a column the draws that were saved predict as the release does; a picture is drawn.
func TestPredictAlong(t *testing.T) {
	testsize.Full(t, "TestPredictFromRelease has the command")
	save(t)
	saved := command("predict", "--draws", "s", "--along", "educ").finished(t).stdout
	if lines := strings.Split(strings.TrimSpace(saved), "\n"); len(lines) != 102 || !strings.HasPrefix(lines[0], "educ,.fitted,") || !strings.HasPrefix(lines[101], "16,") {
		t.Errorf("stdout is\n%s", saved)
	}
	for _, name := range []string{"line.svg", "line.png"} {
		if r := command("predict", "--draws", "s", "--along", "educ", "--plot", name); r.code != done || r.stdout != "" || len(read(t, name)) < 1000 {
			t.Errorf("%s: exit code %d, %s%s", name, r.code, r.stdout, r.stderr)
		}
	}
	for args, says := range map[string]string{
		"predict good.json --along edu":                    "these are \"educ\"",
		"predict good.json pums.csv --plot line.svg":       "name it, by --along",
		"predict good.json --along educ --plot line.pdf":   ".svg or .png",
		"predict good.json --along educ --mean":            "takes none",
		"predict --draws s --along educ good.json":         "takes no file",
		"predict --along educ":                             "needs a release",
		"predict good.json --along educ --plot good.json":  "must end in",
		"predict --draws s --along educ --prior-sd educ=1": "cannot be combined",
	} {
		command(strings.Fields(args)...).says(t, says).ends(t, misused)
	}
}
