package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"modernc.org/sqlite"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/pushdown/duckdb"
	"github.com/dpreg/dpreg/pushdown/pushdowntest"
)

// extreme is greatest or least of two numbers, which SQLite calls otherwise; of a missing one
// nothing.
func extreme(of func(a, b float64) float64) func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
	return func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
		a, given := args[0].(float64)
		b, bounded := args[1].(float64)
		if !given || !bounded {
			return nil, nil
		}
		return of(a, b), nil
	}
}

func init() {
	sqlite.MustRegisterDeterministicScalarFunction("greatest", 2, extreme(math.Max))
	sqlite.MustRegisterDeterministicScalarFunction("least", 2, extreme(math.Min))
}

// aggregates is what a database makes of pums.csv with the query that dpreg sql wrote for
// main.people in DuckDB's dialect, which SQLite speaks as far as is needed here.
func aggregates(t *testing.T, query string) string {
	t.Helper()
	db := must.Get(sql.Open("sqlite", ":memory:"))(t)
	defer db.Close()
	db.SetMaxOpenConns(1) // each has a database of its own
	header, rows, _ := strings.Cut(strings.TrimSpace(read(t, "pums.csv")), "\n")
	must.Get(db.Exec("CREATE TABLE people (" + header + "); INSERT INTO people VALUES (" + strings.ReplaceAll(rows, "\n", "),(") + ")"))(t)
	var design, n, counts, sums string
	must.Do(t, db.QueryRow(query).Scan(&design, &n, &counts, &sums))
	return string(must.Get(json.Marshal([]map[string]string{{"design": design, "rows": n, "counts": counts, "sums": sums}}))(t))
}

func TestReleaseOfAggregates(t *testing.T) {
	workspace(t)
	model := []string{"--schema", "pums.schema.json", "--formula", "income ~ age + educ"}
	query := command(append([]string{"sql", "--dialect", "duckdb", "--table", "main.people"}, model...)...).says(t, "as sensitive as the rows")
	if query.code != done || !strings.Contains(query.stdout, `FROM "main"."people"`) {
		t.Fatalf("exit code %d, stdout %s", query.code, query.stdout)
	}
	write(t, "agg.json", aggregates(t, query.stdout))
	seeded(t, "formula", "agg.release.json", append([]string{"release", "--eps", "1", "--aggregates", "agg.json"}, model...)...).says(t, "as sensitive as the rows")
	command(append([]string{"release", "--eps", "1", "--aggregates", "agg.json"}, model...)...).ends(t, refused)
	fit := append([]string{"fit", "--eps", "1", "--aggregates", "agg.json", "--release", "fit.json", "--warmup", "100", "--draws", "5"}, model...)
	if r := seeded(t, "formula", "fit.json", fit...).says(t, "release written to fit.json"); !strings.Contains(r.stdout, "educ") {
		t.Errorf("fit: %s", r.stdout)
	}
	command(fit...).says(t, "may be newer than fit.json").ends(t, refused)
	exact := append([]string{"fit", "--method", nonPrivate, "--i-hold-the-data", "--aggregates", "agg.json"}, model...)
	command(exact...).says(t, "NOT private").ends(t, done)
	write(t, "bad.json", strings.Replace(read(t, "agg.json"), `"sums":"-`, `"sums":"-7777777`, 1))
	before := tree(t)
	for says, args := range map[string]string{
		"another query":        "--aggregates agg.json --bounds age=0:99",
		"sum 1 is none":        "--aggregates bad.json",
		"no such file":         "--aggregates none.json",
		"auto looks at":        "--aggregates agg.json --bounds auto",
		"would be overwritten": "--aggregates agg.json -o agg.json --spend-again",
		"needs the rows":       "--aggregates agg.json --with-moments",
		"--steps 3 needs the":  "--aggregates agg.json --steps 3",
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
		"choose one of":         "--dialect oracle --table t --schema pums.schema.json",
		"--table: table":        "--dialect duckdb --schema pums.schema.json",
		"there are no columns":  "--dialect duckdb --table t",
		"auto looks at":         "--dialect duckdb --table t --bounds auto",
		`no column "z"`:         "--dialect duckdb --table t --bounds x=0:1,y=0:1 --formula y~z",
		"sql takes no file":     "--dialect duckdb --table t --bounds x=0:1,y=0:1 t.csv",
		"error, midpoint, drop": "--dialect duckdb --table t --bounds x=0:1,y=0:1 --missing guess",
	} {
		command(append([]string{"sql"}, strings.Fields(args)...)...).says(t, says).ends(t, misused)
	}
	unbounded := strings.Replace(read(t, "pums.schema.json"), `, "constraints": {"minimum": 0, "maximum": 100}`, "", 1)
	write(t, "people.schema.json", unbounded)
	command("sql", "--dialect", "duckdb", "--table", "people").says(t, `no bounds for "age"`).ends(t, refused)
}

