// Package ledger keeps the privacy budget of one data set in a file that many
// processes share.
//
// A ledger has a total (ε, δ). What a release costs is charged, durably, before
// its noise is drawn, and stays charged whatever happens afterwards: the file never
// shows less than was released. Later charges are chosen after earlier releases were
// seen, so what decides is a filter that is valid for budgets chosen adaptively
// (History.Fits; the proof is in docs/ledger.md).
//
// The file is an SQLite database: totals, what each release states of its noise, names that
// the user gave, times, a chain of hashes of all these, and, apart from them, a key and keyed
// fingerprints of the rows, by which others are refused.
package ledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"sync"
	"time"

	"modernc.org/sqlite"
)

// Budget is what a ledger is made for.
type Budget struct {
	Data           string   // names the data set: public, chosen by the user
	Neighbours     string   // the one relation that all releases must have
	Epsilon, Delta *big.Rat // decimals; δ may be 0. ε is nil where there is no total: all is counted, nothing refused
	Filter         Filter
}

// Filter names the rule that decides whether a release is affordable.
type Filter string

const (
	// Auto accepts where the sum of (ε, δ) has room or where the count of Gaussian
	// noise has; with δ > 0 they share it, in a way fixed by the first Gaussian release.
	Auto Filter = "auto"
	// Sum accepts where the sum of (ε, δ) has room, in any order and mixture.
	Sum Filter = "sum"
)

// Noise is the law of a release's noise.
type Noise string

// The laws.
const (
	Laplace  Noise = "laplace"
	Gaussian Noise = "gaussian"
	// Sampled is Gaussian noise on sums over samples of the records, many times over: of a
	// whole run of stochastic gradients.
	Sampled Noise = "sampled"
	// Other is any mechanism of other software that is (ε, δ)-private, given what was before.
	Other Noise = "other"
)

// decomposed tells whether all that is known is that a release is pure but for an event of
// probability δ: docs/ledger.md, Runs.
func (n Noise) decomposed() bool { return n == Sampled || n == Other }

// OfPersons is what a relation ends in whose neighbours differ in a person, not in a row.
const OfPersons = "-person"

// Charge is what a release costs. Of Sampled noise Sensitivity/Scale is a bound on the μ of
// accounting's AsGaussian for Delta; of Other it is 1.
type Charge struct {
	Epsilon, Delta     *big.Rat // as the release states them; decimals, δ = 0 for Laplace noise
	Noise              Noise
	Sensitivity, Scale float64 // of Gaussian noise: in L2, and its standard deviation
	Neighbours         string
	Release            string // names the release, for whoever reads the ledger
}

// total is what the parts of a release cost by the plain sum; the rest is the last
// part's.
func total(parts []Charge) Charge {
	c := parts[len(parts)-1]
	for _, p := range parts[:len(parts)-1] {
		c.Epsilon, c.Delta = plus(c.Epsilon, p.Epsilon), plus(c.Delta, p.Delta)
	}
	return c
}

// Entry is a charge that was made.
type Entry struct {
	Charge
	Number  int64 // from 1
	Time    time.Time
	Written bool // the release is known to have been written
}

// check refuses what no ledger can be made for.
func (b *Budget) check() error {
	switch {
	case b.Epsilon != nil && b.Epsilon.Sign() <= 0:
		return fmt.Errorf("the total ε must be above 0")
	case b.Delta == nil || b.Delta.Sign() < 0 || b.Delta.Cmp(one) >= 0:
		return fmt.Errorf("the total δ must be at least 0 and below 1")
	case b.Filter != Auto && b.Filter != Sum:
		return fmt.Errorf("the filter must be %q or %q, not %q", Auto, Sum, b.Filter)
	case b.Neighbours == "":
		return fmt.Errorf("the neighbouring relation is missing")
	}
	if b.Epsilon == nil {
		return decimals(b.Delta)
	}
	return decimals(b.Epsilon, b.Delta)
}

