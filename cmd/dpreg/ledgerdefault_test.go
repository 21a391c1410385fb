package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/dpreg/dpreg/internal/must"
)

var headIn = regexp.MustCompile(`head ([0-9a-f]{64})`)

// head is the one that a run told.
func (r result) head(t *testing.T) string {
	t.Helper()
	found := headIn.FindStringSubmatch(r.stderr)
	if found == nil {
		t.Fatalf("exit code %d, no head is told:\n%s", r.code, r.stderr)
	}
	return found[1]
}

// A release makes a ledger beside its data, for its owner alone; the next one is counted in it;
// a total comes later, and once.
func TestLedgerByDefault(t *testing.T) {
	workspace(t)
	command("release", "pums.csv", "--eps", "0.5").finished(t).says(t, "pums.ledger.db made, the ledger of pums.csv").says(t, "Spent in all: epsilon = 0.5")
	if info, err := os.Stat("pums.ledger.db"); err != nil || runtime.GOOS != "windows" && info.Mode() != fs.FileMode(0o600) {
		t.Errorf("%v, %v", info, err)
	}
	command("fit", "pums.csv", "--eps", "0.5", "--method", "gibbs-ss-update", "--warmup", "100", "--draws", "10").finished(t).says(t, "nothing is charged to pums.ledger.db, which has this release as No 1")
	command("vi", "pums.csv", "--model", "linear", "--eps", "1", "--delta", "1e-6", "--rate", "1").finished(t).says(t, "as No 2")
	command("ledger", "init", "pums.ledger.db", "--data", "x", "--eps", "1", "--delta", "1e-5").says(t, "more was charged already, ε = 1.5").ends(t, misused)
	command("ledger", "init", "pums.ledger.db", "--data", "x", "--eps", "2", "--delta", "1e-5").finished(t).says(t, "the ledger of pums.csv, has a total now")
	command("ledger", "init", "pums.ledger.db", "--data", "x", "--eps", "3").ends(t, refused)
	command("release", "pums.csv", "--eps", "2", "-o", "more.json").ends(t, refused)
	before := tree(t)
	command("release", "pums.csv", "--eps", "2", "-o", "more.json", "--no-ledger").finished(t)
	if read(t, "pums.ledger.db") != before["pums.ledger.db"] {
		t.Error("the ledger was charged")
	}
	command("release", "pums.csv", "--eps", "2", "--no-ledger", "--ledger", "b.db").says(t, "exclude each other").ends(t, misused)
}

// What is refused makes no ledger.
func TestRefusedMakesNoLedger(t *testing.T) {
	workspace(t)
	write(t, "bad.csv", "x,y\n1,2\n3,\n")
	before := tree(t)
	for _, args := range []string{"release bad.csv --bounds x=0:9,y=0:9 --eps 1", "release pums.csv --eps 0", "vi bad.csv --bounds x=0:9,y=0:9 --model linear --eps 1 --delta 1e-6 --rate 1"} {
		command(strings.Fields(args)...).ends(t, misused)
	}
	unchanged(t, before)
}

// The rows are known again renamed, copied, sorted, with their columns in another order, packed, or
// as Parquet; with other bounds; and others are refused, of which one cell differs.
func TestLedgerKnowsItsRows(t *testing.T) {
	workspace(t)
	sources(t)
	command("release", "pums.csv", "--eps", "0.1", "--formula", "income ~ age + educ", "--ledger", mustInit(t)).finished(t)
	lines := strings.SplitAfter(strings.TrimRight(read(t, "pums.csv"), "\n")+"\n", "\n")
	rows := slices.Clone(lines[1 : len(lines)-1])
	slices.Sort(rows)
	write(t, "sorted.csv", lines[0]+strings.Join(rows, ""))
	var swapped, spelled strings.Builder
	for i, line := range lines[:len(lines)-1] {
		cells := strings.Split(strings.TrimSpace(line), ",")
		slices.Reverse(cells)
		swapped.WriteString(strings.Join(cells, ",") + "\n")
		if i > 0 {
			line = strings.Replace(strings.ReplaceAll(strings.TrimSpace(line), ",", " ,"), " ,", ".0,", 1) + "\r\n"
		}
		spelled.WriteString(line)
	}
	write(t, "swapped.csv", swapped.String())
	write(t, "spelled.csv", spelled.String())
	release := func(data string, more ...string) result {
		t.Helper()
		args := []string{"release", data, "--schema", "pums.schema.json", "--eps", "0.1", "--ledger", "b.db", "-o", filepath.Base(data) + ".out.json"}
		return command(append(args, more...)...)
	}
	for _, data := range []string{"sorted.csv", "swapped.csv", "spelled.csv", "columns.parquet", "columns.feather", "packed/rows.csv.gz", "shards"} {
		release(data).finished(t)
	}
	release("sorted.csv", "--bounds", "income=0:1e6", "--missing", "midpoint", "-o", "x.json").finished(t)
	release("sorted.csv", "--neighbours", "replace-one", "--steps", "3", "-o", "y.json").finished(t)
	release("sorted.csv", "--bounds", "auto", "--schema", "pums.schema.json", "-o", "z.json").finished(t)

	cells := strings.Split(rows[7], ",")
	cells[0] = map[string]string{"30": "31"}[cells[0]]
	if cells[0] == "" {
		cells[0] = "30"
	}
	cell := slices.Concat(rows[:7], []string{strings.Join(cells, ",")}, rows[8:])
	for _, others := range [][]string{cell, rows[1:], append(slices.Clone(rows), rows[3])} { // a cell, a row less, a row twice
		write(t, "others.csv", lines[0]+strings.Join(others, ""))
		before := tree(t)
		for _, more := range [][]string{nil, {"--steps", "3"}, {"--formula", "educ ~ age"}} {
			release("others.csv", more...).says(t, "counts other rows, those of pums").says(t, "dpreg ledger rebind b.db").ends(t, misused)
		}
		unchanged(t, before)
	}
	command("ledger", "rebind", "b.db").finished(t)
	release("others.csv").finished(t)
	release("sorted.csv", "-o", "w.json").ends(t, misused)
}

