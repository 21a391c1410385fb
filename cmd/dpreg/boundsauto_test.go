package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mechanisms/ledger"
	"github.com/dpreg/dpreg/release"
)

// unboundedRows goes to a workspace with wide.csv: 5000 rows, x around 20, y around 60
// and a truth value, without bounds.
func unboundedRows(t *testing.T) {
	t.Helper()
	workspace(t)
	rng := rand.New(rand.NewPCG(4, 4))
	var b strings.Builder
	b.WriteString("x,w,y\n")
	for range 5000 {
		x, w := 20+6*rng.NormFloat64(), rng.IntN(2)
		fmt.Fprintf(&b, "%.3f,%d,%.3f\n", x, w, 3*x+5*float64(w)+5*rng.NormFloat64())
	}
	write(t, "wide.csv", b.String())
}

// releaseOf runs release and reads what it wrote.
func releaseOf(t *testing.T, path, args string) *release.Release {
	t.Helper()
	command(append([]string{"release", "wide.csv", "-o", path}, strings.Fields(args)...)...).ends(t, done)
	return must.Get(release.ReadFile(path))(t)
}

// The magnitudes asserted hold at least 40 % of the 5000 rows, a hundred scales of the
// noise above the threshold. A bound farther out, in a bin without rows, has a
// probability of up to 0.005, and the noise no seed: that is for the tests of ssp.
func TestAutoBounds(t *testing.T) {
	for args, parts := range map[string][2]float64{
		"--eps 4 --bounds auto":                                                                {4, 0.4},
		"--eps 4 --bounds auto=0.25":                                                           {4, 1},
		"--eps 4 --bounds auto,w=0:1":                                                          {4, 0.4},
		"--eps 4 --bounds auto --neighbours add-remove --rows 5000":                            {4, 0.4},
		"--eps 4 --bounds auto --delta 1e-6 --mechanism gaussian":                              {4, 0.4},
		"--eps 4 --bounds auto --with-moments":                                                 {4, 0.4},
		"--eps 4 --bounds auto --steps 2":                                                      {4, 0.4},
		"--eps 4 --bounds auto --steps 2 --delta 1e-6 --neighbours add-remove --rows 5000":     {4, 0.4},
		"--eps 4 --bounds auto --formula y~x-1":                                                {4, 0.4},
		"--eps 4 --bounds auto --missing midpoint --na -1":                                     {4, 0.4},
		"--eps 4 --bounds auto --missing drop --rows 5000 --neighbours add-remove":             {4, 0.4},
		"--eps 4 --bounds auto --delta 1e-6 --neighbours add-remove --rows 5000 --formula y~w": {4, 0.4},
	} {
		t.Run(args, func(t *testing.T) {
			unboundedRows(t)
			r := releaseOf(t, "r.json", args)
			if r.Privacy.Epsilon != parts[0] || r.Bounds == nil || r.Bounds.Epsilon != parts[1] {
				t.Fatalf("%+v, %+v", r.Privacy, r.Bounds)
			}
			for _, c := range r.Schema.Columns() {
				wide := map[string]float64{"x": 32, "w": 1, "y": 64}[c.Name]
				if !(c.Lower <= 0 && c.Upper >= wide) {
					t.Errorf("%s: %v:%v", c.Name, c.Lower, c.Upper)
				}
			}
			shown := command("show", "r.json")
			if want := fmt.Sprintf("Of this epsilon %v", parts[1]); !strings.Contains(strings.Join(strings.Fields(shown.stdout), " "), want) {
				t.Errorf("show does not say %q:\n%s", want, shown.stdout)
			}
		})
	}
}

// A release is used again without a look at the rows; another request is refused.
func TestAutoBoundsAreUsedAgain(t *testing.T) {
	unboundedRows(t)
	ask := func(args string) result {
		return command(append(append([]string{"fit", "wide.csv", "--eps", "4"}, strings.Fields(args)...), quick...)...)
	}
	ask("--bounds auto").finished(t).says(t, "bounds found: y=")
	before := read(t, "wide.release.json")
	write(t, "wide.csv", "x,w,y\n0,more,rows\n")
	past := time.Now().Add(-time.Hour)
	must.Do(t, os.Chtimes("wide.csv", past, past))
	ask("--bounds auto").finished(t).says(t, "no further cost")
	ask("--bounds auto=0.1").finished(t).says(t, "no further cost")
	for args, says := range map[string]string{
		"--bounds auto=0.2":                        "its bounds were found with epsilon 0.4, not 0.8",
		"--bounds auto --bounds x=0:32":            `it found bounds of "x", "w", "y", not of "w", "y"`,
		"--bounds x=0:32,w=0:1,y=0:128":            "were found in the rows (--bounds auto)",
		"--bounds auto --formula y~x":              "dpreg infer wide.release.json --formula 'y ~ x'",
		"--bounds auto --delta 1e-6 --eps 3":       "it has epsilon 4, not 3",
		"--bounds auto --formula w~x+y":            "it answers this one",
		"--bounds auto --formula y~x+w --eps 4.01": "holds another release",
	} {
		ask(args).says(t, says).ends(t, refused)
	}
	if read(t, "wide.release.json") != before {
		t.Error("the release changed")
	}
	command("infer", "wide.release.json", "--formula", "x ~ w", "--warmup", "100", "--draws", "100").finished(t)
}