// check refuses what no release can cost.
func (c *Charge) check() error {
	positive := func(x float64) bool { return x > 0 && !math.IsInf(x, 1) }
	switch {
	case c.Epsilon == nil || c.Epsilon.Sign() <= 0:
		return fmt.Errorf("ε of a release must be above 0")
	case c.Delta == nil || c.Delta.Sign() < 0:
		return fmt.Errorf("δ of a release must not be negative")
	case !slices.Contains([]Noise{Laplace, Gaussian, Sampled, Other}, c.Noise):
		return fmt.Errorf("noise must be %q, %q, %q or %q, not %q", Laplace, Gaussian, Sampled, Other, c.Noise)
	case c.Noise == Laplace && c.Delta.Sign() != 0:
		return fmt.Errorf("δ of a release with Laplace noise must be 0")
	case c.Noise != Laplace && c.Delta.Sign() == 0:
		return fmt.Errorf("δ of a release with Gaussian noise must be above 0")
	case c.Noise != Laplace && !(positive(c.Sensitivity) && positive(c.Scale)):
		return fmt.Errorf("sensitivity and scale of Gaussian noise must be above 0")
	}
	return decimals(c.Epsilon, c.Delta)
}

// decimals refuses what could not be written down exactly.
func decimals(list ...*big.Rat) error {
	for _, x := range list {
		if _, exact := x.FloatPrec(); !exact {
			return fmt.Errorf("%s is not a decimal number", x.RatString())
		}
	}
	return nil
}

// ErrUnusable is wrapped by errors that say that a file or a charge is not what it
// would have to be.
var ErrUnusable = errors.New("unusable ledger")

// unusableError hides its mark from what the user reads.
type unusableError struct{ error }

func (e *unusableError) Is(target error) bool { return target == ErrUnusable }
func (e *unusableError) Unwrap() error        { return e.error }

func unusable(format string, args ...any) error {
	return &unusableError{fmt.Errorf(format, args...)}
}

// ExhaustedError says that a budget has no room for a charge.
type ExhaustedError struct {
	Path    string
	Charge  Charge
	History *History // without the charge
}

func (e *ExhaustedError) Error() string {
	return fmt.Sprintf("%s has no room for ε = %s, δ = %s", e.Path, e.Charge.Epsilon.RatString(), e.Charge.Delta.RatString())
}

// The result codes of SQLite that have a cause outside the program: see
// https://www.sqlite.org/rescode.html.
var causes = map[int]string{
	5:  "another process has kept it busy for too long: run this again, or see what holds it",
	8:  "it cannot be written to: a ledger has to be, before anything is released",
	11: "it is damaged: take a copy that is not, and charge what was released since",
	13: "the disk is full",
	14: "it cannot be opened: a ledger needs the right to read and write the file and its directory",
	26: "it is not a ledger: no SQLite database",
}

// isBusy tells whether an error is that of another process that reads or writes.
func isBusy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == 5
}

