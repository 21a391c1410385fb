package ledger

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Key is a ledger's secret, under which rows are marked.
type Key [32]byte

// NewKey draws a key.
func NewKey() (k Key) {
	rand.Read(k[:]) // never fails
	return k
}

// Marks are by what a ledger knows the rows that it counts: of each column a keyed fingerprint of
// its cells in any order (table.Marks). They are as sensitive as the rows are to whoever has the
// key: they stay in the ledger, beside it.
type Marks map[string][16]byte

// Format prints nothing of them, whatever the verb.
func (m Marks) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "ledger.Marks(%d, withheld)", len(m)) }

// OtherDataError says that a ledger counts other rows than these.
type OtherDataError struct {
	Path, Data string
	Columns    []string // that are others: not for messages
}

func (e *OtherDataError) Error() string {
	return fmt.Sprintf("%s counts other rows, those of %s", e.Path, e.Data)
}

// Is marks the error as ErrUnusable.
func (e *OtherDataError) Is(target error) bool { return target == ErrUnusable }

// Key is the secret under which rows are to be marked.
func (l *Ledger) Key(ctx context.Context) (k Key, err error) {
	err = l.patiently(ctx, func() error {
		var bytes []byte
		err := l.db.QueryRowContext(ctx, "SELECT key FROM secret").Scan(&bytes)
		if err == nil && copy(k[:], bytes) < len(k) {
			err = unusable("%s is damaged: its key is too short", l.path)
		}
		return err
	})
	return k, err
}

// differ refuses rows that are not those of the marks of q.
func (l *Ledger) differ(ctx context.Context, q *sql.Conn, data string, marks Marks) error {
	var columns []string
	for _, name := range slices.Sorted(maps.Keys(marks)) {
		var known []byte
		err := q.QueryRowContext(ctx, "SELECT sum FROM mark WHERE name = ?", name).Scan(&known)
		mark := marks[name]
		switch {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return err
		case !slices.Equal(known, mark[:]):
			columns = append(columns, name)
		}
	}
	if columns != nil {
		return &OtherDataError{l.path, data, columns}
	}
	return nil
}

// keep notes marks that are not known yet.
func (m Marks) keep(ctx context.Context, x executor) error {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		mark := m[name]
		if _, err := x.ExecContext(ctx, "INSERT OR IGNORE INTO mark (name, sum) VALUES (?, ?)", name, mark[:]); err != nil {
			return err
		}
	}
	return nil
}
