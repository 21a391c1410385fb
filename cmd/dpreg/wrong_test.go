package main

import (
	"fmt"
	"strings"
	"testing"
)

// wrong is a run that must not succeed: its exit code, and what stderr says.
type wrong struct {
	name  string
	args  string // separated by spaces; _ stands for a space
	code  int
	says  string
	files map[string]string
}

// A cell that must never be printed.
const secret = "Sensitive"

func csv(lines ...string) map[string]string {
	return map[string]string{"bad.csv": strings.Join(lines, "\n") + "\n"}
}

// wide is a table of so many columns, whose schema has bounds or not.
func wide(columns int, bounds string) map[string]string {
	var names, cells, fields []string
	for i := range columns {
		names, cells = append(names, fmt.Sprintf("x%d", i)), append(cells, "0.5")
		fields = append(fields, fmt.Sprintf(`{"name":"x%d","constraints":{"%sminimum":0,"maximum":1}}`, i, bounds))
	}
	files := csv(strings.Join(names, ","), strings.Join(cells, ","))
	files["bad.schema.json"] = `{"fields":[` + strings.Join(fields, ",") + `]}`
	return files
}

const bounded = "fit --eps 1 --bounds x=0:9,y=0:9 bad.csv"

func (w wrong) run(t *testing.T) {
	workspace(t)
	for name, text := range w.files {
		write(t, name, text)
	}
	before := tree(t)
	args := strings.Fields(w.args)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "_", " ")
	}
	r := command(args...).ends(t, w.code)
	if r.stdout != "" {
		t.Errorf("stdout is not empty:\n%s", r.stdout)
	}
	if !strings.HasPrefix(r.stderr, "dpreg: ") || strings.Contains(r.stderr, "Usage:") {
		t.Errorf("stderr is not a plain message:\n%s", r.stderr)
	}
	if strings.Contains(r.stderr, secret) {
		t.Errorf("stderr shows a cell:\n%s", r.stderr)
	}
	r.says(t, w.says)
	unchanged(t, before)
}

func TestWrong(t *testing.T) {
	for _, group := range [][]wrong{wrongData, wrongBounds, wrongPrivacy, wrongFormulas, wrongOutputs, wrongFlags, wrongAccounts} {
		for _, w := range group {
			t.Run(w.name, w.run)
		}
	}
}

