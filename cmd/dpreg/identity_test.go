package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/cryptotest"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/golden"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mechanisms/ledger"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/table"
)

var update = flag.Bool("update", false, "write the golden files anew; read the difference before committing")

// noised is the stderr of a run whose noise is seeded once the charge to a ledger is told:
// noise that is drawn before the charge makes another release.
type noised struct {
	t      *testing.T
	said   strings.Builder
	seeded bool
}

func (n *noised) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "charged to") {
		cryptotest.SetGlobalRandom(n.t, 1)
		n.seeded = true
	}
	return n.said.Write(p)
}

// releasesGolden has the hashes of releases under seeded noise, each with the name of its case.
//
//go:embed testdata/releases.golden
var releasesGolden string

// seeded runs a command that makes the release at path, with seeded noise, and compares it
// with that of a case.
func seeded(t *testing.T, name, path string, args ...string) result {
	t.Helper()
	r, hash := noisy(t, path, args...)
	if !strings.Contains("\n"+releasesGolden, "\n"+hash+" "+name+"\n") {
		t.Errorf("%q makes another release than that of %q:\n%s", args, name, read(t, path))
	}
	return r
}

// noisy runs a command that makes the release at path, with seeded noise, and returns the
// hash of the file.
func noisy(t *testing.T, path string, args ...string) (r result, hash string) {
	t.Helper()
	relation, budget := release.ReplaceOne, filepath.Join(t.TempDir(), "budget.db")
	if slices.Contains(args, string(release.AddRemove)) {
		relation = release.AddRemove
	}
	if slices.Contains(args, "--person") {
		relation += ledger.OfPersons
	}
	cryptotest.SetGlobalRandom(t, 2) // the ledger's key, which says what rows of a person are chosen
	command("ledger", "init", budget, "--data", "rows", "--eps", "200", "--delta", "0.01", "--neighbours", string(relation)).ends(t, done)
	cryptotest.SetGlobalRandom(t, 0)
	var stdout bytes.Buffer
	stderr := noised{t: t}
	code := run(context.Background(), &stdout, &stderr, append(slices.Clip(args), "--ledger", budget))
	if code != done && code != unconverged || !stderr.seeded {
		t.Fatalf("%q: exit code %d, a charge is told: %t, stderr:\n%s", args, code, stderr.seeded, &stderr.said)
	}
	return result{args, code, stdout.String(), stderr.said.String()}, hashed(read(t, path))
}

