package ledger

import (
	"context"
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
	if err := b.check(); err != nil {
		return unusable("%w", err)
	}
	if _, err := os.Lstat(path); err == nil {
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".new-*.tmp")
	if err != nil {
		return unusable("no ledger was made at %s: %w", path, files.Plain(err))
	}
	defer os.Remove(f.Name())
	err = f.Chmod(0o600)
	if err = errors.Join(err, f.Close()); err == nil {
		err = fill(ctx, f.Name(), b)
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
func fill(ctx context.Context, path string, b Budget) error {
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
	if err := tx.Commit(); err != nil {
		return err
	}
	return db.Close()
}
