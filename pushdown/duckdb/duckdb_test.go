package duckdb

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/pushdown"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/table"
)

// stand puts a script of a shell in place of the program, and returns its folder. That of
// the module duckdb is tested there, with DuckDB.
func stand(t *testing.T, script string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("a script of a shell stands for the program")
	}
	folder := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(folder, Program), []byte("#!/bin/sh\n"+script+"\n"), 0o700))
	t.Setenv("PATH", folder+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return folder
}

const columns = `[{"column_name":"x","column_type":"DECIMAL(18,3)"},{"column_name":"y","column_type":"DOUBLE"},{"column_name":"t","column_type":"VARCHAR"}]`

func box(t *testing.T, names ...string) *pushdown.Query {
	t.Helper()
	s := &schema.Schema{}
	for _, name := range names {
		s.Columns = append(s.Columns, schema.Column{Name: name, Lower: 0, Upper: 10})
	}
	d := must.Get(s.Design(""))(t)
	return must.Get(pushdown.New(d, table.Options{}))(t)
}

// The program is told of a file and a table in it, whatever they are called, and of an
// expression as it stands.
func TestSetup(t *testing.T) {
	folder := stand(t, `cat > "$(dirname "$0")/sql"; echo '`+columns+`'`)
	for place, c := range map[string]struct{ table, name, want string }{
		"duckdb:it's.db": {`main."odd ""name"""`, `odd "name"`, "ATTACH 'it''s.db' AS dpreg_database (READ_ONLY);\nUSE dpreg_database;\n" +
			"CREATE TEMPORARY VIEW dpreg_rows AS SELECT * FROM \"main\".\"odd \"\"name\"\"\"\n;\nDESCRIBE dpreg_rows\n"},
		"duckdb:": {"read_json('a.json') -- all", "", "CREATE TEMPORARY VIEW dpreg_rows AS SELECT * FROM read_json('a.json') -- all\n;\nDESCRIBE dpreg_rows\n"},
	} {
		rows := must.Get(Open(t.Context(), place, c.table))(t)
		if strings.Join(rows.Header(), " ") != "x y t" {
			t.Errorf("columns %q", rows.Header())
		}
		if rows.Name != c.name {
			t.Errorf("it is called %q", rows.Name)
		}
		if sql, err := os.ReadFile(filepath.Join(folder, "sql")); err != nil || string(sql) != c.want {
			t.Errorf("%s: %q, error %v", place, sql, err)
		}
	}
}

func TestSum(t *testing.T) {
	q := box(t, "x", "y")
	stand(t, `case "$(cat)" in *DESCRIBE*) echo '`+columns+`';; *) echo '[{"design":"`+q.ID()+`","rows":"1","counts":"1,1","sums":"1048576,0,1099511627776,0,0"}]';; esac`)
	rows := must.Get(Open(t.Context(), "duckdb:", "rows"))(t)
	if s, err := rows.Sum(t.Context(), q); err != nil || s.N != 1 {
		t.Errorf("error %v", err)
	}
	must.Fail(t, must.Err(rows.Sum(t.Context(), box(t, "t", "y"))), `"t" is of no type of numbers`)
	must.Fail(t, must.Err(rows.Sum(t.Context(), box(t, "y", "x"))), "another query")
}

// Of what the program says only the line is shown that it means for the user.
func TestErrors(t *testing.T) {
	for script, says := range map[string]string{
		"echo 'DuckDB: no such table' >&2; exit 1": "what --table names: DuckDB: no such table",
		"echo 'cell 7391' >&2; exit 2":             "failed",
		"kill -9 $$":                               "failed",
		"echo '{'":                                 "no list of columns",
	} {
		stand(t, script)
		_, err := Open(t.Context(), "duckdb:", "rows")
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "7391") {
			t.Errorf("%s: error %v", script, err)
		}
	}
	for place, c := range map[string]struct{ table, says string }{
		"duckdb:a.db": {"a..b", `table "a..b"`},
		"postgres://": {"a", "no place of DuckDB's"},
	} {
		must.Fail(t, must.Err(Open(t.Context(), place, c.table)), c.says)
	}
	t.Setenv("PATH", t.TempDir())
	must.Fail(t, must.Err(Open(t.Context(), "duckdb:", "rows")), "on the PATH")
}

func TestInterrupted(t *testing.T) {
	stand(t, "exec sleep 60")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Open(ctx, "duckdb:", "rows"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}
