// Package postgres has a PostgreSQL server sum the rows of a table, by one query of which the
// result is the sums, or deliver them on the lattice. All queries are of one snapshot, in a
// read-only transaction.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpreg/dpreg/pushdown"
	"github.com/dpreg/dpreg/ssp"
)

// Table is a table or view of a server that is connected to.
type Table struct {
	conn    *pgx.Conn
	tx      pgx.Tx // from the first query to Close
	name    pushdown.Table
	columns []pgconn.FieldDescription
}

// Open connects to the database at a URL as libpq knows it, of which the environment and
// the user's files (PGPASSWORD, PGSSLMODE, ~/.pgpass, …) fill in what it leaves out, and
// asks for the table's columns; no row is read. Errors hold neither the URL nor its
// password.
func Open(ctx context.Context, url string, name pushdown.Table) (*Table, error) {
	if !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://") || misread(url) {
		return nil, errURL
	}
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, errURL // what pgx says may hold parts of it
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "dpreg"
	}
	config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		// The server shall stop, too, where this program is interrupted.
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: 5 * time.Second}
	}
	if strings.ContainsAny(config.Host, "@%") && !strings.HasPrefix(config.Host, "/") {
		return nil, errURL // a password that was encoded together with its @
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, connecting(ctx, config, err)
	}
	t := &Table{conn: conn, name: name}
	described, err := conn.Prepare(ctx, "", "SELECT * FROM "+name.In(pushdown.Postgres()))
	if err != nil {
		t.Close()
		return nil, t.explain(ctx, err)
	}
	t.columns = described.Fields
	return t, nil
}

// Close closes the connection.
func (t *Table) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = t.conn.Close(ctx) // nothing was written, and there is nothing to commit
}

// Header are the names of the table's columns.
func (t *Table) Header() []string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.Name
	}
	return names
}

// numbers are the types that can be cast to double precision whatever they hold; of numeric,
// a number that double precision cannot hold ends the query.
var numbers = []uint32{pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.Float4OID, pgtype.Float8OID, pgtype.NumericOID}

// Sum returns what ssp.Accumulator makes of the table's rows, as far as the role may see
// them. Errors tell nothing of a cell, but that it is missing (table.ErrMissing) or has no
// number, and the name of its column: of the server's own errors they have the code alone.
func (t *Table) Sum(ctx context.Context, q *pushdown.Query) (*ssp.Statistics, error) {
	if err := t.begin(ctx, q); err != nil {
		return nil, err
	}
	var a pushdown.Aggregates
	if err := t.tx.QueryRow(ctx, q.SQL(pushdown.Postgres(), t.name)).Scan(&a.Design, &a.Rows, &a.Counts, &a.Sums); err != nil {
		return nil, t.explain(ctx, err)
	}
	return q.Statistics(a, t.String())
}

// Scan calls each with the rows of Query.RowsSQL, as many times as it is called the same ones.
// Errors: those of Sum, and of each.
func (t *Table) Scan(ctx context.Context, q *pushdown.Query, each func(row string) error) error {
	if err := t.begin(ctx, q); err != nil {
		return err
	}
	rows, err := t.tx.Query(ctx, q.RowsSQL(pushdown.Postgres(), t.name))
	if err != nil {
		return t.explain(ctx, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(string(rows.RawValues()[0])); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	if rows.Err() != nil {
		return t.explain(ctx, rows.Err())
	}
	return nil
}

// begin takes the snapshot, unless there is one, once the table is found to suit the query.
func (t *Table) begin(ctx context.Context, q *pushdown.Query) error {
	err := q.CheckNumbers(t.String(), func(column string) bool {
		i := slices.IndexFunc(t.columns, func(c pgconn.FieldDescription) bool { return c.Name == column })
		return i < 0 || slices.Contains(numbers, t.columns[i].DataTypeOID)
	})
	if err != nil || t.tx != nil {
		return err
	}
	if t.tx, err = t.conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}); err != nil {
		return t.explain(ctx, err)
	}
	return nil
}

// String is the table's name.
func (t *Table) String() string { return "table " + t.name.In(pushdown.Postgres()) }

var errURL = errors.New("this is no URL of a PostgreSQL database, such as postgres://user@host:5432/database?sslmode=verify-full " +
	"(in a password, characters such as @ : / ? # % are written as %40 and so on; better, leave it to ~/.pgpass or PGPASSWORD)")

// misread tells whether a part of a password may stand where a host or a database should,
// and be asked for, or shown: of a password with a slash in it, the @ follows the slash.
func misread(url string) bool {
	_, rest, _ := strings.Cut(url, "://")
	end := strings.IndexAny(rest, "/?#")
	return end >= 0 && strings.Contains(rest[end:], "@")
}

// connecting explains why there is no connection. No row has been touched yet, so what
// the server or the network says can be told.
func connecting(ctx context.Context, config *pgx.ConnConfig, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		err = connect.Unwrap()
	}
	place := net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port)))
	return fmt.Errorf("cannot connect to %s as %q: %s", place, config.User, pushdown.Redacted(err.Error()))
}

// reasons are the codes of errors (PostgreSQL's documentation, appendix A) that a user can mend.
var reasons = map[string]string{
	"42P01": "there is no such table; its name is taken exactly as it is given, capitals and all, and may need its schema, as in public.people",
	"3F000": "there is no such schema",
	"42501": "the role may not read it",
	"22003": "a number is out of the range of double precision",
	"57014": "the server cancelled the query, as after its statement_timeout",
	"54001": "the query is too large for the server: use fewer columns",
	"54011": "the query is too large for the server: use fewer columns",
}

// explain says in our words what the server refused. Its own may quote a cell.
func (t *Table) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var refused *pgconn.PgError
	if !errors.As(err, &refused) {
		return fmt.Errorf("%s: the connection to the server broke", t)
	}
	reason := reasons[refused.Code]
	if reason == "" {
		reason = "the server refused the query; its words are not shown, since they could hold a cell: see its log"
	}
	return fmt.Errorf("%s: %s (SQLSTATE %s)", t, reason, refused.Code)
}