var wrongData = []wrong{
	{name: "no file", args: "fit --eps 1 nothing.csv", code: misused, says: "nothing.csv"},
	{name: "no file of rows", args: "fit --eps 1 .", code: misused, says: "is none of .csv", files: map[string]string{"pums.csv.bz2": ""}},
	{name: "no file of the pattern", args: "fit --eps 1 nothing-*.csv", code: misused, says: "none that this pattern fits"},
	{name: "no place for a release", args: "release --eps 1 pu*.csv --schema pums.schema.json", code: misused, says: "-o FILE"},
	{name: "cell", args: bounded, code: misused, says: `bad.csv:3: column "y"`, files: csv("x,y", "1,2", "3,"+secret)},
	{name: "NaN", args: bounded, code: misused, says: "--na TEXT", files: csv("x,y", "NaN,2")},
	{name: "infinite", args: bounded, code: misused, says: `bad.csv:2: column "y"`, files: csv("x,y", "1,-Inf")},
	{name: "missing", args: bounded, code: misused, says: `bad.csv:2: column "x": missing`, files: csv("x,y", ",2")},
	{name: "missing, and the ways out", args: bounded, code: misused, says: "--missing midpoint; or, in a release, leave their rows out: --missing drop --neighbours add-remove", files: csv("x,y", ",2")},
	{name: "ragged", args: bounded, code: misused, says: "bad.csv:3: 3 fields", files: csv("x,y", "1,2", "3,4,"+secret)},
	{name: "quote", args: bounded, code: misused, says: "bad.csv:2", files: csv("x,y", `1,"`+secret)},
	{name: "empty", args: bounded, code: misused, says: "empty", files: map[string]string{"bad.csv": ""}},
	{name: "header only", args: bounded, code: misused, says: "no rows", files: csv("x,y")},
	{name: "no header", args: bounded, code: misused, says: "bad.csv:1", files: csv(secret+",2", "3,4")},
	{name: "no header, template", args: "schema bad.csv", code: misused, says: "if it does, name those of the model by --bounds, --levels", files: csv(secret+",Rome", "Bob,Oslo")},
	{name: "no header, fit", args: "fit --eps 1 bad.csv", code: misused, says: "bad.csv:1: the first line may be", files: csv("Ann,"+secret, "Bob,Oslo")},
	{name: "no header, formula", args: "release --eps 1 --formula y~x bad.csv", code: misused, says: "bad.csv:1: the first line may be", files: csv("Ann,"+secret, "Bob,Oslo")},
	{name: "no header, vi", args: "vi --eps 1 --delta 1e-6 --model logistic --formula y~x bad.csv", code: misused, says: "bad.csv:1: the first line may be", files: csv("Ann,"+secret, "Bob,Oslo")},
	{name: "no header, and a date", args: bounded, code: misused, says: "field 2 is no name but a value", files: csv(secret+",1970-01-31", "Bob,3")},
	{name: "quotes out of place", args: bounded + " --formula y~x", code: misused, says: `bad.csv:3: column "z": quotation marks make one cell of 3 lines`, files: csv("x,y,z", "1,2,", `3,4,"`+secret, "5,6,", `7,8,"`, "9,9,")},
	{name: "UTF-16", args: "schema bad.csv", code: misused, says: "bad.csv: this is not UTF-8, but UTF-16", files: map[string]string{"bad.csv": "\xff\xfex\x00,\x00y\x00\n\x00"}},
	{name: "Latin-1", args: bounded + " --formula y~x", code: misused, says: "--encoding latin1", files: csv("x,y,gr\xf6\xdfe", "1,2,3")},
	{name: "unseen character", args: "fit --eps 1 pums.csv --schema bad.json", code: misused, says: `field 1: "ag\u202ee": the name has U+202E`, files: map[string]string{"bad.json": "{\"fields\":[{\"name\":\"ag\u202ee\"}]}"}},
	{name: "same names", args: bounded, code: misused, says: "same name", files: csv("x,x,y", "1,2,3")},
	{name: "one column", args: "fit --eps 1 --bounds x=0:9 bad.csv", code: misused, says: "two columns", files: csv("x", "1")},
	{name: "too many columns", args: "release --eps 1 bad.csv", code: misused, says: "1200 columns are too many, at most 1000", files: wide(1200, "")},
	{name: "too many columns without bounds", args: "release --eps 1 bad.csv", code: refused, says: "and 1180 more", files: wide(1200, "no")},
	{name: "few rows", args: bounded + " --method mcmc-exact", code: misused, says: "n = 2", files: csv("x,y", "1,2", "3,4")},
}

var wrongBounds = []wrong{
	{name: "none", args: "fit --eps 1 bad.csv", code: refused, says: "--bounds NAME=LOWER:UPPER", files: csv(secret+",y", "a,2", "b,1")},
	{name: "none, columns", args: "fit --eps 1 --formula y~x bad.csv", code: refused, says: "--bounds x=LOWER:UPPER --bounds y=LOWER:UPPER", files: csv("x,y", "1,2")},
	{name: "none, template", args: "release --eps 1 bad.csv", code: refused, says: "dpreg schema bad.csv -o bad.schema.json", files: csv("x,y", "1,2")},
	{name: "one missing", args: "fit --eps 1 --bounds x=0:9 bad.csv", code: refused, says: `no bounds for "y"`, files: csv("x,y", "1,2")},
	{name: "not in order", args: "fit --eps 1 pums.csv --bounds age=9:1", code: misused, says: "not below"},
	{name: "equal", args: "fit --eps 1 pums.csv --bounds age=9:9", code: misused, says: "not below"},
	{name: "not numbers", args: "fit --eps 1 pums.csv --bounds age=a:b", code: misused, says: "lower bound"},
	{name: "infinite", args: "fit --eps 1 pums.csv --bounds age=0:Inf", code: misused, says: "upper bound"},
	{name: "form", args: "fit --eps 1 pums.csv --bounds age", code: misused, says: "NAME=LOWER:UPPER"},
	{name: "unknown column", args: "fit --eps 1 pums.csv --bounds agee=0:9", code: misused, says: `no column "agee"`},
	{name: "no schema", args: "fit --eps 1 pums.csv --schema nothing.json", code: misused, says: "nothing.json"},
	{name: "not a schema", args: "fit --eps 1 pums.csv --schema pums.csv", code: misused, says: "pums.csv"},
	{name: "schema of other columns", args: "fit --eps 1 bad.csv --schema pums.schema.json", code: misused, says: `"age"`, files: csv("x,y", "1,2")},
	{name: "schema exists", args: "schema pums.csv -o pums.schema.json", code: misused, says: "exists"},
}

