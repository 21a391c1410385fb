package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/persons"
	"github.com/dpreg/dpreg/pushdown"
	"github.com/dpreg/dpreg/pushdown/duckdb"
	"github.com/dpreg/dpreg/pushdown/pushdowntest"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

// asProgram makes the test's own program the one that it tests.
const asProgram = "DPREG_DUCKDB_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// program puts it on the PATH.
func program(t *testing.T) {
	t.Helper()
	self := must.Get(os.Executable())(t)
	folder := t.TempDir()
	must.Do(t, os.Symlink(self, filepath.Join(folder, duckdb.Program)))
	t.Setenv("PATH", folder+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Setenv(asProgram, "1")
}

const pums = "../../../testdata/pums.csv"

// execute runs statements in a database file.
func execute(t *testing.T, file string, statements ...string) {
	t.Helper()
	db := must.Get(sql.Open("duckdb", file))(t)
	defer db.Close()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%v\n%.200s", err, s)
		}
	}
}

// sum is the release path of a table.
func sum(t *testing.T, place, name string, d *schema.Design, o table.Options) (string, error) {
	t.Helper()
	rows, err := duckdb.Open(t.Context(), place, name)
	if err != nil {
		return "", err
	}
	q := must.Get(pushdown.New(d, o))(t)
	s, err := rows.Sum(t.Context(), q)
	if err != nil {
		return "", err
	}
	return pushdowntest.Text(s), nil
}

// TestSums: DuckDB's sums of tables in a database file are those of the same rows in a file
// of comma-separated values, to the bit.
func TestSums(t *testing.T) {
	program(t)
	file := filepath.Join(t.TempDir(), "it's a.duckdb")
	cases := pushdowntest.Cases(t, pums)
	var statements []string
	for i, c := range cases {
		statements = append(statements, c.Create(fmt.Sprintf(`odd "%d"; --`, i))...)
	}
	execute(t, file, statements...)
	for i, c := range cases {
		got, err := sum(t, "duckdb:"+file, fmt.Sprintf(`"odd ""%d""; --"`, i), c.Design, c.Options)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
		} else if want := pushdowntest.Text(c.Want(t)); got != want {
			t.Errorf("%s: the sums differ\n got %.300s\nwant %.300s", c.Name, got, want)
		}
	}
}

// TestPersons: rows that DuckDB delivers say whose they are as those of a file do, and in what a person
// becomes they are the same.
func TestPersons(t *testing.T) {
	program(t)
	d := &schema.Design{Response: schema.Column{Name: "income", Lower: 0, Upper: 500000}, Covariates: []schema.Column{{Name: "age", Lower: 0, Upper: 100}}, Intercept: true}
	for _, person := range []string{"educ", "race"} { // numbers, of which many have the same
		o := table.Options{Person: person, PersonKey: [32]byte{5}}
		means := func(scan func(sink func([]float64) error) error) string {
			t.Helper()
			g := persons.NewGroup(persons.Grouping{Rule: persons.Rule{Kind: persons.Mean}}, 2, 1)
			defer g.Close()
			must.Do(t, scan(g.Adds()[0]))
			a := ssp.NewAccumulator(2)
			must.Get(g.Each(t.Context(), a.AddRows))(t)
			return pushdowntest.Text(a.Statistics())
		}
		file := must.Get(table.Find(pums))(t)
		want := means(func(sink func([]float64) error) error { return o.Scan(t.Context(), file, d, sink) })
		for form, place := range forms(t) {
			rows := must.Get(duckdb.Open(t.Context(), "duckdb:", place))(t)
			q := must.Get(pushdown.New(d, o))(t)
			if got := means(func(sink func([]float64) error) error { return q.Scan(t.Context(), rows, sink) }); got != want {
				t.Errorf("%s, %s: other means", form, person)
			}
		}
	}
}

// forms writes the rows of pums.csv in forms that DuckDB reads, and returns what follows
// FROM, by form.
func forms(t *testing.T) map[string]string {
	t.Helper()
	rows := must.Get(filepath.Abs(pums))(t)
	folder := t.TempDir()
	place := func(name string) string { return filepath.Join(folder, name) }
	execute(t, "",
		fmt.Sprintf("COPY (FROM '%s') TO '%s' (FORMAT json)", rows, place("rows.json")),
		fmt.Sprintf("COPY (FROM '%s') TO '%s' (FORMAT json, ARRAY true)", rows, place("list.json")),
		fmt.Sprintf("COPY (FROM '%s') TO '%s' (FORMAT parquet)", rows, place("rows.parquet")),
		fmt.Sprintf("COPY (FROM '%s' LIMIT 100) TO '%s' (HEADER)", rows, place("part-1.csv")),
		fmt.Sprintf("COPY (FROM '%s' OFFSET 100) TO '%s' (HEADER)", rows, place("part-2.csv")),
	)
	return map[string]string{
		"csv":     fmt.Sprintf("'%s'", rows),
		"json":    fmt.Sprintf("read_json('%s')", place("rows.json")),
		"list":    fmt.Sprintf("read_json_auto('%s')", place("list.json")),
		"parquet": fmt.Sprintf("read_parquet('%s')", place("rows.parquet")),
		"shards":  fmt.Sprintf("read_csv('%s')", place("part-*.csv")),
		"query":   fmt.Sprintf("(SELECT * FROM '%s' ORDER BY random()) -- shuffled", rows),
	}
}

