package ledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Charge charges what one release costs, all of it or nothing: one charge, or one for
// each of the mechanisms that it is composed of, in the order in which they will draw
// their noise. It returns the number of the last, once that is durable and was read back;
// the parts have consecutive ones. Where the budget has no room for them, nothing is charged
// and the error is an *ExhaustedError; where they are of other neighbours, or the file cannot
// be written, it wraps ErrUnusable. On any error nothing may be released, and the error says
// whether something was charged all the same.
func (l *Ledger) Charge(ctx context.Context, parts ...Charge) (int64, error) {
	var made []Entry
	committed := false
	err := l.transact(ctx, parts, func(tx *sql.Conn) error {
		now := time.Now().UTC().Truncate(time.Second)
		for _, c := range parts {
			result, err := tx.ExecContext(ctx,
				"INSERT INTO charge (time, release, noise, epsilon, delta, sensitivity, scale, written) VALUES (?, ?, ?, ?, ?, ?, ?, 0)",
				now.Format(time.RFC3339), c.Release, c.Noise, text(c.Epsilon), text(c.Delta), c.Sensitivity, c.Scale)
			if err != nil {
				return err
			}
			number, err := result.LastInsertId()
			if err != nil {
				return err
			}
			made = append(made, Entry{Charge: c, Number: number, Time: now})
		}
		committed = true
		return l.patiently(ctx, func() error {
			_, err := tx.ExecContext(context.WithoutCancel(ctx), "COMMIT") // it is made or not, never half way
			return err
		})
	})
	if !committed {
		return 0, err
	}
	if err := l.confirm(ctx, made, err); err != nil {
		return 0, err
	}
	return made[len(made)-1].Number, nil
}

// confirm returns nil where a commit did not fail and the file has what was charged. The
// commit was the last statement of its connection: this reads by another one.
func (l *Ledger) confirm(ctx context.Context, made []Entry, failed error) error {
	h, err := l.History(context.WithoutCancel(ctx))
	if err != nil {
		return fmt.Errorf("%w; and whether it was charged could not be read: take it for spent until the ledger shows that it is not. Nothing was released", errors.Join(failed, err))
	}
	stands := !slices.ContainsFunc(made, func(e Entry) bool { return !slices.ContainsFunc(h.Entries, e.same) })
	switch {
	case failed == nil && stands:
		return nil
	case failed == nil:
		return unusable("%s did not keep the charge that it was given: it is not as dpreg made it, or another program writes to it. Nothing was released", l.path)
	case stands:
		return fmt.Errorf("%w; No %d was charged all the same and stays. Nothing was released", failed, made[len(made)-1].Number)
	}
	return fmt.Errorf("%w; nothing was charged or released", failed)
}

// same tells whether two entries are of the same charge.
func (e *Entry) same(other Entry) bool {
	return e.Number == other.Number && e.Time.Equal(other.Time) && e.Release == other.Release && e.Noise == other.Noise &&
		e.Epsilon.Cmp(other.Epsilon) == 0 && e.Delta.Cmp(other.Delta) == 0 && e.Sensitivity == other.Sensitivity && e.Scale == other.Scale
}

// Check returns the error that Charge would return now, and charges nothing.
func (l *Ledger) Check(ctx context.Context, parts ...Charge) error {
	return l.transact(ctx, parts, func(*sql.Conn) error { return nil })
}

// transact lets do write if the parts fit, while nobody else can. It has a connection of its
// own, which it closes: one whose commit failed may still be within the transaction.
func (l *Ledger) transact(ctx context.Context, parts []Charge, do func(*sql.Conn) error) error {
	var tx *sql.Conn
	end := func() {
		if tx != nil {
			tx.Raw(func(any) error { return driver.ErrBadConn }) // closes it; what is not committed is undone
		}
	}
	defer end()
	err := l.patiently(ctx, func() (err error) {
		end()
		if tx, err = l.db.Conn(ctx); err == nil {
			_, err = tx.ExecContext(ctx, "BEGIN IMMEDIATE")
		}
		return err
	})
	if err != nil {
		return err
	}
	h, err := l.history(ctx, tx)
	if err != nil {
		return plain(l.path, err)
	}
	for _, c := range parts {
		if c.Neighbours != h.Budget.Neighbours {
			return unusable("%s counts %s neighbours, and the release is for %s ones: a ledger has one relation", l.path, h.Budget.Neighbours, c.Neighbours)
		}
	}
	ok, err := h.Fits(parts...)
	if err != nil {
		return err
	}
	if !ok {
		return &ExhaustedError{l.path, total(parts), h}
	}
	return plain(l.path, do(tx))
}