var wrongPrivacy = []wrong{
	{name: "eps missing", args: "fit pums.csv", code: misused, says: "--eps 1"},
	{name: "eps zero", args: "fit pums.csv --eps 0", code: misused, says: "above 0"},
	{name: "eps negative", args: "release pums.csv --eps -1", code: misused, says: "above 0"},
	{name: "eps NaN", args: "fit pums.csv --eps NaN", code: misused, says: "--eps"},
	{name: "eps infinite", args: "fit pums.csv --eps Inf", code: misused, says: "--eps"},
	{name: "eps overflow", args: "fit pums.csv --eps 1e999", code: misused, says: "--eps"},
	{name: "eps text", args: "release pums.csv --eps much", code: misused, says: "--eps"},
	{name: "eps tiny", args: "fit pums.csv --eps 1e-20", code: misused, says: "noise"},
	{name: "eps huge", args: "fit pums.csv --eps 1e20", code: misused, says: "no privacy"},
	{name: "delta zero", args: "fit pums.csv --eps 1 --delta 0", code: misused, says: "leave --delta out"},
	{name: "delta negative", args: "fit pums.csv --eps 1 --delta -1e-6", code: misused, says: "above 0"},
	{name: "delta one", args: "release pums.csv --eps 1 --delta 1", code: misused, says: "below 1"},
	{name: "delta NaN", args: "release pums.csv --eps 1 --delta NaN", code: misused, says: "--delta"},
	{name: "delta text", args: "release pums.csv --eps 1 --delta little", code: misused, says: "--delta"},
	{name: "delta tiny", args: "release pums.csv --eps 1 --delta 1e-250", code: misused, says: "leave --delta out"},
	{name: "delta underflow", args: "release pums.csv --eps 1 --delta 1e-999", code: misused, says: "--delta"},
	{name: "mechanism", args: "fit pums.csv --eps 1 --mechanism cauchy", code: misused, says: "laplace, gaussian, auto"},
	{name: "gaussian without delta", args: "fit pums.csv --eps 1 --mechanism gaussian", code: misused, says: "needs a δ"},
	{name: "steps zero", args: "fit pums.csv --eps 1 --steps 0", code: misused, says: "from 1 to 8, or auto"},
	{name: "steps many", args: "release pums.csv --eps 1 --steps 9", code: misused, says: "from 1 to 8"},
	{name: "steps no number", args: "release pums.csv --eps 1 --steps few", code: misused, says: `--steps "few"`},
	{name: "steps with moments", args: "release pums.csv --eps 1 --steps 2 --with-moments --formula income~age", code: misused, says: "goes with --steps 1"},
	{name: "steps with laplace", args: "release pums.csv --eps 1 --steps 2 --mechanism laplace", code: misused, says: "is for --steps 1"},
	{name: "steps and public rows", args: "release pums.csv --eps 1 --steps 2 --rows 1000", code: misused, says: "--rows is for"},
	{name: "steps of a query", args: "release --aggregates sums.json --eps 1 --steps 2 -o r.json --bounds x=0:1,y=0:1", code: misused, says: "needs the rows", files: map[string]string{"sums.json": "{}"}},
	{name: "laplace with delta", args: "fit pums.csv --eps 1 --delta 1e-6 --mechanism laplace --formula income~educ", code: misused, says: "leave --delta out\n"},
	{name: "laplace with delta, six columns", args: "release pums.csv --eps 1 --delta 1e-6 --mechanism laplace", code: misused, says: "say --mechanism gaussian, whose noise is smaller here (sd by a factor of 1.33)"},
	{name: "non-private with delta", args: "fit pums.csv --delta 1e-6 --method non-private --i-hold-the-data", code: misused, says: "--delta"},
	{name: "neighbours", args: "fit pums.csv --eps 1 --neighbours none", code: misused, says: "replace-one, add-remove"},
	{name: "missing", args: "release pums.csv --eps 1 --missing drop", code: refused, says: "leaving rows out"},
	{name: "non-private", args: "fit pums.csv --method non-private", code: refused, says: "--i-hold-the-data"},
	{name: "non-private with eps", args: "fit pums.csv --eps 1 --method non-private --i-hold-the-data", code: misused, says: "--eps"},
	{name: "non-private infer", args: "infer good.json --method non-private", code: misused, says: "dpreg fit --method non-private"},
	{name: "holding without non-private", args: "fit pums.csv --eps 1 --i-hold-the-data", code: misused, says: "non-private"},
}

