package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/mechanisms/ledger"
	"github.com/dpreg/dpreg/release"
)

// withLedger goes to a workspace that has a ledger.
func withLedger(t *testing.T, args ...string) {
	t.Helper()
	workspace(t)
	r := command(append([]string{"ledger", "init", "b.db", "--data", "pums.csv"}, args...)...)
	if r.code != done || r.stdout != "" {
		t.Fatalf("exit code %d, stderr:\n%s", r.code, r.stderr)
	}
}

// charges reads a ledger.
func charges(t *testing.T, path string) []ledger.Entry {
	t.Helper()
	ctx := context.Background()
	l := must.Get(ledger.Open(ctx, path))(t)
	defer l.Close()
	h := must.Get(l.History(ctx))(t)
	return h.Entries
}

// sum is the sum of ε, and how many charges there are.
func sum(t *testing.T, path string) string {
	t.Helper()
	entries, total := charges(t, path), new(big.Rat)
	for _, e := range entries {
		total.Add(total, e.Epsilon)
	}
	return fmt.Sprintf("%d: %s", len(entries), total.FloatString(6))
}

// What the ledger does not hold after the charge is not released.
func TestLedgerThatKeepsNothing(t *testing.T) {
	withLedger(t, "--eps", "2", "--delta", "1e-5")
	db := must.Get(sql.Open("sqlite", "b.db"))(t)
	_, err := db.Exec("CREATE TRIGGER planted BEFORE INSERT ON charge BEGIN SELECT RAISE(IGNORE); END")
	must.Do(t, errors.Join(err, db.Close()))
	before := tree(t)
	for _, args := range []string{"release pums.csv --eps 1", "fit pums.csv --eps 1 --delta 1e-6", "vi pums.csv --model linear --eps 1 --delta 1e-6 --rate 1 --save vi"} {
		r := command(append(strings.Fields(args), "--ledger", "b.db")...).says(t, "b.db did not keep the charge")
		if r.code != misused || r.stdout != "" || strings.Contains(r.stderr, "keeps the charge") {
			t.Errorf("%s: exit code %d, stdout %q, stderr:\n%s", args, r.code, r.stdout, r.stderr)
		}
	}
	unchanged(t, before)
}

