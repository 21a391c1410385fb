package ledger

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	_ "modernc.org/sqlite" // SQLite in Go

	"github.com/dpreg/dpreg/internal/files"
)

// Ledger is an open ledger. Any number of processes may have the same one open.
type Ledger struct {
	Taken bool // Open took rights from others than the owner

	path  string
	db    *sql.DB
	known atomic.Pointer[History] // what this process checked; nil: nothing yet
}

// application and version mark an SQLite file as a ledger: "dpre" in ASCII.
const (
	application = 0x64707265
	version     = 2
)

// timeFormat is that of times in the file.
const timeFormat = time.RFC3339

// A cost is never changed, no charge is taken back, and a total is set once.
const tables = `
CREATE TABLE budget (
	one        INTEGER PRIMARY KEY CHECK (one = 1),
	data       TEXT NOT NULL,
	neighbours TEXT NOT NULL,
	epsilon    TEXT NOT NULL,
	delta      TEXT NOT NULL,
	filter     TEXT NOT NULL
) STRICT;
CREATE TABLE charge (
	number      INTEGER PRIMARY KEY,
	time        TEXT NOT NULL,
	release     TEXT NOT NULL,
	noise       TEXT NOT NULL,
	epsilon     TEXT NOT NULL,
	delta       TEXT NOT NULL,
	sensitivity REAL NOT NULL,
	scale       REAL NOT NULL,
	written     INTEGER NOT NULL
) STRICT;
CREATE TRIGGER budget_is_kept BEFORE DELETE ON budget BEGIN SELECT RAISE(ABORT, 'the budget stays as it is'); END;
CREATE TRIGGER cost_stays BEFORE UPDATE OF number, time, release, noise, epsilon, delta, sensitivity, scale ON charge
	BEGIN SELECT RAISE(ABORT, 'what was charged stays charged'); END;
CREATE TRIGGER charge_is_kept BEFORE DELETE ON charge BEGIN SELECT RAISE(ABORT, 'what was charged stays charged'); END;
CREATE TABLE event (
	number INTEGER PRIMARY KEY,
	text   TEXT NOT NULL,
	hash   TEXT NOT NULL
) STRICT;
CREATE TABLE secret (
	one INTEGER PRIMARY KEY CHECK (one = 1),
	id  TEXT NOT NULL,
	key BLOB NOT NULL
) STRICT;
CREATE TABLE mark (
	name TEXT PRIMARY KEY,
	sum  BLOB NOT NULL
) STRICT;
CREATE TRIGGER budget_stays BEFORE UPDATE ON budget
	WHEN OLD.epsilon <> '' OR NEW.data <> OLD.data OR NEW.neighbours <> OLD.neighbours
	BEGIN SELECT RAISE(ABORT, 'the budget stays as it is'); END;
CREATE TRIGGER event_stays BEFORE UPDATE ON event BEGIN SELECT RAISE(ABORT, 'what happened stays'); END;
CREATE TRIGGER event_is_kept BEFORE DELETE ON event BEGIN SELECT RAISE(ABORT, 'what happened stays'); END;
CREATE TRIGGER secret_stays BEFORE UPDATE ON secret BEGIN SELECT RAISE(ABORT, 'the key stays'); END;
CREATE TRIGGER secret_is_kept BEFORE DELETE ON secret BEGIN SELECT RAISE(ABORT, 'the key stays'); END;`

// wait is for how long a process waits for others that write; tests shorten it. SQLite's own
// waiting cannot be interrupted: it lasts a moment, and patiently has it begin again.
var (
	wait   = 30 * time.Second
	moment = 100 * time.Millisecond
)

// connect opens the file, which must exist. synchronous=EXTRA and fullfsync put a
// transaction on to the disk before it ends, the removal of its journal too; all
// transactions are immediate: whoever reads what is left is the one who may write.
func connect(path string) (*sql.DB, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	name := filepath.ToSlash(absolute)
	if !strings.HasPrefix(name, "/") {
		name = "/" + name // of a Windows drive
	}
	u := url.URL{Scheme: "file", Path: name, RawQuery: url.Values{
		"mode":    {"rw"},
		"_txlock": {"immediate"},
		"_pragma": {fmt.Sprintf("busy_timeout(%d)", moment.Milliseconds()), "synchronous(EXTRA)", "fullfsync(1)", "trusted_schema(0)"},
	}.Encode()}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// Open opens a ledger. What others than its owner may do with
// the file is taken from them. An error wraps ErrUnusable where the file is none that can
// serve: missing, no ledger, of another version, open to others whatever is done.
func Open(ctx context.Context, path string) (*Ledger, error) {
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, unusable("%s: there is no such ledger", path)
	case err != nil:
		return nil, unusable("%w", err)
	case !info.Mode().IsRegular():
		return nil, unusable("%s is not a regular file", path)
	}
	db, err := connect(path)
	if err != nil {
		return nil, plain(path, err)
	}
	l := &Ledger{path: path, db: db}
	if err = l.identify(ctx); err == nil {
		l.Taken, err = keepToOwner(path)
	}
	if err == nil {
		err = checkAlone(path)
	}
	if err != nil {
		db.Close()
		return nil, err
	}
	return l, nil
}