var wrongFormulas = []wrong{
	{name: "unknown column", args: "fit pums.csv --eps 1 --formula income~agee", code: misused, says: `--formula: no column "agee"`},
	{name: "transformation", args: "fit pums.csv --eps 1 --formula log(income)~age", code: misused, says: "--formula: log"},
	{name: "no tilde", args: "release pums.csv --eps 1 --formula income", code: misused, says: "--formula"},
	{name: "both sides", args: "release pums.csv --eps 1 --formula income~income", code: misused, says: "both"},
	{name: "infer, unknown column", args: "infer good.json --formula income~agee", code: misused, says: `--formula: no column "agee"`},
	{name: "infer, transformation", args: "infer good.json --formula income~log(age)", code: misused, says: "only the custodian"},
	{name: "release, infinite term", args: "release pums.csv --eps 1 --formula log(income)~educ", code: misused, says: "is infinite or undefined at 0"},
	{name: "release, term twice", args: "release pums.csv --eps 1 --formula income~educ+I(2*educ)", code: misused, says: "linear function"},
	{name: "release, unknown function", args: "release pums.csv --eps 1 --formula income~sin(educ)", code: misused, says: "there are I, log"},
	{name: "release, effects of groups", args: "release pums.csv --eps 1 --formula income~educ+(1|sex)", code: misused, says: "--pooling partial"},
	{name: "release, term without bounds", args: "release bad.csv --eps 1 --bounds y=0:1 --formula y~log(x)", code: refused, says: "--bounds x=LOWER:UPPER", files: csv("x,y", "1,1")},
	{name: "release, term of found bounds", args: "release bad.csv --eps 1 --bounds y=0:1 --bounds auto --formula y~exp(x)", code: misused, says: "give public ones", files: csv("x,y", "1,1")},
	{name: "two delimiters", args: "schema bad.csv", code: misused, says: "comma or by semicolon: say which", files: csv("a;b,c", "1;2,3")},
	{name: "a delimiter that is none", args: bounded + " --delim x", code: misused, says: "--delim", files: csv("x,y", "1,2")},
	{name: "one comma for two things", args: bounded + " --decimal , --delim comma", code: misused, says: "decimal sign", files: csv("x,y", "1,2")},
	{name: "a decimal sign", args: bounded + " --decimal ;", code: misused, says: "choose one of", files: csv("x,y", "1,2")},
	{name: "an encoding", args: bounded + " --encoding koi8", code: misused, says: "choose one of utf-8, latin1, utf-16", files: csv("x,y", "1,2")},
	{name: "the form of a database's rows", args: "release --eps 1 --from duckdb:x --table t --delim tab", code: misused, says: "rows are elsewhere"},
	{name: "sql, terms", args: "sql --dialect duckdb --table t --bounds x=1:2,y=0:1 --formula y~log(x)", code: misused, says: "a view"},
	{name: "infer, no intercept", args: "infer good.json --formula income~educ-1", code: misused, says: "--formula"},
	{name: "words astray", args: "fit pums.csv --eps 1 --formula income ~ age", code: misused, says: "quotation mark"},
}

