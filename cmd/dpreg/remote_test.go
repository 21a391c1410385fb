package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpreg/dpreg/pushdown/duckdb"
	"github.com/dpreg/dpreg/pushdown/pushdowntest"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

// loud is an ε with noise of some 1e-11, so that the sums show.
const loud = "1e12"

// sameSums fails unless two releases hold the same sums but for the noise of loud.
func sameSums(t *testing.T, path, other string) {
	t.Helper()
	a, err := release.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b, err := release.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	x, y := a.Statistics.Vector(), b.Statistics.Vector()
	if a.N != b.N || len(x) != len(y) {
		t.Fatalf("%s: %d rows and %d sums; %s: %d and %d", path, a.N, len(x), other, b.N, len(y))
	}
	for i := range x {
		// Noise has scale 3e-11: beyond 1e-8 with probability e^-300.
		if math.Abs(x[i]-y[i]) > 1e-8 {
			t.Errorf("sum %d: %v in %s, %v in %s", i+1, x[i], path, y[i], other)
		}
	}
}

// aggregates is what a database makes of pums.csv with the query that dpreg sql wrote.
func aggregates(t *testing.T, sql string) string {
	t.Helper()
	source, err := table.Find("pums.csv")
	if err != nil {
		t.Fatal(err)
	}
	described, err := schema.ReadSchema(strings.NewReader(read(t, "pums.schema.json")), "schema")
	if err != nil {
		t.Fatal(err)
	}
	d, err := described.Design("income ~ age + educ")
	if err != nil {
		t.Fatal(err)
	}
	s, err := ssp.Sum(context.Background(), source, table.Options{}, d, 1)
	if err != nil {
		t.Fatal(err)
	}
	var sums []string
	for i, sum := range s.BigInts() {
		if i < s.Dim() {
			sum = new(big.Int).Rsh(sum, ssp.LatticeBits)
		}
		sums = append(sums, sum.String())
	}
	n := fmt.Sprint(s.N)
	text, err := json.Marshal([]map[string]string{{
		"design": regexp.MustCompile(`dpreg-aggregates/1 [0-9a-f]{64}`).FindString(sql),
		"rows":   n, "counts": strings.Join([]string{n, n, n}, ","), "sums": strings.Join(sums, ","),
	}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestReleaseOfAggregates(t *testing.T) {
	workspace(t)
	model := []string{"--schema", "pums.schema.json", "--formula", "income ~ age + educ"}
	sql := command(append([]string{"sql", "--dialect", "duckdb", "--table", "main.people"}, model...)...).says(t, "as sensitive as the rows")
	if sql.code != done || !strings.Contains(sql.stdout, `FROM "main"."people"`) {
		t.Fatalf("exit code %d, stdout %s", sql.code, sql.stdout)
	}
	write(t, "agg.json", aggregates(t, sql.stdout))
	made := command(append([]string{"release", "--eps", loud, "--aggregates", "agg.json"}, model...)...).says(t, "as sensitive as the rows")
	if made.code != done {
		t.Fatal(made.stderr)
	}
	if made := command(append([]string{"release", "--eps", loud, "-o", "file.json", "pums.csv"}, model...)...); made.code != done {
		t.Fatal(made.stderr)
	}
	sameSums(t, "agg.release.json", "file.json")
	if r := command(append([]string{"release", "--eps", loud, "--aggregates", "agg.json"}, model...)...); r.code != refused {
		t.Errorf("a second release: exit code %d, stderr %s", r.code, r.stderr)
	}
	model = append(model, "--method", "naive")
	fit := append([]string{"fit", "--eps", loud, "--aggregates", "agg.json", "--release", "fit.json"}, model...)
	if r := command(fit...).says(t, "release written to fit.json"); r.code != done || !strings.Contains(r.stdout, "educ") {
		t.Errorf("fit: exit code %d, stderr %s", r.code, r.stderr)
	}
	sameSums(t, "fit.json", "file.json")
	if r := command(fit...).says(t, "may be newer than fit.json"); r.code != refused {
		t.Errorf("fit again: exit code %d", r.code)
	}
	exact := append([]string{"fit", "--method", nonPrivate, "--i-hold-the-data", "--aggregates", "agg.json"}, model[:4]...)
	if r := command(exact...).says(t, "NOT private"); r.code != done {
		t.Errorf("fit of the exact sums: exit code %d, stderr %s", r.code, r.stderr)
	}
	model = model[:4]
	write(t, "bad.json", strings.Replace(read(t, "agg.json"), `"sums":"-`, `"sums":"-7777777`, 1))
	before := tree(t)
	for says, args := range map[string]string{
		"another query":        "--aggregates agg.json --bounds age=0:99",
		"sum 1 is none":        "--aggregates bad.json",
		"no such file":         "--aggregates none.json",
		"auto looks at":        "--aggregates agg.json --bounds auto",
		"would be overwritten": "--aggregates agg.json -o agg.json --spend-again",
		"needs the rows":       "--aggregates agg.json --with-moments",
		"in one of them":       "--aggregates agg.json pums.csv",
		"from one of them":     "--aggregates agg.json --from postgres://a --table b",
		"go together":          "--table people",
		"no URL of":            "--from mysql://a:hidden@b/c --table people",
		"--table: table":       "--from postgres://a --table a..b",
	} {
		args := append(append([]string{"release", "--eps", "1", "-o", "new.json"}, model...), strings.Fields(args)...)
		if r := command(args...).says(t, says); r.code != misused || strings.Contains(r.stderr, "hidden") {
			t.Errorf("%s: exit code %d, stderr %s", says, r.code, r.stderr)
		}
	}
	unchanged(t, before)
}

func TestSQLWrong(t *testing.T) {
	workspace(t)
	for says, args := range map[string]string{
		"no dialect":              "--dialect oracle --table t --schema pums.schema.json",
		"--table: table":          "--dialect duckdb --schema pums.schema.json",
		"there are no columns":    "--dialect duckdb --table t",
		"auto looks at":           "--dialect duckdb --table t --bounds auto",
		`no column "z"`:           "--dialect duckdb --table t --bounds x=0:1,y=0:1 --formula y~z",
		"sql reads no data":       "--dialect duckdb --table t --bounds x=0:1,y=0:1 t.csv",
		"error, midpoint or drop": "--dialect duckdb --table t --bounds x=0:1,y=0:1 --missing guess",
	} {
		if r := command(append([]string{"sql"}, strings.Fields(args)...)...).says(t, says); r.code != misused || r.stdout != "" {
			t.Errorf("%s: exit code %d, stdout %q", args, r.code, r.stdout)
		}
	}
	unbounded := strings.Replace(read(t, "pums.schema.json"), `, "constraints": {"minimum": 0, "maximum": 100}`, "", 1)
	write(t, "people.schema.json", unbounded)
	if r := command("sql", "--dialect", "duckdb", "--table", "people").says(t, `no bounds for "age"`); r.code != refused {
		t.Errorf("exit code %d", r.code)
	}
}

// A release of a PostgreSQL table is that of the same rows in a file, and neither the
// password nor a cell is shown.
func TestReleaseFromPostgres(t *testing.T) {
	workspace(t)
	at := pushdowntest.Postgres(t)
	conn, err := pgx.Connect(t.Context(), at.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	people := pushdowntest.Cases(t, "pums.csv")[0]
	for _, statement := range append(people.Create("people"), "CREATE TABLE odd AS SELECT *, 'cell' || age AS name FROM people",
		`CREATE VIEW "-" AS SELECT * FROM people`, "CREATE TABLE holes AS SELECT nullif(age, 50) AS age, income FROM people") {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	write(t, "people.schema.json", read(t, "pums.schema.json"))
	from := func(url *url.URL, args ...string) result {
		t.Helper()
		r := command(append([]string{"release", "--eps", loud, "--from", url.String()}, args...)...)
		if strings.Contains(r.stdout+r.stderr, "s3cret") {
			t.Errorf("the password is shown:\n%s", r.stderr)
		}
		return r
	}
	if r := from(at, "--table", "people").says(t, "~/.pgpass").says(t, "bounds from people.schema.json"); r.code != done {
		t.Fatal(r.stderr)
	}
	if r := command("release", "--eps", loud, "-o", "file.json", "pums.csv"); r.code != done {
		t.Fatal(r.stderr)
	}
	sameSums(t, "people.release.json", "file.json")
	fitted := command("fit", "--eps", loud, "--from", at.String(), "--table", "people", "--release", "fit.json", "--formula", "income ~ age", "--method", "naive")
	if fitted.code != done {
		t.Error(fitted.stderr)
	}
	if r := command("schema", "--from", at.String(), "--table", "odd"); r.code != done || !strings.Contains(r.stdout, `"educ"`) || strings.Contains(r.stdout, "cell5") {
		t.Errorf("a template: %s\n%s", r.stdout, r.stderr)
	}
	before := tree(t)
	closed := *at
	closed.RawQuery = url.Values{"host": {t.TempDir()}}.Encode()
	for says, r := range map[string]result{
		"holds a release already": from(at, "--table", "people"),
		"no such table":           from(at, "--table", "People"),
		"no type of numbers":      from(at, "--table", "odd", "--bounds", "name=0:1,age=0:100", "--formula", "age~name"),
		"no bounds for":           from(at, "--table", "odd"),
		"missing value":           from(at, "--table", "holes", "--bounds", "age=0:100,income=0:1"),
		"by -o FILE":              from(at, "--table", "-", "--bounds", "age=0:100,income=0:1", "--formula", "income~age"),
		"cannot connect":          from(&closed, "--table", "people"),
	} {
		r.says(t, says)
		if r.code != misused && r.code != refused || strings.Contains(r.stderr, "cell5") {
			t.Errorf("%s: exit code %d, stderr %s", says, r.code, r.stderr)
		}
	}
	unchanged(t, before)
}

// What dpreg-duckdb gives, here a script that stands for it, makes the release of the file.
func TestReleaseFromDuckDB(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a script of a shell stands for the program")
	}
	workspace(t)
	model := []string{"--schema", "pums.schema.json", "--formula", "income ~ age + educ"}
	from := append([]string{"release", "--eps", loud, "--from", "duckdb:", "--table", "read_json('rows.json')"}, model...)
	search := os.Getenv("PATH")
	t.Setenv("PATH", t.TempDir())
	if r := command(from...).says(t, "go build ./cmd/dpreg-duckdb"); r.code != misused {
		t.Errorf("without the program: exit code %d", r.code)
	}
	var columns []map[string]string
	for _, name := range []string{"age", "sex", "educ", "race", "income", "married"} {
		columns = append(columns, map[string]string{"column_name": name, "column_type": "BIGINT"})
	}
	described, err := json.Marshal(columns)
	if err != nil {
		t.Fatal(err)
	}
	write(t, "columns.json", string(described))
	write(t, "agg.json", aggregates(t, command(append([]string{"sql", "--dialect", "duckdb", "--table", "t"}, model...)...).stdout))
	bin := t.TempDir()
	script := "#!/bin/sh\ncase \"$(cat)\" in *DESCRIBE*) cat columns.json;; *) cat agg.json;; esac\n"
	if err := os.WriteFile(filepath.Join(bin, duckdb.Program), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+search)
	if r := command(from...).says(t, "by -o FILE"); r.code != misused {
		t.Errorf("without a name: exit code %d", r.code)
	}
	if r := command(append(from, "-o", "duck.json")...); r.code != done {
		t.Fatal(r.stderr)
	}
	if r := command(append([]string{"release", "--eps", loud, "-o", "file.json", "pums.csv"}, model...)...); r.code != done {
		t.Fatal(r.stderr)
	}
	sameSums(t, "duck.json", "file.json")
	if r := command(append([]string{"release", "--eps", loud, "--from", "duckdb:my.duckdb", "--table", "main.people"}, model...)...); r.code != done {
		t.Error(r.stderr)
	}
	sameSums(t, "people.release.json", "file.json")
}
