package main

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/pushdown/duckdb"
	"github.com/dpreg/dpreg/pushdown/pushdowntest"
)

// A secret in the name of a database is in no output and no file, whatever becomes of the
// command: it works, it is mistyped, the database refuses it.
func secretsStay(t *testing.T, at *url.URL) { // the password is s3cret@word
	workspace(t)
	conn := must.Get(pgx.Connect(t.Context(), at.String()))(t)
	defer conn.Close(t.Context())
	for _, statement := range pushdowntest.Cases(t, "pums.csv")[0].Create("people") {
		must.Get(conn.Exec(t.Context(), statement))(t)
	}
	write(t, "people.schema.json", read(t, "pums.schema.json"))
	if code := command("ledger", "init", "budget.db", "--data", "people", "--eps", "1e12").code; code != done {
		t.Fatal(code)
	}
	bin := t.TempDir() // DuckDB's messages may quote the query
	script := "#!/bin/sh\necho \"DuckDB: Binder Error: $(tr -d '\\n')\" >&2\nexit 1\n"
	must.Do(t, os.WriteFile(filepath.Join(bin, duckdb.Program), []byte(script), 0o700))
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	password, _ := at.User.Password()
	query := *at
	query.User = nil
	values := query.Query()
	values.Set("user", "owner")
	values.Set("password", password)
	query.RawQuery = values.Encode()
	wrong := *at
	wrong.User = url.UserPassword("owner", "s3cret2")
	model := strings.Fields("--eps 1e11 --formula income~age --method naive --draws 50 --table people")
	fit := func(release string, args ...string) []string {
		return append(append([]string{"fit", "--release", release, "--report", release + ".html", "--save", release + ".d", "--ledger", "budget.db"}, args...), model...)
	}
	for _, c := range []struct {
		code int
		args []string
	}{
		{done, fit("a.json", "--from", at.String())},
		{done, fit("b.json", "--from="+query.String())},
		{done, []string{"schema", "--from", at.String(), "--table", "people", "-o", "t.json"}},
		{done, []string{"infer", "a.json", "--method", "naive", "--draws", "50", "--report", "i.html", "--format", "json"}},
		{misused, fit("c.json", "--from", wrong.String())},
		{misused, fit("c.json", "--from", "postgres://owner:s3cret/half@host/db")},
		{misused, fit("c.json", "--from", "postgres://owner:s3cret%zz@host/db")},
		{misused, fit("c.json", "--from", "host=h user=owner password=s3cret")},
		{misused, fit("c.json", "--from", "postgres://owner%3As3cret%40localhost/db")},
		{misused, fit("c.json", "--form", at.String())},
		{misused, fit("c.json", "--from", at.String(), at.String())},
		{misused, []string{"fit", "--eps", "1", at.String()}},
		{misused, []string{"fit", "--eps", "1", query.String()}},
		{misused, []string{"release", "--eps", "1", "postgres://owner:s3cret word@h/db"}},
		{misused, []string{"release", "--eps", "1", "--from", "pums.csv", "--table", at.String()}},
		{misused, []string{"infer", at.String()}},
		{misused, []string{at.String()}},
		{misused, []string{"release", "--eps", "1", "-o", "d.json", "--from", "duckdb:", "--table", "read_parquet('s3://b/x?s3_secret_access_key=s3cret')"}},
		{misused, []string{"release", "--eps", "1", "-o", "d.json", "--from", "duckdb:", "--table", "postgres_scan('host=h password=''s3cret''', 'public', 'people')"}},
		{misused, []string{"release", "--eps", "1", "-o", "d.json", "--from", "duckdb:https://u:s3cret@h/a.db", "--table", "people"}},
		{misused, []string{"release", "--eps", "1", "-o", "d.json", "--from", "duckdb:a.db", "--table", "read_csv('https://u:s3cret@h/a.csv')"}},
	} {
		r := command(c.args...).ends(t, c.code)
		if strings.Contains(r.stdout+r.stderr, "s3cret") {
			t.Errorf("%q:\n%s%s", c.args, r.stdout, r.stderr)
		}
	}
	for name, text := range tree(t) {
		if strings.Contains(text, "s3cret") {
			t.Errorf("%s has the secret", name)
		}
	}
	wantPage(t, "a.json.html", "dpreg fit", "--from URL", "--table NAME")
}

// What is no address is told as it is, whatever it is called.
func TestNoSecrets(t *testing.T) {
	workspace(t)
	write(t, "t.csv", "tokens,secretary\n1,2\n3,4\n")
	for want, args := range map[string][]string{
		"tokens=0:1000": {"release", "t.csv", "--eps", "1", "--bounds", "tokens=0:1000,tokens=0:1000"},
		"such as postgres://user@host:5432/database?sslmode=verify-full (in a password, characters such as @ : / ? # % are": {
			"release", "--eps", "1", "--from", "mysql://o@h/db", "--table", "t"},
	} {
		if r := command(args...); !strings.Contains(r.stderr, want) {
			t.Errorf("%q does not say %q:\n%s", args, want, r.stderr)
		}
	}
}
