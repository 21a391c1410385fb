// Package duckdb has DuckDB sum the rows of a table, or of whatever else it reads: one
// query, of which the result is the sums. DuckDB is a library in C; a program of its own
// is linked with it, dpreg-duckdb, which takes SQL and gives rows in JSON.
package duckdb

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dpreg/dpreg/pushdown"
	"github.com/dpreg/dpreg/ssp"
)

// Program is the name of the program that runs the SQL on its standard input and writes
// the rows of the last statement in JSON, a list of objects. Exit code 1 says that the
// standard error has one line for the user, which quotes no cell.
const Program = "dpreg-duckdb"

const prefix = "duckdb:"

// IsPlace tells whether a text names a place of DuckDB's: duckdb: and a database file, or
// duckdb: alone, a database in memory, which is empty but can read files.
func IsPlace(text string) bool { return strings.HasPrefix(text, prefix) }

// Table is what the rows are selected from.
type Table struct {
	Name string // without its schema; empty of what has no name

	program string
	setup   string // statements before each query, after which there is the view of rows
	columns []column
}

type column struct {
	Name string `json:"column_name"`
	Type string `json:"column_type"`
}

// view is the name of the rows in a query.
const view = "dpreg_rows"

// Open asks for the columns of a table at a place. The table of a database file is named
// as pushdown.ParseTable reads it; without a file it is all that can follow FROM, such as
// read_json('rows.json') or 'rows.parquet'. No row is summed, but DuckDB may read some to
// find out the types.
//
// Errors: another place, a name that is none, no Program, what DuckDB refuses.
func Open(ctx context.Context, place, table string) (*Table, error) {
	file, ok := strings.CutPrefix(place, prefix)
	if !ok {
		return nil, fmt.Errorf("%q is no place of DuckDB's: duckdb: alone, or duckdb:FILE", place)
	}
	t := &Table{}
	from := table
	if file != "" {
		parsed, err := pushdown.ParseTable(table)
		if err != nil {
			return nil, err
		}
		from, t.Name = parsed.In(pushdown.DuckDB()), parsed[len(parsed)-1]
		t.setup = fmt.Sprintf("ATTACH '%s' AS dpreg_database (READ_ONLY);\nUSE dpreg_database;\n", strings.ReplaceAll(file, "'", "''"))
	}
	t.setup += fmt.Sprintf("CREATE TEMPORARY VIEW %s AS SELECT * FROM %s\n;\n", view, from)
	var err error
	if t.program, err = find(); err != nil {
		return nil, err
	}
	return t, t.run(ctx, "DESCRIBE "+view, func(out io.Reader) error {
		if json.NewDecoder(out).Decode(&t.columns) != nil {
			return t.garbled("list of columns")
		}
		return nil
	})
}

// find looks for the program beside this one, and then on the PATH.
func find() (string, error) {
	if self, err := os.Executable(); err == nil {
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(self), Program)); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath(Program)
	if err != nil {
		return "", fmt.Errorf("DuckDB is asked through the program %s, which is neither beside this one nor on the PATH: "+
			"it is built in the folder duckdb of dpreg's sources, by go build ./cmd/%s, with a C compiler", Program, Program)
	}
	return path, nil
}

// run has a query run, and read read the rows in JSON.
func (t *Table) run(ctx context.Context, query string, read func(out io.Reader) error) error {
	unread, stop := context.WithCancel(ctx)
	defer stop()
	command := exec.CommandContext(unread, t.program)
	command.Stdin = strings.NewReader(t.setup + query + "\n")
	var wrong bytes.Buffer
	command.Stderr = &wrong
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		return fmt.Errorf("%s: %s failed: %w", t, t.program, err)
	}
	misread := read(out)
	if misread == nil {
		_, misread = io.Copy(io.Discard, out)
	} else if _, end := out.Read(make([]byte, 1)); end == nil {
		stop() // there is more, which nobody wants
	}
	err = command.Wait()
	var ended *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &ended) && ended.ExitCode() == 130: // it heard of the interrupt first
		return context.Canceled
	case errors.As(err, &ended) && ended.ExitCode() == 1:
		return fmt.Errorf("%s: %s", t, pushdown.Redacted(strings.TrimSpace(wrong.String())))
	case err != nil && unread.Err() == nil:
		return fmt.Errorf("%s: %s failed: %w", t, t.program, err)
	}
	return misread
}

// Close does nothing: no program runs between two queries.
func (t *Table) Close() {}

// Header are the names of the table's columns.
func (t *Table) Header() []string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.Name
	}
	return names
}

// numbers are the types that can be cast to DOUBLE whatever they hold.
var numbers = []string{
	"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT",
	"FLOAT", "DOUBLE", "DECIMAL",
}

// Sum returns what ssp.Accumulator makes of the table's rows. Errors tell nothing of a
// cell, but that it is missing (table.ErrMissing) or has no number, and the name of its
// column.
func (t *Table) Sum(ctx context.Context, q *pushdown.Query) (*ssp.Statistics, error) {
	if err := t.suits(q); err != nil {
		return nil, err
	}
	var s *ssp.Statistics
	err := t.run(ctx, q.SQL(pushdown.DuckDB(), pushdown.Table{view}), func(out io.Reader) error {
		a, err := pushdown.ReadAggregates(out, t.String())
		if err == nil {
			s, err = q.Statistics(a, t.String())
		}
		return err
	})
	return s, err
}

// Scan calls each with the rows of Query.RowsSQL. Errors: those of Sum, and of each. Each scan
// is a query of its own: that they have the same rows is for the caller to see.
func (t *Table) Scan(ctx context.Context, q *pushdown.Query, each func(row string) error) error {
	if err := t.suits(q); err != nil {
		return err
	}
	return t.run(ctx, q.RowsSQL(pushdown.DuckDB(), pushdown.Table{view}), func(out io.Reader) error {
		rows := json.NewDecoder(out)
		if _, err := rows.Token(); err != nil {
			return t.garbled("rows")
		}
		for rows.More() {
			var next struct{ Row string }
			if rows.Decode(&next) != nil {
				return t.garbled("rows")
			}
			if err := each(next.Row); err != nil {
				return fmt.Errorf("%s: %w", t, err)
			}
		}
		return nil
	})
}

// garbled is the error of an answer that is none.
func (t *Table) garbled(what string) error {
	return fmt.Errorf("%s: %s gave no %s: is it of another version?", t, t.program, what)
}

// suits refuses a query of other columns than the table has.
func (t *Table) suits(q *pushdown.Query) error {
	return q.CheckNumbers(t.String(), func(name string) bool {
		i := slices.IndexFunc(t.columns, func(c column) bool { return c.Name == name })
		if i < 0 {
			return true
		}
		kind, _, _ := strings.Cut(t.columns[i].Type, "(") // of DECIMAL(18,3)
		return slices.Contains(numbers, kind)
	})
}

// String is for messages: an expression, which may hold a key to a server, is not shown.
func (t *Table) String() string {
	if t.Name == "" {
		return "what --table names"
	}
	return "table " + t.Name
}
