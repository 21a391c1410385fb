package postgres

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/jackc/pgx/v5"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/pushdown"
	"github.com/dpreg/dpreg/pushdown/pushdowntest"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

const pums = "../../testdata/pums.csv"

// execute runs statements as the owner of the database.
func execute(t *testing.T, at *url.URL, statements ...string) {
	t.Helper()
	conn := must.Get(pgx.Connect(t.Context(), at.String()))(t)
	defer conn.Close(context.Background())
	for _, s := range statements {
		if _, err := conn.Exec(t.Context(), s); err != nil {
			t.Fatalf("%v\n%.200s", err, s)
		}
	}
}

// sum is the release path of a table. Rows that are delivered have the same sums, also if some
// are gone meanwhile: all is of one snapshot.
func sum(t *testing.T, at *url.URL, name string, d *schema.Design, o table.Options, meanwhile ...string) (sums string, err error) {
	t.Helper()
	parsed := must.Get(pushdown.ParseTable(name))(t)
	rows, err := Open(t.Context(), at.String(), parsed)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	q := must.Get(pushdown.New(d, o))(t)
	s, err := rows.Sum(t.Context(), q)
	if err != nil {
		return "", err
	}
	execute(t, at, meanwhile...)
	a := ssp.NewAccumulator(len(d.Columns()))
	if err := q.Scan(t.Context(), rows, a.AddRows); err != nil {
		t.Errorf("%s: %v", name, err)
	} else if delivered := pushdowntest.Text(a.Statistics()); delivered != pushdowntest.Text(s) {
		t.Errorf("%s: the sums of rows that are delivered differ:\n%.300s\n%.300s", name, delivered, pushdowntest.Text(s))
	}
	return pushdowntest.Text(s), nil
}

// TestPostgres: the server's sums are those of the file, to the bit, and it tells of no cell
// where it cannot sum. All on one server, which takes seconds to start.
func TestPostgres(t *testing.T) {
	testsize.Full(t, "TestStatistics and TestDialectsParse of package pushdown have the query")
	at := pushdowntest.Postgres(t)
	t.Run("sums", func(t *testing.T) { testSums(t, at) })
	t.Run("cells", func(t *testing.T) { testCells(t, at) })
	t.Run("errors", func(t *testing.T) { testErrors(t, at) })
	t.Run("role", func(t *testing.T) { testRole(t, at) })
}

func testSums(t *testing.T, at *url.URL) {
	for _, c := range pushdowntest.Cases(t, pums) {
		const name = `odd "name"; --`
		execute(t, at, append([]string{`DROP TABLE IF EXISTS "odd ""name""; --"`}, c.Create(name)...)...)
		got, err := sum(t, at, `"odd ""name""; --"`, c.Design, c.Options, `DELETE FROM "odd ""name""; --"`)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
		} else if want := pushdowntest.Text(c.Want(t)); got != want {
			t.Errorf("%s: the sums differ\n got %.300s\nwant %.300s", c.Name, got, want)
		}
	}
}

func box(names ...string) *schema.Design {
	s := &schema.Schema{}
	for _, name := range names {
		s.Columns = append(s.Columns, schema.Column{Name: name, Lower: 0, Upper: 10})
	}
	d, err := s.Design("")
	if err != nil {
		panic(err)
	}
	return d
}