func hashed(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// ordered are what custodians ask for: the data, the flags, other paths of the same rows,
// each with flags of its own, and whether the library is asked, too.
var ordered = []struct {
	name, data, flags string
	paths             []string
	library           bool
}{
	{name: "laplace", data: "pums.csv", flags: "--eps 1 --schema pums.schema.json", paths: []string{
		"shards", "./shards/", "packed", "packed/rows.csv.gz", "columns.parquet", "columns.feather", "shards/*.csv", "-",
	}, library: true},
	{name: "formula", data: "pums.csv", flags: "--eps 1 --formula income~age+educ --schema pums.schema.json", paths: []string{
		"--aggregates sums.json",
	}, library: true},
	{name: "through zero", data: "pums.csv", flags: "--eps 0.5 --formula income~educ-1"},
	{name: "gaussian", data: "pums.csv", flags: "--eps 1 --delta 1e-6", library: true},
	{name: "add-remove", data: "pums.csv", flags: "--eps 1 --neighbours add-remove", library: true},
	{name: "gaussian add-remove", data: "pums.csv", flags: "--eps 1 --delta 1e-6 --neighbours add-remove"},
	{name: "no rows", data: "none.csv", flags: "--eps 1 --neighbours add-remove --bounds x=0:1,y=0:1"},
	{name: "moments together", data: "pums.csv", flags: "--eps 5 --with-moments --formula income~educ+age", library: true},
	{name: "moments apart", data: "pums.csv", flags: "--eps 5 --with-moments --formula income~educ+age+sex"},
	{name: "moments gaussian add-remove", data: "pums.csv", flags: "--eps 1 --delta 1e-6 --neighbours add-remove --with-moments --formula income~educ"},
	{name: "factors", data: "people.csv", flags: "--eps 10 --schema people.json"},
	{name: "midpoint", data: "gaps.csv", flags: "--eps 10 --schema people.json --missing midpoint --na n/a --na - --na NA"},
	{name: "drop", data: "gaps.csv", flags: "--eps 10 --schema people.json --missing drop --neighbours add-remove --na n/a --na - --na NA"},
	{name: "bounds", data: "wide.csv", flags: "--eps 4 --bounds auto", paths: []string{"parts"}, library: true},
	{name: "bounds and moments", data: "wide.csv", flags: "--eps 4 --bounds auto=0.25,w=0:1 --with-moments --formula y~x"},
	{name: "bounds gaussian", data: "wide.csv", flags: "--eps 4 --delta 1e-6 --mechanism gaussian --bounds auto"},
	{name: "steps", data: "pums.csv", flags: "--eps 1 --steps 3 --formula income~educ+age"},
	{name: "steps gaussian add-remove", data: "pums.csv", flags: "--eps 1 --delta 1e-6 --steps 2 --neighbours add-remove --rows 1000", paths: []string{"shards", "columns.parquet", "columns.feather"}},
	{name: "bounds add-remove", data: "wide.csv", flags: "--eps 4 --neighbours add-remove --rows 5000 --bounds auto --missing drop"},
}

// TestReleasesAreIdentical: a release under seeded noise is that of the golden file, to the
// byte, by whatever path its rows come, by release, by fit (in short of every fourth case) and
// by the library. Noise is
// integer arithmetic, so that this holds on every processor.
func TestReleasesAreIdentical(t *testing.T) {
	path := must.Get(filepath.Abs("testdata/releases.golden"))(t)
	rowsOfAll(t)
	var got strings.Builder
	for i, c := range ordered {
		name, again := fmt.Sprintf("%d.json", i), append(strings.Fields(c.flags+once(c.flags)), "--spend-again")
		_, want := noisy(t, name, append([]string{"release", c.data, "-o", name}, again[:len(again)-1]...)...)
		fmt.Fprintf(&got, "%s %s\n", want, c.name)
		var ways []string
		if !testing.Short() || i%4 == 0 {
			ways = append(ways, "fit --method gibbs-ss-update --chains 1 --warmup 100 --draws 5 --release "+name+" "+c.data)
		}
		for _, path := range c.paths {
			ways = append(ways, "release -o "+name+" "+path)
		}
		for _, way := range ways {
			stdin(t, "pums.csv")
			if _, hash := noisy(t, name, append(strings.Fields(way), again...)...); hash != want {
				t.Errorf("%s: dpreg %s makes another release", c.name, way)
			}
		}
		if c.library && byLibrary(t, name, c.data) != want {
			t.Errorf("%s: the library makes another release", c.name)
		}
	}
	golden.Compare(t, path, got.String(), *update)
}

// once is --steps 1 where nothing is said of steps.
func once(flags string) string {
	if strings.Contains(flags, "--steps") {
		return ""
	}
	return " --steps 1"
}

// rowsOfAll goes to a workspace with the rows of all cases.
func rowsOfAll(t *testing.T) {
	t.Helper()
	unboundedRows(t)
	sources(t)
	for name, text := range people() {
		write(t, name, text)
	}
	write(t, "none.csv", "x,y\n")
	lines := strings.SplitAfter(read(t, "wide.csv"), "\n")
	write(t, "parts/b.csv", strings.Join(lines[:2000], ""))
	write(t, "parts/a.csv", lines[0]+strings.Join(lines[2000:], ""))
	sql := command("sql", "--dialect", "duckdb", "--table", "main.people", "--schema", "pums.schema.json", "--formula", "income~age+educ")
	write(t, "sums.json", aggregates(t, sql.stdout))
}

// orderOf asks the library for the release r of a file again.
func orderOf(t *testing.T, r *release.Release, file string) custody.Order {
	t.Helper()
	source := must.Get(table.Find(file))(t)
	o := custody.Order{NoLedger: true, Rows: custody.Files{Source: source}, Design: &r.Schema, Privacy: *r.Privacy, WithMoments: r.Moments != nil, Steps: 1}
	if r.Bounds != nil {
		o.Bounds = custody.Bounds{Columns: r.Bounds.Columns, Share: r.Bounds.Epsilon / r.Privacy.Epsilon}
	}
	return o
}

// byLibrary makes the release at path again by the library, with seeded noise, and returns
// its hash.
func byLibrary(t *testing.T, path, file string) (hash string) {
	t.Helper()
	r := must.Get(release.ReadFile(path))(t)
	o := orderOf(t, r, file)
	cryptotest.SetGlobalRandom(t, 1)
	again := must.Get(custody.Publish(t.Context(), o))(t)
	var b bytes.Buffer
	must.Get(again.WriteTo(&b))(t)
	return hashed(b.String())
}