// mustInit makes a ledger with room for much.
func mustInit(t *testing.T) string {
	t.Helper()
	command("ledger", "init", "b.db", "--data", "pums", "--eps", "200", "--delta", "0.01").finished(t)
	return "b.db"
}

// Attacks by hand: an old copy is put back, or goes on beside the ledger; two hard links; another
// name. The copies agree with heads up to where they part.
func TestLedgerAttacks(t *testing.T) {
	workspace(t)
	spend := func(path, ledger string) string {
		t.Helper()
		return command("release", "pums.csv", "--eps", "0.5", "-o", path, "--ledger", ledger).finished(t).head(t)
	}
	mustInit(t)
	first := spend("1.json", "b.db")
	if r := command("ledger", "verify", "b.db").finished(t); r.stdout != "Whole: 1 charge, head "+first+"\n" {
		t.Errorf("of one charge it says %s", r.stdout)
	}
	old := read(t, "b.db")
	second := spend("2.json", "b.db")
	verify := func(ledger, head string, code int) result {
		t.Helper()
		r := command("ledger", "verify", ledger, "--head", head).ends(t, code)
		return r
	}
	verify("b.db", first, done).says(t, "after charge 1 of 2")
	verify("b.db", second[:16], done).says(t, "after charge 2 of 2")
	verify("b.db", second[:15], misused)
	verify("b.db", strings.Repeat("0", 64), refused)
	must.Do(t, os.Rename("b.db", "moved.db"))
	verify("moved.db", second, done)
	write(t, "b.db", old) // roll back
	verify("b.db", first, done)
	verify("b.db", second, refused).says(t, "put back to an older copy")
	third := spend("3.json", "b.db") // two that went on from one copy
	verify("b.db", second, refused)
	verify("moved.db", third, refused)
	if err := os.Link("b.db", "hard.db"); err == nil {
		for _, name := range []string{"b.db", "hard.db"} {
			command("release", "pums.csv", "--eps", "0.5", "-o", "4.json", "--ledger", name).says(t, "hard links").ends(t, misused)
		}
	}
}

// Charges of other software count, and an auditor's table has all of them.
func TestImportAndExport(t *testing.T) {
	workspace(t)
	command("ledger", "init", "b.db", "--data", "pums", "--eps", "3", "--delta", "1e-4").finished(t)
	command("release", "pums.csv", "--eps", "0.5", "--ledger", "b.db").finished(t)
	for args, noise := range map[string]string{
		"--eps 0.25": "laplace", "--eps 0.25 --delta 1e-6": "other", "--mu 0.1 --delta 1e-6": "gaussian", "--rho 0.005 --delta 1e-6": "other",
	} {
		r := command(append([]string{"ledger", "import", "b.db", "--name", "table, \"3\""}, strings.Fields(args)...)...).finished(t)
		r.head(t)
		all := charges(t, "b.db")
		if last := all[len(all)-1]; string(last.Noise) != noise || !last.Written || last.Release != "table, \"3\"" {
			t.Errorf("%s: %+v", args, last)
		}
	}
	for args, says := range map[string]string{
		"--name x": "by one of --eps", "--name x --eps 1 --mu 1": "by one of --eps", "--eps 1": "--name is missing", "--name x --mu 1": "--delta is missing",
		"--name x --eps 0": "above 0", "--name x --rho 1 --delta 2": "below 1", "--name x --eps 9": "has no room",
	} {
		if r := command(append([]string{"ledger", "import", "b.db"}, strings.Fields(args)...)...).says(t, says); r.code != misused && r.code != refused {
			t.Errorf("%s: exit code %d", args, r.code)
		}
	}
	table := command("ledger", "export", "b.db").finished(t).stdout
	if n := strings.Count(table, "\n"); n != 1+2+5 || !strings.Contains(table, `"table, ""3"""`) {
		t.Errorf("%d lines:\n%s", n, table)
	}
	command("ledger", "export", "b.db", "-o", "b.csv").finished(t)
	if read(t, "b.csv") != table {
		t.Error("a file holds something else")
	}
	command("ledger", "export", "b.db", "-o", "b.db").ends(t, misused)
	for _, secret := range []string{"key", "mark"} {
		if strings.Contains(table, secret) {
			t.Errorf("the table has %q", secret)
		}
	}
}

// No cell and nothing that is computed from one without the key is in a ledger.
func TestLedgerHasNoCells(t *testing.T) {
	workspace(t)
	type row struct {
		X float64 `parquet:"x"`
		Y float64 `parquet:"y"`
	}
	must.Do(t, parquet.WriteFile("r.parquet", []row{{0.123456789, 1}, {0.3, 2}}))
	command("ledger", "init", "one.db", "--data", "r", "--eps", "2").finished(t)
	command("release", "r.parquet", "--bounds", "x=0:1,y=0:2", "--eps", "1", "--ledger", "one.db").finished(t)
	if strings.Contains(read(t, "one.db"), "0.123456789") {
		t.Error("a cell stands in the ledger")
	}
}