// A cell that has no number ends the query, whatever becomes of missing ones, and the error
// does not tell it.
func testCells(t *testing.T, at *url.URL) {
	execute(t, at,
		"CREATE TABLE cells (y integer, null_ double precision, nan double precision, inf double precision, huge numeric, tiny numeric, text_ text, flag integer)",
		"INSERT INTO cells VALUES (1, NULL, 'NaN', 'Infinity', 1e400, 8767e-400, '7391', 2)")
	flag := &schema.Schema{Columns: []schema.Column{{Name: "flag", Type: "boolean", Upper: 1}, {Name: "y", Lower: 0, Upper: 10}}}
	flagged := must.Get(flag.Design(""))(t)
	for _, missing := range []table.Missing{table.MissingError, table.Midpoint, table.Drop} {
		for _, c := range []struct {
			column string
			design *schema.Design
			says   string
		}{
			{"null_", box("null_", "y"), "missing value"},
			{"nan", box("nan", "y"), "no finite number"},
			{"inf", box("inf", "y"), "no finite number"},
			{"huge", box("huge", "y"), "out of the range"},
			{"tiny", box("tiny", "y"), "out of the range"},
			{"text_", box("text_", "y"), "no type of numbers"},
			{"flag", flagged, "neither true nor false"},
		} {
			if c.column == "null_" && missing != table.MissingError {
				continue
			}
			_, err := sum(t, at, "cells", c.design, table.Options{Missing: missing})
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s, missing %s: error %v", c.column, missing, err)
			} else if strings.Contains(err.Error(), "8767") || strings.Contains(err.Error(), "7391") {
				t.Errorf("%s: the error tells the cell: %v", c.column, err)
			}
			if c.column == "null_" && !errors.Is(err, table.ErrMissing) {
				t.Errorf("a missing cell is not told as one: %v", err)
			}
		}
	}
	// A view that casts a text is the user's own; the server's error quotes the text.
	execute(t, at, "CREATE VIEW secret AS SELECT y, CAST('oracle' || text_ AS double precision) AS x FROM cells")
	if _, err := sum(t, at, "secret", box("x", "y"), table.Options{}); err == nil || strings.Contains(err.Error(), "oracle") || !strings.Contains(err.Error(), "22P02") {
		t.Errorf("error %v", err)
	}
	// An error that the query does not reach is none: only the columns of the model are read.
	must.Fail(t, must.Err(sum(t, at, "secret", box("y", "y2"), table.Options{})), "42703")
}

// No error tells the password.
func testErrors(t *testing.T, at *url.URL) {
	password, _ := at.User.Password()
	wrong, closed, unreadable := *at, *at, *at
	wrong.User = url.UserPassword("owner", "mistyped"+password)
	closed.RawQuery = url.Values{"host": {"/nowhere"}}.Encode()
	unreadable.RawQuery = "connect_timeout=bad&host=/nowhere"
	for says, address := range map[string]string{
		"28P01":               wrong.String(),
		"cannot connect":      closed.String(),
		"no URL":              unreadable.String(),
		"no URL of":           "postgres://owner:" + password + "/half@host:port:1/db",
		"no URL of a Postgre": "mysql://owner:" + password + "@host/db",
	} {
		_, err := Open(t.Context(), address, pushdown.Table{"t"})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: error %v", says, err)
		} else if strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), url.QueryEscape(password)) {
			t.Errorf("the error tells the password: %v", err)
		}
	}
	for says, name := range map[string]string{"no such table": "Nobody", "no such schema": "nowhere.t"} {
		if _, err := sum(t, at, name, box("x", "y"), table.Options{}); err == nil || !strings.Contains(err.Error(), "42P01") && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: error %v", says, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, at.String(), pushdown.Table{"t"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that is done: %v", err)
	}
}

// A role that may read some columns and some rows is enough, and nothing can be written.
func testRole(t *testing.T, at *url.URL) {
	execute(t, at,
		"CREATE TABLE people (x double precision, y double precision, name text, consent boolean)",
		"INSERT INTO people VALUES (1, 2, 'a', true), (3, 4, 'b', true), (5, 6, 'c', false)",
		"ALTER TABLE people ENABLE ROW LEVEL SECURITY",
		"CREATE ROLE reader LOGIN PASSWORD 'reads'",
		"CREATE POLICY consented ON people FOR SELECT TO reader USING (consent)",
		"GRANT SELECT (x, y, consent) ON people TO reader",
		"CREATE TABLE traces (x double precision)",
		"GRANT INSERT ON traces TO reader",
		"CREATE FUNCTION spy(x double precision) RETURNS double precision LANGUAGE sql VOLATILE AS 'INSERT INTO traces VALUES (x) RETURNING x'",
		"CREATE VIEW watched AS SELECT spy(x) AS x, y FROM people",
		"GRANT SELECT ON watched TO reader",
	)
	reader := *at
	reader.User = url.UserPassword("reader", "reads")
	d := box("x", "y")
	got := must.Get(sum(t, &reader, "public.people", d, table.Options{}))(t)
	two := pushdowntest.Case{Columns: []string{"x", "y"}, Cells: [][]string{{"1", "2"}, {"3", "4"}}, Design: d}
	if want := pushdowntest.Text(two.Want(t)); got != want {
		t.Errorf("the rows that the role may see: %s, want %s", got, want)
	}
	must.Fail(t, must.Err(sum(t, &reader, "people", box("name", "y"), table.Options{})), "no type of numbers")
	must.Fail(t, must.Err(sum(t, &reader, "traces", box("x", "y"), table.Options{})), "SQLSTATE")
	must.Fail(t, must.Err(sum(t, &reader, "watched", d, table.Options{})), "25006")
}