// plain says what an error of SQLite means.
func plain(path string, err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	if cause, ok := causes[e.Code()&0xff]; ok {
		return unusable("%s: %s", path, cause)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// Charge charges what one release costs, all of it or nothing: one charge, or one for
// each of the mechanisms that it is composed of, in the order in which they will draw
// their noise. It returns the number of the last, once that is durable and was read back;
// the parts have consecutive ones. Where the budget has no room for them, nothing is charged
// and the error is an *ExhaustedError; where they are of other neighbours, or the file cannot
// be written, it wraps ErrUnusable. On any error nothing may be released, and the error says
// whether something was charged all the same.
func (l *Ledger) Charge(ctx context.Context, parts ...Charge) (int64, error) {
	number, _, err := l.ChargeFor(ctx, nil, parts...)
	return number, err
}

// ChargeFor is Charge for rows with these marks, which the ledger keeps where they are new.
// Where it knows other ones nothing is charged, and the error is an *OtherDataError. after is what was
// read back.
func (l *Ledger) ChargeFor(ctx context.Context, marks Marks, parts ...Charge) (number int64, after *History, err error) {
	var made []Entry
	committed := false
	err = l.transact(ctx, marks, parts, func(tx *sql.Conn, h *History) error {
		now, head := time.Now().UTC().Truncate(time.Second), h.Head()
		for _, c := range parts {
			e := Entry{Charge: c, Time: now}
			var err error
			if head, err = e.insert(ctx, tx, l.path, head); err != nil {
				return err
			}
			made = append(made, e)
		}
		if err := marks.keep(ctx, tx); err != nil {
			return err
		}
		if _, err := l.history(ctx, tx); err != nil {
			return errors.Join(ctx.Err(), notKept(l.path))
		}
		committed = true
		return l.commit(ctx, tx)
	})
	if !committed {
		return 0, nil, err
	}
	if after, err = l.confirm(ctx, made, err); err != nil {
		return 0, nil, err
	}
	return made[len(made)-1].Number, after, nil
}

// insert writes an entry, which gets its number, and gives the new head of the chain.
func (e *Entry) insert(ctx context.Context, x executor, path, head string) (string, error) {
	result, err := x.ExecContext(ctx,
		"INSERT INTO charge (time, release, noise, epsilon, delta, sensitivity, scale, written) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		e.Time.Format(timeFormat), e.Release, e.Noise, text(e.Epsilon), text(e.Delta), e.Sensitivity, e.Scale, e.Written)
	if err != nil {
		return "", err
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return "", notKept(path)
	}
	if e.Number, err = result.LastInsertId(); err != nil {
		return "", err
	}
	return chain(ctx, x, head, e.event())
}

func notKept(path string) error {
	return unusable("%s did not keep the charge that it was given: it is not as dpreg made it, or another program writes to it. Nothing was released", path)
}

// confirm reads back what was charged; it is an error where a commit failed or the file has it not. The
// commit was the last statement of its connection: this reads by another one.
func (l *Ledger) confirm(ctx context.Context, made []Entry, failed error) (*History, error) {
	h, err := l.since(context.WithoutCancel(ctx))
	if err != nil {
		return nil, fmt.Errorf("%w; and whether it was charged could not be read: take it for spent until the ledger shows that it is not. Nothing was released", errors.Join(failed, err))
	}
	stands := !slices.ContainsFunc(made, func(e Entry) bool { return !slices.ContainsFunc(h.Entries, e.same) })
	switch {
	case failed == nil && stands:
		return h, nil
	case failed == nil:
		return nil, notKept(l.path)
	case stands:
		return nil, fmt.Errorf("%w; No %d was charged all the same and stays. Nothing was released", failed, made[len(made)-1].Number)
	}
	return nil, fmt.Errorf("%w; nothing was charged or released", failed)
}

// same tells whether two entries are of the same charge.
func (e *Entry) same(other Entry) bool {
	return e.Number == other.Number && e.Time.Equal(other.Time) && e.Release == other.Release && e.Noise == other.Noise &&
		e.Epsilon.Cmp(other.Epsilon) == 0 && e.Delta.Cmp(other.Delta) == 0 && e.Sensitivity == other.Sensitivity && e.Scale == other.Scale
}

// Check returns the error that ChargeFor would return now, and charges nothing.
func (l *Ledger) Check(ctx context.Context, marks Marks, parts ...Charge) error {
	return l.transact(ctx, marks, parts, func(*sql.Conn, *History) error { return nil })
}

// transact lets do write if the parts fit, and the rows are those of the ledger.
func (l *Ledger) transact(ctx context.Context, marks Marks, parts []Charge, do func(*sql.Conn, *History) error) error {
	return l.exclusively(ctx, func(tx *sql.Conn, h *History) error {
		for _, c := range parts {
			if c.Neighbours != h.Budget.Neighbours {
				return unusable("%s counts %s neighbours, and the release is for %s ones: a ledger has one relation; take another one", l.path, h.Budget.Neighbours, c.Neighbours)
			}
		}
		ok, err := h.Fits(parts...)
		if err != nil {
			return err
		}
		if !ok {
			return &ExhaustedError{l.path, total(parts), h}
		}
		if err := l.differ(ctx, tx, h.Budget.Data, marks); err != nil {
			return err
		}
		return do(tx, h)
	})
}

// writing is held by whoever writes to a ledger: of the process, which ends as a whole.
var writing sync.RWMutex

// AtRest waits until no ledger is being written to, for a while at most, and lets nobody begin
// again: it is for a process that ends at once. Else SQLite's journal of half a charge would be
// left beside a ledger, which the next one undoes, if nobody took it away.
func AtRest(most time.Duration) {
	for began := time.Now(); !writing.TryLock() && time.Since(began) < most; {
		time.Sleep(time.Millisecond)
	}
}

// exclusively lets do write while nobody else can. It has a connection of its
// own, which it closes: one whose commit failed may still be within the transaction.
func (l *Ledger) exclusively(ctx context.Context, do func(*sql.Conn, *History) error) error {
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
	l.known.Store(h)
	writing.RLock()
	defer writing.RUnlock()
	defer end()
	return plain(l.path, do(tx, h))
}