// The ledger is charged the whole once, before the first noise, and nothing where
// nothing is made.
func TestAutoBoundsAreCharged(t *testing.T) {
	t.Run("laplace", func(t *testing.T) { chargedOnce(t, "--eps 4", 1, ledger.Laplace) })
	t.Run("gaussian", func(t *testing.T) { chargedOnce(t, "--eps 4 --delta 1e-6 --mechanism gaussian", 2, ledger.Gaussian) })
}

func chargedOnce(t *testing.T, args string, parts int, noise ledger.Noise) {
	unboundedRows(t)
	command("ledger", "init", "b.db", "--data", "wide", "--eps", "4.5", "--delta", "1e-5").ends(t, done)
	few := command("release", "wide.csv", "--ledger", "b.db", "--bounds", "auto", "--eps", "1").says(t, "Nothing was spent")
	if few.code != refused || sum(t, "b.db") != "0: 0.000000" {
		t.Errorf("exit code %d, charged %s", few.code, sum(t, "b.db"))
	}
	run := append(strings.Fields("fit wide.csv --ledger b.db --bounds auto "+args), quick...)
	command(run...).finished(t).says(t, "charged to b.db as No")
	want := fmt.Sprintf("%d: 4.000000", parts)
	if got := sum(t, "b.db"); got != want {
		t.Errorf("charged %s, want %s", got, want)
	}
	entries := charges(t, "b.db")
	for _, e := range entries {
		if !e.Written {
			t.Errorf("No %d is not written", e.Number)
		}
	}
	if last := entries[len(entries)-1]; last.Noise != noise {
		t.Errorf("charged as %s", last.Noise)
	}
	command(run...).finished(t).says(t, "nothing is charged")
	r := command("release", "wide.csv", "--ledger", "b.db", "--bounds", "auto", "--eps", "4", "-o", "more.json")
	if r.says(t, "has no room"); r.code != refused {
		t.Errorf("exit code %d", r.code)
	}
	if got := sum(t, "b.db"); got != want {
		t.Errorf("charged %s after all", got)
	}
}

// meddler changes the rows between the two readings of them, once the charge is told.
type meddler struct {
	bytes.Buffer
	t *testing.T
}

func (m *meddler) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "charged to") {
		write(m.t, "wide.csv", "x,w,y\n1,1,1\n")
	}
	return m.Buffer.Write(p)
}

func TestAutoBoundsOfRowsThatChange(t *testing.T) {
	unboundedRows(t)
	command("ledger", "init", "b.db", "--data", "wide", "--eps", "9").ends(t, done)
	stderr := &meddler{t: t}
	var stdout bytes.Buffer
	code := run(context.Background(), &stdout, stderr, strings.Fields("release wide.csv --ledger b.db --eps 4 --bounds auto"))
	said := stderr.String()
	if code != misused || stdout.Len() > 0 || !strings.Contains(said, "changed while it was read") || !strings.Contains(said, "keeps the charge No 1") {
		t.Errorf("exit code %d, stdout %q, stderr:\n%s", code, &stdout, said)
	}
	if strings.Contains(said, "bounds found") {
		t.Error("bounds were shown without a release")
	}
	if _, err := os.Stat("wide.release.json"); err == nil {
		t.Error("a release was made")
	}
}