// keepToOwner takes the rights of all but the owner from a ledger: who can open it can keep
// others from writing. What a killed run left beside it loses them too; SQLite gives what it
// makes anew those of the ledger. taken tells whether there were any. Windows has none.
func keepToOwner(path string) (taken bool, _ error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	const others = 0o077
	for _, beside := range []string{"", "-journal", "-wal", "-shm"} {
		info, err := os.Stat(path + beside)
		if err == nil && info.Mode().Perm()&others != 0 {
			err = os.Chmod(path+beside, info.Mode().Perm()&^others)
			taken = true
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, unusable("other users can open %s%s, and so keep releases waiting: its owner can forbid it, by chmod 600 (%w)", path, beside, files.Plain(err))
		}
	}
	return taken, nil
}

// identify looks whether the file is a ledger.
func (l *Ledger) identify(ctx context.Context) error {
	var id, v int
	err := l.patiently(ctx, func() error {
		return l.db.QueryRowContext(ctx, "SELECT application_id, user_version FROM pragma_application_id, pragma_user_version").Scan(&id, &v)
	})
	switch {
	case err != nil:
		return err
	case id != application:
		return unusable("%s is not a ledger of dpreg", l.path)
	case v != version:
		return unusable("%s is a ledger of version %d, and this dpreg knows version %d only", l.path, v, version)
	}
	return nil
}

// Close closes the file.
func (l *Ledger) Close() error { return l.db.Close() }

// SetWritten notes that the release of a charge was written.
func (l *Ledger) SetWritten(ctx context.Context, number int64) error {
	writing.RLock()
	defer writing.RUnlock()
	return l.patiently(ctx, func() error {
		_, err := l.db.ExecContext(ctx, "UPDATE charge SET written = 1 WHERE number = ?", number)
		return err
	})
}

// patiently does something until no other process keeps it from that, or ctx is done, or it
// took too long, and says what an error of SQLite means.
func (l *Ledger) patiently(ctx context.Context, do func() error) error {
	for start := time.Now(); ; {
		err := do()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !isBusy(err) || time.Since(start) > wait:
			return plain(l.path, err)
		}
	}
}

// text writes a decimal exactly, and nil as nothing.
func text(x *big.Rat) string {
	if x == nil {
		return ""
	}
	digits, _ := x.FloatPrec()
	return x.FloatString(digits)
}

// parse reads what text wrote; nil if that is no number.
func parse(text string) *big.Rat {
	x, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil
	}
	return x
}

// Create makes a ledger that has nothing charged, for its owner alone, all or nothing: it
// is made beside the path and linked to it. Errors: a budget that is none, a path where something
// stands (wraps fs.ErrExist: a ledger is never overwritten), one that cannot be
// written.
func Create(ctx context.Context, path string, b Budget) error {
	return CreateWith(ctx, path, b, NewKey())
}

// CreateWith is Create with a key under which rows were marked already.
func CreateWith(ctx context.Context, path string, b Budget, key Key) error {
	if err := b.check(); err != nil {
		return unusable("%w", err)
	}
	if _, err := os.Lstat(path); err == nil {
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	writing.RLock()
	defer writing.RUnlock()
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".new-*.tmp")
	if err != nil {
		return unusable("no ledger was made at %s: %w", path, files.Plain(err))
	}
	defer os.Remove(f.Name())
	err = f.Chmod(0o600)
	if err = errors.Join(err, f.Close()); err == nil {
		err = fill(ctx, f.Name(), b, key)
	}
	if err == nil {
		err = files.MoveNew(f.Name(), path)
	}
	if err == nil {
		err = files.SyncDir(dir)
	}
	if err != nil {
		return fmt.Errorf("no ledger was made at %s: %w", path, files.Plain(err))
	}
	return nil
}

// fill makes a ledger of an empty file.
func fill(ctx context.Context, path string, b Budget, key Key) error {
	db, err := connect(path)
	if err != nil {
		return err
	}
	defer db.Close()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	mark := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", application, version)
	if _, err := tx.ExecContext(ctx, mark+tables); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO budget (one, data, neighbours, epsilon, delta, filter) VALUES (1, ?, ?, ?, ?, ?)",
		b.Data, b.Neighbours, text(b.Epsilon), text(b.Delta), b.Filter)
	if err != nil {
		return err
	}
	if err := begin(ctx, tx, b, key); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	return db.Close()
}

// begin writes the key, and the chain's first links.
func begin(ctx context.Context, x executor, b Budget, key Key) error {
	sum := sha256.Sum256(fmt.Appendf(nil, "dpreg ledger %x", key))
	id := fmt.Sprintf("%x", sum[:8]) // the chain has it, a hash of the key
	if _, err := x.ExecContext(ctx, "INSERT INTO secret (one, id, key) VALUES (1, ?, ?)", id, key[:]); err != nil {
		return err
	}
	head, err := chain(ctx, x, "", b.event(id))
	if err == nil && b.Epsilon != nil {
		_, err = chain(ctx, x, head, b.totalEvent())
	}
	return err
}
