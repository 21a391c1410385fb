// Command dpreg-duckdb runs the SQL on its standard input in DuckDB and writes the rows of
// the last statement in JSON, a list of objects. dpreg runs it for --from duckdb:, so that
// it can do without DuckDB itself, which needs cgo:
//
//	dpreg release --eps 1 --from duckdb: --table "read_json('rows.json')" --schema rows.schema.json -o rows.release.json
//
// What it writes is as sensitive as the rows. DuckDB's messages can quote a cell, so that
// only those are shown which tell of the SQL: exit code 1. A wrong usage has code 2, an
// interrupt 130.
package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/duckdb/duckdb-go/v2"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	if len(os.Args) > 1 {
		fmt.Fprintln(os.Stderr, "dpreg-duckdb takes SQL on its standard input, and no arguments. dpreg runs it:\n"+
			"  dpreg release --eps 1 --from duckdb: --table \"read_json('rows.json')\" --schema rows.schema.json -o rows.release.json")
		os.Exit(2)
	}
	if err := run(ctx, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		if ctx.Err() != nil {
			os.Exit(130)
		}
		os.Exit(1)
	}
}

func run(ctx context.Context, in io.Reader, out io.Writer) error {
	text, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	written := bufio.NewWriter(out)
	if err := query(ctx, string(text), written); err != nil {
		return explain(ctx, err)
	}
	return written.Flush()
}

// query runs all statements, in a database in memory, and writes the rows of the last one as
// they come.
func query(ctx context.Context, text string, out io.Writer) error {
	db, err := sql.Open("duckdb", "")
	if err != nil {
		return err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, text)
	if err != nil {
		return err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	cells, places := make([]any, len(names)), make([]any, len(names))
	for i := range cells {
		places[i] = &cells[i]
	}
	row, before, encoder := map[string]any{}, "[", json.NewEncoder(out)
	for rows.Next() {
		if err := rows.Scan(places...); err != nil {
			return err
		}
		for i, name := range names {
			row[name] = cells[i]
		}
		io.WriteString(out, before)
		if err := encoder.Encode(row); err != nil {
			return err
		}
		before = ","
	}
	if before == "[" {
		io.WriteString(out, before)
	}
	io.WriteString(out, "]\n")
	return rows.Err()
}

// tells are the kinds of errors that come before a cell is read, and tell of the SQL and of
// what it names.
var tells = map[duckdb.ErrorType]bool{
	duckdb.ErrorTypeParser:           true,
	duckdb.ErrorTypeSyntax:           true,
	duckdb.ErrorTypeCatalog:          true,
	duckdb.ErrorTypeBinder:           true,
	duckdb.ErrorTypeMissingExtension: true,
	duckdb.ErrorTypeAutoLoad:         true,
}

// reasons are our words for others that a user can mend.
var reasons = map[duckdb.ErrorType]string{
	duckdb.ErrorTypeIO:           "a file cannot be read, or is not there",
	duckdb.ErrorTypeHTTP:         "a server refused, or could not be reached",
	duckdb.ErrorTypePermission:   "that is not permitted",
	duckdb.ErrorTypeConversion:   "a cell cannot be converted to the type that its column has",
	duckdb.ErrorTypeOutOfRange:   "a number is out of the range of its type",
	duckdb.ErrorTypeInvalidInput: "a file is not what the query takes it for, or a cell is none of its column's type",
	duckdb.ErrorTypeOutOfMemory:  "there is not enough memory",
	duckdb.ErrorTypeInterrupt:    "interrupted",
}

// explain says what DuckDB refused, without a cell.
func explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var refused *duckdb.Error
	switch {
	case !errors.As(err, &refused):
		return errors.New("DuckDB could not be asked")
	case tells[refused.Type]:
		first, _, _ := strings.Cut(refused.Msg, "\n")
		return fmt.Errorf("DuckDB: %s", strings.TrimRight(first, ":!"))
	case reasons[refused.Type] != "":
		return fmt.Errorf("DuckDB: %s", reasons[refused.Type])
	}
	return errors.New("DuckDB refused the query; its words are not shown, since they could hold a cell")
}
