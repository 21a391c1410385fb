package ledger

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dpreg/dpreg/internal/files"
)

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
	if _, err := begin(ctx, tx, b, key); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	return db.Close()
}

// begin writes the key, and the chain's first links.
func begin(ctx context.Context, x executor, b Budget, key Key) (head string, err error) {
	sum := sha256.Sum256(fmt.Appendf(nil, "dpreg ledger %x", key))
	id := fmt.Sprintf("%x", sum[:8]) // the chain has it, a hash of the key
	if _, err = x.ExecContext(ctx, "INSERT INTO secret (one, id, key) VALUES (1, ?, ?)", id, key[:]); err == nil {
		head, err = chain(ctx, x, "", b.event(id))
	}
	if err == nil && b.Epsilon != nil {
		head, err = chain(ctx, x, head, b.totalEvent())
	}
	return head, err
}
