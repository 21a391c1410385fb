package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg/pushdown"
)

const sqlHelp = `Write the one query by which a database sums its own rows, for engines that dpreg
does not speak with. The query clamps, scales and rounds every cell, and sums
products of integers: its result, one row of texts, is to the bit what dpreg sums
of the same rows in a file. Save it in JSON, and make the release of it:

  dpreg sql --dialect duckdb --table people --schema people.schema.json > people.sql
  duckdb -json people.duckdb "$(cat people.sql)" > people.json
  dpreg release --eps 1 --aggregates people.json --schema people.schema.json

The result is exact and without noise: AS SENSITIVE AS THE ROWS. Keep it where the
rows may be kept, and remove it once the release is made. The query itself is public.

Columns and bounds come from --schema or --bounds, and must be the same in both
commands, as must --formula, --missing and --na; a result of another query is
refused. Names of tables and columns are taken exactly as they are given, capitals
and all. docs/databases.md has a command for each engine, and which were tried.`

func newSQL() *cobra.Command {
	var flags releaseFlags
	var dialect, name string
	cmd := &cobra.Command{
		Use:   "sql --dialect NAME --table NAME --schema FILE",
		Short: "Write the query by which a database sums its rows for a release",
		Long:  sqlHelp,
		Example: `  dpreg sql --dialect snowflake --table DB.PUBLIC.PEOPLE --schema people.schema.json
  dpreg sql --dialect spark --table people --bounds age=0:100,income=0:500000`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("sql reads no data, and takes no file but by a flag: %q", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return flags.writeSQL(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), dialect, name)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&dialect, "dialect", "", "`NAME` of the engine's SQL: "+strings.Join(pushdown.Dialects(), ", "))
	fs.StringVar(&name, "table", "", "`NAME` of the table or view, up to three parts between dots, exactly as the database has it")
	fs.StringArrayVar(&flags.bounds, "bounds", nil, "public bounds of a column, `NAME=LOWER:UPPER`; repeatable; wins over a schema file")
	fs.StringVar(&flags.schema, "schema", "", "Frictionless Table Schema `FILE` with columns, bounds and levels (default: table.schema.json, if it is there)")
	fs.StringVar(&flags.formula, "formula", "", formulaUsage+"default: the last column on all others")
	flags.registerCells(cmd)
	oneOf(cmd, "dialect", pushdown.Dialects()...)
	return cmd
}

func (f *releaseFlags) writeSQL(ctx context.Context, stdout, stderr io.Writer, dialect, name string) error {
	d, err := pushdown.DialectOf(dialect)
	if err != nil {
		return usagef("--dialect: %w", err)
	}
	at, err := pushdown.ParseTable(name)
	if err != nil {
		return usagef("--table: %w", err)
	}
	cells, err := f.cells(false)
	if err != nil {
		return err
	}
	data := at[len(at)-1]
	f.remote = aggregatesFile(data) // the columns are known as they will be to release --aggregates
	if _, share, err := splitBounds(f.bounds); err != nil || share != 0 {
		return usagef("--bounds auto looks at the rows: give public bounds")
	}
	design, _, err := f.design(stderr, data)
	if err != nil {
		return err
	}
	q, err := pushdown.New(design, cells)
	if err != nil {
		return usage(err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	noteMissing(stderr, cells)
	note(stderr, "the result of this query is as sensitive as the rows; the release of it is made by dpreg release --aggregates")
	_, err = io.WriteString(stdout, q.SQL(d, at))
	return err
}
