package ledger

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"
)

// History reads all that the ledger holds, and checks it.
func (l *Ledger) History(ctx context.Context) (*History, error) {
	l.known.Store(nil)
	return l.since(ctx)
}

// since is History, but for what this process has checked before.
func (l *Ledger) since(ctx context.Context) (h *History, err error) {
	err = l.patiently(ctx, func() (err error) {
		tx, err := l.db.Conn(ctx)
		if err != nil {
			return err
		}
		defer tx.Close()
		if _, err := tx.ExecContext(ctx, "BEGIN DEFERRED"); err != nil { // all of one moment
			return err
		}
		if h, err = l.history(ctx, tx); err == nil {
			l.known.Store(h)
		}
		_, end := tx.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		return errors.Join(err, end)
	})
	return h, err
}

// history reads what the ledger holds and checks it, from where it was read last: what was checked
// is followed by what happened since, if its head is there.
func (l *Ledger) history(ctx context.Context, q *sql.Conn) (h *History, err error) {
	known := l.known.Load()
	if known != nil {
		var head string
		if q.QueryRowContext(ctx, "SELECT hash FROM event WHERE number = ?", known.last).Scan(&head) != nil || head != known.Head() {
			known = nil
		}
	}
	if known == nil {
		known = new(History)
	}
	if h, err = l.tables(ctx, q, known); err != nil {
		return nil, err
	}
	var id string
	if err := q.QueryRowContext(ctx, "SELECT id FROM secret").Scan(&id); err != nil {
		return nil, err
	}
	if err := h.readEvents(ctx, q, id, known); err != nil {
		return nil, unusable("%s is damaged, or was changed by another program: %w", l.path, err)
	}
	if h.total == known.total {
		h.used, h.of = known.used, known.of
	}
	used := h.account()
	h.used, h.of = &used, len(h.Entries)
	return h, nil
}

// tables reads the budget, and the charges after those known.
func (l *Ledger) tables(ctx context.Context, q *sql.Conn, known *History) (*History, error) {
	h := &History{Entries: slices.Clone(known.Entries)}
	b := &h.Budget
	var epsilon, delta string
	err := q.QueryRowContext(ctx, "SELECT data, neighbours, epsilon, delta, filter FROM budget").
		Scan(&b.Data, &b.Neighbours, &epsilon, &delta, &b.Filter)
	if err != nil {
		return nil, err
	}
	b.Epsilon, b.Delta = parse(epsilon), parse(delta)
	if err := b.check(); err != nil || b.Epsilon == nil && epsilon != "" {
		return nil, unusable("%s is damaged: its total is none (%w)", l.path, err)
	}
	rows, err := q.QueryContext(ctx, "SELECT number, time, release, noise, epsilon, delta, sensitivity, scale, written FROM charge WHERE number > ? ORDER BY number", known.charged())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		e := Entry{Charge: Charge{Neighbours: b.Neighbours}}
		var when string
		if err := rows.Scan(&e.Number, &when, &e.Release, &e.Noise, &epsilon, &delta, &e.Sensitivity, &e.Scale, &e.Written); err != nil {
			return nil, err
		}
		e.Epsilon, e.Delta = parse(epsilon), parse(delta)
		e.Time, err = time.Parse(timeFormat, when)
		if err := errors.Join(err, e.check()); err != nil {
			return nil, unusable("%s is damaged: charge %d: %w", l.path, e.Number, err)
		}
		h.Entries = append(h.Entries, e)
	}
	return h, rows.Err()
}

// charged is the number of the last charge, 0 before there is one.
func (h *History) charged() int64 {
	if len(h.Entries) == 0 {
		return 0
	}
	return h.Entries[len(h.Entries)-1].Number
}