func TestWrongAutoBounds(t *testing.T) {
	rows := func(n int, line string) map[string]string {
		return csv("x,y", strings.TrimSuffix(strings.Repeat(line+"\n", n), "\n"))
	}
	for _, w := range []wrong{
		{name: "share of 1", args: "release --eps 1 --bounds auto=1 bad.csv", code: misused, says: "between 0 and 1", files: rows(9, "1,2")},
		{name: "share of 0", args: "release --eps 1 --bounds auto=0 bad.csv", code: misused, says: "between 0 and 1", files: rows(9, "1,2")},
		{name: "share no number", args: "release --eps 1 --bounds auto=much bad.csv", code: misused, says: "between 0 and 1", files: rows(9, "1,2")},
		{name: "share NaN", args: "release --eps 1 --bounds auto=NaN bad.csv", code: misused, says: "between 0 and 1", files: rows(9, "1,2")},
		{name: "twice", args: "release --eps 1 --bounds auto --bounds auto=0.2 bad.csv", code: misused, says: "stands twice", files: rows(9, "1,2")},
		{name: "all of it but a bit", args: "release --eps 1e-11 --bounds auto=0.999 bad.csv", code: misused, says: "nothing of ε is left", files: rows(9, "1,2")},
		{name: "next to nothing", args: "release --eps 1e-11 --bounds auto=0.001 bad.csv", code: misused, says: "--bounds auto: epsilon", files: rows(9, "1,2")},
		{name: "a column of the name", args: "release --eps 1 --bounds auto=0:1 bad.csv", code: misused, says: `no column "auto"`, files: rows(9, "1,2")},
		{name: "too few rows", args: "release --eps 1 --bounds auto bad.csv", code: refused, says: "900 rows are too few for private bounds of 2 columns with epsilon = 0.1: 6610 are needed. Nothing was spent", files: rows(900, "1,2")},
		{name: "what would do", args: "fit --eps 1 --bounds auto bad.csv", code: refused, says: "--eps 7.", files: rows(900, "1,2")},
		{name: "another share", args: "fit --eps 10 --bounds auto=0.01 bad.csv", code: refused, says: "--bounds auto=0.07", files: rows(900, "1,2")},
		{name: "hopeless", args: "fit --eps 1 --bounds auto bad.csv", code: refused, says: "public bounds", files: rows(9, "1,2")},
		{name: "rows not stated", args: "release --eps 1 --bounds auto --neighbours add-remove bad.csv", code: misused, says: "--rows NUMBER", files: rows(9, "1,2")},
		{name: "too few stated", args: "release --eps 1 --bounds auto --neighbours add-remove --rows 900 bad.csv", code: refused, says: "900 rows are too few", files: rows(9, "1,2")},
		{name: "rows below 0", args: "release --eps 1 --bounds auto --neighbours add-remove --rows -5 bad.csv", code: misused, says: "--rows -5", files: rows(9, "1,2")},
		{name: "rows that are counted", args: "release --eps 1 --bounds auto --rows 900 bad.csv", code: misused, says: "--rows is for", files: rows(9, "1,2")},
		{name: "rows without auto", args: "release --eps 1 --bounds x=0:9,y=0:9 --rows 900 bad.csv", code: misused, says: "--rows is for", files: rows(9, "1,2")},
		{name: "a bad cell in the last row", args: "release --eps 99 --bounds auto bad.csv", code: misused, says: `column "2"`, files: csv("x,y", strings.Repeat("1,2\n", 900)+"1,"+secret)},
		{name: "a missing cell", args: "release --eps 99 --bounds auto bad.csv", code: misused, says: "--missing midpoint", files: csv("x,y", strings.Repeat("1,2\n", 900)+"1,NA")},
		{name: "no rows", args: "release --eps 99 --bounds auto bad.csv", code: misused, says: "no rows", files: csv("x,y")},
		{name: "one bound only", args: "release --eps 99 --bounds auto bad.csv", code: misused, says: `column "y" has one bound only`,
			files: map[string]string{"bad.csv": "x,y\n1,2\n", "bad.schema.json": `{"fields":[{"name":"x"},{"name":"y","constraints":{"minimum":0}}]}`}},
		{name: "text without levels", args: "release --eps 99 --bounds auto bad.csv", code: misused, says: "public levels",
			files: map[string]string{"bad.csv": "x,y\n1,2\n", "bad.schema.json": `{"fields":[{"name":"x","type":"string"},{"name":"y"}]}`}},
		{name: "non-private", args: "fit --method non-private --i-hold-the-data --bounds auto bad.csv", code: misused, says: "--bounds auto", files: rows(9, "1,2")},
		{name: "moments of four", args: "release --eps 99 --bounds auto --with-moments bad.csv", code: misused, says: "1 to 3", files: csv("a,b,c,d,y", "1,2,3,4,5")},
		{name: "without auto", args: "release --eps 1 bad.csv", code: refused, says: "--bounds auto", files: rows(9, "1,2")},
	} {
		t.Run(w.name, w.run)
	}
}

// Where every column has bounds, auto costs nothing.
func TestAutoBoundsOfNoColumn(t *testing.T) {
	workspace(t)
	command("release", "pums.csv", "--eps", "1", "--bounds", "auto", "-o", "r.json").says(t, "every column has public bounds").ends(t, done)
	got, err := release.ReadFile("r.json")
	if err != nil || got.Bounds != nil {
		t.Errorf("%+v, %v", got.Bounds, err)
	}
}