// TestPostgres has all that reads a database, each one of its own on a server that they share.
func TestPostgres(t *testing.T) {
	testsize.Full(t, "package postgres starts a server in short form")
	at := pushdowntest.Postgres(t)
	conn := must.Get(pgx.Connect(t.Context(), at.String()))(t)
	defer conn.Close(context.Background())
	for name, test := range map[string]func(*testing.T, *url.URL){"releases": releaseFromPostgres, "persons": personsSameBits, "secrets": secretsStay} {
		must.Get(conn.Exec(t.Context(), "CREATE DATABASE "+name))(t)
		own := *at
		own.Path = "/" + name
		t.Run(name, func(t *testing.T) { test(t, &own) })
	}
}

// A release of a PostgreSQL table is that of the same rows in a file, and neither the
// password nor a cell is shown.
func releaseFromPostgres(t *testing.T, at *url.URL) {
	workspace(t)
	conn := must.Get(pgx.Connect(t.Context(), at.String()))(t)
	defer conn.Close(context.Background())
	people := pushdowntest.Cases(t, "pums.csv")[0]
	for _, statement := range append(people.Create("people"), "CREATE TABLE odd AS SELECT *, 'cell' || age AS name FROM people",
		`CREATE VIEW "-" AS SELECT * FROM people`, "CREATE TABLE holes AS SELECT nullif(age, 50) AS age, income FROM people") {
		must.Get(conn.Exec(t.Context(), statement))(t)
	}
	write(t, "people.schema.json", read(t, "pums.schema.json"))
	from := func(url *url.URL, args ...string) result {
		t.Helper()
		r := command(append([]string{"release", "--eps", "1", "--from", url.String()}, args...)...)
		if strings.Contains(r.stdout+r.stderr, "s3cret") {
			t.Errorf("the password is shown:\n%s", r.stderr)
		}
		return r
	}
	rows := []string{"--eps", "1", "--from", at.String(), "--table", "people"}
	made := seeded(t, "laplace", "people.release.json", append([]string{"release"}, rows...)...).says(t, "~/.pgpass").says(t, "bounds from people.schema.json")
	fitted := seeded(t, "formula", "fit.json", append([]string{"fit", "--release", "fit.json", "--formula", "income ~ age + educ", "--warmup", "100", "--draws", "5"}, rows...)...)
	seeded(t, "steps", "steps.json", append([]string{"release", "--steps", "3", "--formula", "income~educ+age", "-o", "steps.json"}, rows...)...)
	if strings.Contains(made.stdout+made.stderr+fitted.stdout+fitted.stderr, "s3cret") {
		t.Errorf("the password is shown:\n%s%s", made.stderr, fitted.stderr)
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
		"step 1 of 3: radii":      from(at, "--table", "holes", "--bounds", "age=0:100,income=0:1", "--steps", "3"),
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
	from := append([]string{"release", "--eps", "1", "--from", "duckdb:", "--table", "read_json('rows.json')"}, model...)
	search := os.Getenv("PATH")
	t.Setenv("PATH", t.TempDir())
	command(from...).says(t, "go build ./cmd/dpreg-duckdb").ends(t, misused)
	var columns []map[string]string
	for _, name := range []string{"age", "sex", "educ", "race", "income", "married"} {
		columns = append(columns, map[string]string{"column_name": name, "column_type": "BIGINT"})
	}
	described := must.Get(json.Marshal(columns))(t)
	write(t, "columns.json", string(described))
	write(t, "agg.json", aggregates(t, command(append([]string{"sql", "--dialect", "duckdb", "--table", "main.people"}, model...)...).stdout))
	bin := t.TempDir()
	script := "#!/bin/sh\ncase \"$(cat)\" in *DESCRIBE*) cat columns.json;; *) cat agg.json;; esac\n"
	must.Do(t, os.WriteFile(filepath.Join(bin, duckdb.Program), []byte(script), 0o700))
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+search)
	command(from...).says(t, "by -o FILE").ends(t, misused)
	seeded(t, "formula", "duck.json", append(from, "-o", "duck.json")...)
	seeded(t, "formula", "people.release.json", append([]string{"release", "--eps", "1", "--from", "duckdb:my.duckdb", "--table", "main.people"}, model...)...)
}