func people(t *testing.T) *schema.Design {
	t.Helper()
	text := must.Get(os.ReadFile(strings.TrimSuffix(pums, ".csv") + ".schema.json"))(t)
	s := must.Get(schema.ReadSchema(strings.NewReader(string(text)), "schema"))(t)
	return must.Get(s.Design("income ~ ."))(t)
}

// TestForms: the same of files that DuckDB reads.
func TestForms(t *testing.T) {
	program(t)
	d := people(t)
	source := must.Get(table.Find(pums))(t)
	a := ssp.NewAccumulator(len(d.Columns()))
	must.Do(t, (table.Options{}).Scan(t.Context(), source, d, a.AddRows))
	s := a.Statistics()
	for form, from := range forms(t) {
		if got, err := sum(t, "duckdb:", from, d, table.Options{}); err != nil || got != pushdowntest.Text(s) {
			t.Errorf("%s: the sums differ, or error %v", form, err)
		}
	}
}

// TestErrors: a cell that has no number ends the query, and no error tells it.
func TestErrors(t *testing.T) {
	program(t)
	folder := t.TempDir()
	place := func(name, text string) string {
		path := filepath.Join(folder, name)
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	bad := place("bad.csv", "x,y\n1,2\nsecret7391,4\n")
	broken := place("broken.json", "{\"x\": 1, \"y\": 1}\n{\"x\": secret7391, \"y\": 1}\n")
	file := filepath.Join(folder, "cells.duckdb")
	execute(t, file, "CREATE TABLE cells AS SELECT 1::DOUBLE AS y, NULL::DOUBLE AS null_, 'NaN'::DOUBLE AS nan, 'inf'::DOUBLE AS inf, 'secret7391' AS text_")
	box := func(x string) *schema.Design {
		s := &schema.Schema{Columns: []schema.Column{{Name: x, Upper: 10}, {Name: "y", Upper: 10}}}
		return must.Get(s.Design(""))(t)
	}
	for _, c := range []struct{ place, name, x, says string }{
		{"duckdb:" + file, "cells", "null_", "missing value"},
		{"duckdb:" + file, "cells", "nan", "no finite number"},
		{"duckdb:" + file, "cells", "inf", "no finite number"},
		{"duckdb:" + file, "cells", "text_", "no type of numbers"},
		{"duckdb:" + file, "cells", "other", "does not have a column"},
		{"duckdb:" + file, "Nobody", "x", "does not exist"},
		{"duckdb:" + filepath.Join(folder, "none.duckdb"), "cells", "x", "cannot be read"},
		{"duckdb:", "cells", "x", "does not exist"},
		{"duckdb:", "'" + bad + "'", "x", "no type of numbers"},
		{"duckdb:", "(SELECT CAST(x AS DOUBLE) AS x, y FROM '" + bad + "')", "x", "cannot be converted"},
		{"duckdb:", "read_csv('" + bad + "', header = true, columns = {'x': 'DOUBLE', 'y': 'DOUBLE'})", "x", "cannot be converted"},
		{"duckdb:", "read_json('" + broken + "')", "x", "not what the query takes it for"},
		{"duckdb:", "'" + filepath.Join(folder, "none.csv") + "'", "x", "cannot be read"},
		{"duckdb:", "read_json(", "x", "Parser Error"},
	} {
		_, err := sum(t, c.place, c.name, box(c.x), table.Options{})
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "7391") {
			t.Errorf("%s: error %v", c.says, err)
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "none.duckdb")); err == nil {
		t.Error("a database was made")
	}
	if err := run(t.Context(), strings.NewReader(fmt.Sprintf("ATTACH '%s' AS d (READ_ONLY); DROP TABLE d.cells", file)), os.Stdout); err == nil {
		t.Error("a table was dropped")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, strings.NewReader("SELECT 1"), os.Stdout); err != context.Canceled {
		t.Errorf("a context that is done: %v", err)
	}
}

// TestRelease: dpreg and this program together make the release that dpreg makes of the file, of sums
// and of rows that are delivered.
func TestRelease(t *testing.T) {
	folder := t.TempDir()
	dpreg := filepath.Join(folder, "dpreg")
	if runtime.GOOS == "windows" {
		dpreg += ".exe"
	}
	build := exec.Command("go", "build", "-C", "../../..", "-ldflags=-s -w", "-o", dpreg, "./cmd/dpreg")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	program(t)
	// Noise of ε = 1e12 has scale 3e-11: beyond 1e-8 with probability e^-300.
	made := func(name string, args ...string) *release.Release {
		t.Helper()
		path := filepath.Join(folder, name)
		command := exec.Command(dpreg, append([]string{"release", "--eps", "1e12", "--no-ledger", "--schema", strings.TrimSuffix(pums, ".csv") + ".schema.json", "-o", path}, args...)...)
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return must.Get(release.ReadFile(path))(t)
	}
	for _, steps := range []string{"1", "3"} {
		file := made("file"+steps+".json", "--steps", steps, pums)
		for form, from := range forms(t) {
			r := made(form+steps+".json", "--steps", steps, "--from", "duckdb:", "--table", from)
			if r.N != file.N || len(r.Looks()) != len(file.Looks()) {
				t.Errorf("%s: %d looks at %d rows, of the file %d at %d", form, len(r.Looks()), r.N, len(file.Looks()), file.N)
			}
			x, y := r.Statistics.Vector(), file.Statistics.Vector()
			for i := range x {
				if x[i]-y[i] > 1e-8 || y[i]-x[i] > 1e-8 {
					t.Errorf("%s: by %s steps sum %d is %v, of the file %v", form, steps, i+1, x[i], y[i])
				}
			}
		}
	}
}
