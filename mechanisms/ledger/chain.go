package ledger

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// What happens to a ledger is a chain of events, each a line of text:
//
//	hash_0 = "",   hash_i = SHA-256(hash_{i−1} ‖ "\n" ‖ text_i), in hexadecimal.
//
// The last hash, the head, stands for all that happened, in its order. Whoever wrote one down
// finds a ledger that was put back to an old copy, or of which a charge was changed: its
// chain does not have that head. A head holds nothing that was computed from rows but answers, which
// were paid for.

// Event is a link of the chain.
type Event struct{ Text, Hash string }

func link(before, text string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(before+"\n"+text)))
}

// The first words of events.
const (
	eventLedger = "ledger "
	eventTotal  = "total "
	eventCharge = "charge "
	eventData   = "data "
	eventAnswer = "answer "
)

func (b *Budget) event(id string) string {
	return fmt.Sprintf("%s%s of %q, %s neighbours", eventLedger, id, b.Data, b.Neighbours)
}

func (b *Budget) totalEvent() string {
	return fmt.Sprintf("%sepsilon %s, delta %s, filter %s", eventTotal, text(b.Epsilon), text(b.Delta), b.Filter)
}

func (e *Entry) event() string {
	return fmt.Sprintf("%s%d at %s: %s, epsilon %s, delta %s, sensitivity %v, scale %v, release %q",
		eventCharge, e.Number, e.Time.UTC().Format(timeFormat), e.Noise, text(e.Epsilon), text(e.Delta), e.Sensitivity, e.Scale, e.Release)
}

// IsOf tells whether the event is that of the entry.
func (e *Entry) IsOf(event Event) bool { return event.Text == e.event() }

// dataEvent says that rows may be others from here on.
const dataEvent = eventData + "may be others than before"

// Head is the hash of the last event.
func (h *History) Head() string { return h.Events[len(h.Events)-1].Hash }

// At finds a head, or its first digits, in the chain: charged is the number of charges up to
// there. It is not found in a ledger that was put back to an old copy, nor in another one.
func (h *History) At(head string) (charged int, found bool) {
	for _, e := range h.Events {
		if strings.HasPrefix(e.Text, eventCharge) {
			charged++
		}
		if strings.HasPrefix(e.Hash, strings.ToLower(head)) {
			return charged, true
		}
	}
	return 0, false
}

// readEvents reads the chain after what is known and checks it: each hash, and that budget and
// charges are those of the events, all of them, in their order.
func (h *History) readEvents(ctx context.Context, q *sql.Conn, id string, known *History) error {
	rows, err := q.QueryContext(ctx, "SELECT number, text, hash FROM event WHERE number > ? ORDER BY number", known.last)
	if err != nil {
		return err
	}
	defer rows.Close()
	h.Events, h.last, h.total = slices.Clone(known.Events), known.last, known.total
	before, left := "", h.Entries[len(known.Entries):]
	if len(h.Events) > 0 {
		before = h.Head()
	}
	for rows.Next() {
		var e Event
		if err := rows.Scan(&h.last, &e.Text, &e.Hash); err != nil {
			return err
		}
		h.Events = append(h.Events, e)
		i := len(h.Events)
		switch {
		case e.Hash != link(before, e.Text):
			return fmt.Errorf("link %d of its chain does not follow from those before it", i)
		case i == 1 && e.Text == h.Budget.event(id), i > 1 && e.Text == dataEvent, i > 1 && strings.HasPrefix(e.Text, eventAnswer):
		case i > 1 && strings.HasPrefix(e.Text, eventTotal):
			h.total = e.Text
		case i > 1 && len(left) > 0 && e.Text == left[0].event():
			left = left[1:]
		default:
			return fmt.Errorf("link %d of its chain is not what its tables say", i)
		}
		before = e.Hash
	}
	switch {
	case rows.Err() != nil:
		return rows.Err()
	case h.Events == nil || len(left) > 0:
		return fmt.Errorf("its chain is shorter than its tables")
	case h.Budget.Epsilon != nil && h.total != h.Budget.totalEvent(), h.Budget.Epsilon == nil && h.total != "":
		return fmt.Errorf("its total is not that of its chain")
	}
	return nil
}