var wrongOutputs = []wrong{
	{name: "no directory", args: "release pums.csv --eps 1 -o nowhere/r.json", code: misused, says: "nowhere/r.json"},
	{name: "fit, no directory", args: "fit pums.csv --eps 1 --release nowhere/r.json", code: misused, says: "nowhere/r.json"},
	{name: "a directory", args: "release pums.csv --eps 1 -o .", code: misused, says: "not a regular file"},
	{name: "stdout", args: "release pums.csv --eps 1 -o -", code: misused, says: "needs a file"},
	{name: "over the data", args: "release pums.csv --eps 1 -o pums.csv --spend-again", code: misused, says: "no release"},
	{name: "over a broken release", args: "fit pums.csv --eps 1 --release r.json --spend-again", code: misused, says: "r.json", files: map[string]string{"r.json": "{}"}},
	{name: "over a release", args: "release pums.csv --eps 1 -o good.json", code: refused, says: "dpreg infer good.json"},
	{name: "save, no directory", args: "fit pums.csv --eps 1 --save nowhere/s", code: misused, says: "--save"},
	{name: "save, a file", args: "fit pums.csv --eps 1 --save good.json", code: misused, says: "--save"},
	{name: "save, other draws", args: "fit pums.csv --eps 1 --chains 2 --save .", code: misused, says: "draws-3.csv", files: map[string]string{"draws-3.csv": ""}},
	{name: "schema, no directory", args: "schema pums.csv -o nowhere/s.json", code: misused, says: "nowhere"},
}

var wrongFlags = []wrong{
	{name: "eps of infer", args: "infer good.json --eps 1", code: misused, says: "--eps belongs to `dpreg "},
	{name: "bounds of infer", args: "infer good.json --bounds x=1:2", code: misused, says: "--bounds belongs to"},
	{name: "bounds of plan", args: "plan --bounds x=1:2 --eps 1", code: misused, says: "--schema FILE"},
	{name: "draws of release", args: "release pums.csv --eps 1 --draws 10", code: misused, says: "--draws belongs to `dpreg "},
	{name: "o of fit", args: "fit pums.csv --eps 1 -o r.json", code: misused, says: "--release"},
	{name: "release of release", args: "release pums.csv --eps 1 --release r.json", code: misused, says: "-o FILE"},
	{name: "unknown flag", args: "fit pums.csv --epsilon 1", code: misused, says: "--epsilon"},
	{name: "unknown command", args: "infr good.json", code: misused, says: "dpreg infer"},
	{name: "no argument", args: "fit --eps 1", code: misused, says: "data file"},
	{name: "number", args: "infer good.json --draws many", code: misused, says: "--draws"},
	{name: "draws and ess", args: "infer good.json --draws 10 --ess 10", code: misused, says: "exclude"},
	{name: "draws", args: "infer good.json --draws 0", code: misused, says: "--draws"},
	{name: "chains", args: "infer good.json --chains 0", code: misused, says: "--chains"},
	{name: "warmup", args: "infer good.json --warmup -1", code: misused, says: "--warmup"},
	{name: "short warmup, before ε is spent", args: "fit pums.csv --eps 1 --warmup 3", code: misused, says: "warm-up"},
	{name: "ess", args: "infer good.json --ess NaN", code: misused, says: "--ess"},
	{name: "level", args: "infer good.json --level 95", code: misused, says: "--level"},
	{name: "seed", args: "infer good.json --seed -1", code: misused, says: "--seed"},
	{name: "format", args: "infer good.json --format xml", code: misused, says: "table, json, csv"},
	{name: "units", args: "infer good.json --units feet", code: misused, says: "original, scaled"},
	{name: "method", args: "infer good.json --method best", code: misused, says: "choose one of auto, mcmc-exact, "},
	{name: "kernel", args: "infer good.json --kernel best", code: misused, says: "exact, plain"},
	{name: "kernel of naive", args: "infer good.json --method naive --kernel plain", code: misused, says: "--kernel"},
}