func TestLedgerOfReleases(t *testing.T) {
	withLedger(t, "--eps", "1.5")
	for i, want := range []string{"1: 0.700000", "2: 1.400000"} {
		r := command("release", "pums.csv", "--eps", "0.7", "--ledger", "b.db", "-o", fmt.Sprintf("%d.json", i)).ends(t, done)
		r.says(t, "charged to b.db as No").says(t, "has for one more release")
		if got := sum(t, "b.db"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	before := tree(t)
	command("release", "pums.csv", "--eps", "0.7", "--ledger", "b.db").says(t, "epsilon up to 0.1 with Laplace noise").ends(t, refused)
	unchanged(t, before)
	command("release", "pums.csv", "--eps", "0.1", "--ledger", "b.db").ends(t, done)
	command("release", "pums.csv", "--eps", "1e-3", "--ledger", "b.db", "-o", "x.json").says(t, "nothing with Laplace noise")
	shown := command("ledger", "show", "b.db")
	if shown.code != done || !strings.Contains(shown.stdout, "100.0%") {
		t.Errorf("exit code %d, stderr %s\n%s", shown.code, shown.stderr, shown.stdout)
	}
}

// What is charged is what the file states of its privacy and noise.
func TestLedgerChargesWhatIsDrawn(t *testing.T) {
	for _, relation := range []string{"replace-one", "add-remove"} {
		t.Run(relation, func(t *testing.T) { chargesWhatIsDrawn(t, relation) })
	}
}

func chargesWhatIsDrawn(t *testing.T, relation string) {
	withLedger(t, "--eps", "9", "--delta", "1e-3", "--neighbours", relation)
	for i, args := range []string{
		"--eps 0.3", "--eps 0.3 --delta 1e-5 --mechanism gaussian", "--eps 0.3 --delta 1e-5",
		"--eps 0.3 --delta 1e-5 --with-moments --formula income~educ --mechanism gaussian", "--eps 0.3 --with-moments --formula income~educ",
	} {
		path := fmt.Sprintf("%d.json", i)
		command(append([]string{"release", "pums.csv", "--ledger", "b.db", "--steps", "1", "--neighbours", relation, "-o", path}, strings.Fields(args)...)...).ends(t, done)
		made := must.Get(release.ReadFile(path))(t)
		e := charges(t, "b.db")[i]
		epsilon, _ := e.Epsilon.Float64()
		delta, _ := e.Delta.Float64()
		if epsilon != made.Privacy.Epsilon || delta != made.Privacy.Delta || string(e.Noise) != string(made.Noise.Kind) || !e.Written || !strings.HasSuffix(e.Release, path) {
			t.Errorf("%s: charged %+v, made %+v", args, e, made.Privacy)
		}
		if e.Noise == ledger.Laplace {
			continue
		}
		if e.Scale != made.Noise.Scale || e.Sensitivity != made.Noise.Sensitivity {
			t.Errorf("%s: charged %+v, made %+v", args, e, made.Noise)
		}
		if d, err := accounting.Delta(epsilon, e.Scale, e.Sensitivity); err != nil || d > delta {
			t.Errorf("%s: the noise has δ = %v (%v)", args, d, err)
		}
	}
}

func TestFitAndLedger(t *testing.T) {
	withLedger(t, "--eps", "2")
	with := func(args ...string) result {
		return fit(append([]string{"--eps", "0.5", "--formula", educ, "--ledger", "b.db"}, args...)...)
	}
	charged := func(want string) {
		t.Helper()
		if got := sum(t, "b.db"); got != want {
			t.Errorf("charged %s, want %s", got, want)
		}
	}
	with("--warmup", "3").says(t, "warm-up")
	with("--bounds", "educ=1").says(t, "LOWER:UPPER")
	charged("0: 0.000000")
	with("--release", "a.json").finished(t).says(t, "as No 1")
	with("--release", "a.json").finished(t).says(t, "nothing is charged to b.db, which has this release as No 1")
	charged("1: 0.500000")
	with().finished(t).says(t, "as No 2")
	with().finished(t).says(t, "as No 2")
	charged("2: 1.000000")
	with("--spend-again").finished(t).says(t, "as No 3")
	with("--eps", "0.6").says(t, "holds another release")
	with("--eps", "0.6", "--spend-again").says(t, "epsilon up to 0.5")
	charged("3: 1.500000")
	if r := fit("--eps", "0.5", "--formula", educ, "--release", "uncounted.json"); r.code == misused {
		t.Fatal(r.stderr)
	}
	with("--release", "uncounted.json").finished(t).says(t, "warning: nothing is charged to b.db, but it has no charge for uncounted.json")
	charged("3: 1.500000")
	with("--release", "uncounted.json", "--ledger", "nothing.db").says(t, "no such ledger").ends(t, misused)
}

// Rows that fit refuses cost nothing; what fails after the charge does.
func TestLedgerWhenThingsFail(t *testing.T) {
	withLedger(t, "--eps", "2")
	write(t, "few.csv", "x,y\n1,2\n3,4\n")
	for _, args := range []string{"fit few.csv --bounds x=0:9 --bounds y=0:9 --method mcmc-exact", "release few.csv --bounds x=0:9 --bounds y=0:9 --na 3"} {
		command(append(strings.Fields(args), "--eps", "1", "--ledger", "b.db")...).ends(t, misused)
	}
	if got := sum(t, "b.db"); got != "0: 0.000000" {
		t.Error(got)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stderr := &cancelOn{text: "charged to", cancel: cancel}
	code := run(ctx, io.Discard, stderr, []string{"release", "pums.csv", "--eps", "1", "--ledger", "b.db"})
	if code != interrupted || !strings.Contains(stderr.all.String(), "b.db keeps the charge No 1, though this run failed") {
		t.Errorf("exit code %d, stderr:\n%s", code, stderr.all.String())
	}
	if got := sum(t, "b.db"); got != "1: 1.000000" {
		t.Error(got)
	}
	if shown := command("ledger", "show", "b.db").stdout; !strings.Contains(shown, "not known to have been written: No 1") {
		t.Error(shown)
	}
}

// Totals are taken to the last digit that was typed.
func TestLedgerTotals(t *testing.T) {
	for text, charged := range map[string]string{"0.3": "3", "0.29999999999999999999": "2", ".3": "3", " 30e-2 ": "3", "+0.30000000000000000001": "3"} {
		t.Run(text, func(t *testing.T) {
			withLedger(t, "--eps", text)
			for i := range 4 {
				command("release", "pums.csv", "--eps", "0.1", "--ledger", "b.db", "-o", fmt.Sprintf("%d.json", i))
			}
			if got := sum(t, "b.db"); !strings.HasPrefix(got, charged+":") {
				t.Errorf("charged %s", got)
			}
		})
	}
}

func TestLedgerIsNotOverwritten(t *testing.T) {
	withLedger(t, "--eps", "2")
	before := tree(t)
	for args, code := range map[string]int{
		"ledger init b.db --data x --eps 1":                              refused,
		"ledger init pums.csv --data x --eps 1":                          refused,
		"release pums.csv --eps 1 --ledger b.db -o b.db":                 misused,
		"fit pums.csv --eps 1 --ledger b.db --release ./b.db":            misused,
		"fit pums.csv --eps 1 --ledger b.db --save b.db":                 misused,
		"release pums.csv --eps 1 --ledger b.db --neighbours add-remove": misused,
	} {
		if r := command(strings.Fields(args)...); r.code != code || r.stdout != "" {
			t.Errorf("%s: exit code %d, stdout %q, stderr %s", args, r.code, r.stdout, r.stderr)
		}
	}
	unchanged(t, before)
}

func TestWrongLedgers(t *testing.T) {
	text := map[string]string{"x.db": strings.Repeat("age,income\n", 1000), "empty.db": ""}
	for _, w := range []wrong{
		{name: "missing", args: "release pums.csv --eps 1 --ledger no.db", code: misused, says: "no.db: there is no such ledger"},
		{name: "directory", args: "release pums.csv --eps 1 --ledger .", code: misused, says: "not a regular file"},
		{name: "no SQLite", args: "fit pums.csv --eps 1 --ledger x.db", code: misused, says: "x.db: it is not a ledger", files: text},
		{name: "the data", args: "release pums.csv --eps 1 --ledger pums.csv", code: misused, says: "not a ledger"},
		{name: "a release", args: "release pums.csv --eps 1 --ledger good.json", code: misused, says: "not a ledger"},
		{name: "empty", args: "ledger show empty.db", code: misused, says: "not a ledger of dpreg", files: text},
		{name: "show missing", args: "ledger show no.db", code: misused, says: "no such ledger"},
		{name: "show no file", args: "ledger show", code: misused, says: "needs a ledger"},
		{name: "no subcommand", args: "ledger spend", code: misused, says: "`dpreg ledger --help` lists the commands"},
		{name: "no eps", args: "ledger init n.db --data x", code: misused, says: "--eps is missing"},
		{name: "no data", args: "ledger init n.db --eps 1", code: misused, says: "--data is missing"},
		{name: "data of lines", args: "ledger init n.db --eps 1 --data a\nb", code: misused, says: "takes one file"},
		{name: "eps zero", args: "ledger init n.db --data x --eps 0", code: misused, says: "above 0"},
		{name: "eps negative", args: "ledger init n.db --data x --eps -1", code: misused, says: "above 0"},
		{name: "eps NaN", args: "ledger init n.db --data x --eps NaN", code: misused, says: "--eps"},
		{name: "eps underflow", args: "ledger init n.db --data x --eps 1e-999999999", code: misused, says: "--eps"},
		{name: "eps fraction", args: "ledger init n.db --data x --eps 1/3", code: misused, says: "--eps"},
		{name: "delta negative", args: "ledger init n.db --data x --eps 1 --delta -1e-6", code: misused, says: "above 0"},
		{name: "delta one", args: "ledger init n.db --data x --eps 1 --delta 1", code: misused, says: "below 1"},
		{name: "neighbours", args: "ledger init n.db --data x --eps 1 --neighbours all", code: misused, says: "replace-one, add-remove"},
		{name: "filter", args: "ledger init n.db --data x --eps 1 --filter least", code: misused, says: "auto, sum"},
		{name: "no directory", args: "ledger init no/n.db --data x --eps 1", code: misused, says: "no/n.db"},
		{name: "non-private", args: "fit pums.csv --method non-private --i-hold-the-data --ledger x.db", code: misused, says: "--ledger"},
		{name: "of infer", args: "infer good.json --ledger x.db", code: misused, says: "--ledger belongs to `dpreg fit`, `dpreg pvi`, `dpreg release` and `dpreg vi`"},
	} {
		t.Run(w.name, w.run)
	}
}

func TestReadOnlyLedger(t *testing.T) {
	withLedger(t, "--eps", "2")
	must.Do(t, os.Chmod("b.db", 0o444))
	command("ledger", "show", "b.db").ends(t, done)
	if os.Getuid() == 0 {
		t.Skip("no mode keeps the superuser from writing")
	}
	command("release", "pums.csv", "--eps", "1", "--ledger", "b.db").says(t, "b.db: it cannot be written to").ends(t, misused)
}