// executor is a connection or a transaction.
type executor interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// chain adds an event after a head, and gives the new head.
func chain(ctx context.Context, x executor, head, text string) (string, error) {
	head = link(head, text)
	_, err := x.ExecContext(ctx, "INSERT INTO event (text, hash) VALUES (?, ?)", text, head)
	return head, err
}

// SetTotal gives a ledger without a total one: ε, δ and the filter of b. It is an error if it has
// one, if the neighbours are others, or if more was charged (*ExhaustedError).
func (l *Ledger) SetTotal(ctx context.Context, b Budget) error {
	if err := b.check(); err != nil || b.Epsilon == nil {
		return unusable("%s: a total ε is needed (%w)", l.path, err)
	}
	return l.change(ctx, func(tx *sql.Conn, h *History) error {
		switch {
		case h.Budget.Epsilon != nil:
			return unusable("%s has a total, which stays as it is", l.path)
		case h.Budget.Neighbours != b.Neighbours:
			return unusable("%s counts %s neighbours: a ledger has one relation", l.path, h.Budget.Neighbours)
		}
		b.Data = h.Budget.Data
		with := History{Budget: b, Entries: h.Entries}
		a := with.account()
		if ok, err := a.within(); err != nil || !ok {
			return unusable("%s: more was charged already, ε = %s and δ = %s in all (%w)", l.path, text(a.epsilon), text(a.delta), err)
		}
		_, err := tx.ExecContext(ctx, "UPDATE budget SET epsilon = ?, delta = ?, filter = ?", text(b.Epsilon), text(b.Delta), b.Filter)
		if err == nil {
			_, err = chain(ctx, tx, h.Head(), b.totalEvent())
		}
		return err
	})
}

// Rebind forgets by what the ledger knows its rows: the next charge is of rows as they are
// then. What was charged stays charged.
func (l *Ledger) Rebind(ctx context.Context) error {
	return l.change(ctx, func(tx *sql.Conn, h *History) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM mark")
		if err == nil {
			_, err = chain(ctx, tx, h.Head(), dataEvent)
		}
		return err
	})
}

// A run that others drive answers each of its rounds once. An answer is an event before anybody sees it, by a
// digest: what goes on from an older copy of what it sent would draw noise that nothing was charged for.

func answerEvent(charge int64, round int, digest string) string {
	return fmt.Sprintf("%sto round %d, of charge %d: %s", eventAnswer, round, charge, digest)
}

// ErrAnswered says that a round has another answer.
var ErrAnswered = errors.New("this round was answered otherwise")

// Answer notes an answer. The same one again is there already; it is ErrAnswered if another is.
func (l *Ledger) Answer(ctx context.Context, charge int64, round int, digest string) error {
	return l.change(ctx, func(tx *sql.Conn, h *History) error {
		text, other := answerEvent(charge, round, digest), answerEvent(charge, round, "")
		for _, e := range h.Events {
			switch {
			case e.Text == text:
				return nil
			case strings.HasPrefix(e.Text, other):
				return ErrAnswered
			}
		}
		_, err := chain(ctx, tx, h.Head(), text)
		return err
	})
}

// Answered is the last round that was answered of what a charge paid for, 0 before there is one.
func (h *History) Answered(charge int64) (last int) {
	for _, e := range h.Events {
		var round int
		var of int64
		if n, _ := fmt.Sscanf(e.Text, eventAnswer+"to round %d, of charge %d:", &round, &of); n == 2 && of == charge {
			last = max(last, round)
		}
	}
	return last
}

// change lets do write, while nobody else can, and commits.
func (l *Ledger) change(ctx context.Context, do func(tx *sql.Conn, h *History) error) error {
	return l.exclusively(ctx, func(tx *sql.Conn, h *History) error {
		if err := do(tx, h); err != nil {
			return err
		}
		return l.commit(ctx, tx)
	})
}

// commit ends a transaction: it is made or not, never half way.
func (l *Ledger) commit(ctx context.Context, tx *sql.Conn) error {
	return l.patiently(ctx, func() error {
		_, err := tx.ExecContext(context.WithoutCancel(ctx), "COMMIT")
		return err
	})
}
