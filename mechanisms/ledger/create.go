package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
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
		return unusable("no ledger was made at %s: %w", path, reason(err))
	}
	defer os.Remove(f.Name())
	err = f.Chmod(0o600)
	if err = errors.Join(err, f.Close()); err == nil {
		err = fill(ctx, f.Name(), b)
	}
	if err == nil {
		err = move(f.Name(), path)
	}
	if err == nil {
		err = syncDir(dir)
	}
	if err != nil {
		return fmt.Errorf("no ledger was made at %s: %w", path, reason(err))
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

// move renames a file to a name that must not exist. Linking never replaces a file;
// where the file system has no links, an empty file claims the name.
func move(from, to string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	claim, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(claim.Close(), os.Rename(from, to)); err != nil {
		os.Remove(to)
		return err
	}
	return nil
}

// syncDir makes the new name durable. Windows cannot sync a directory.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// reason takes the temporary file's name, which means nothing to a user, out of an
// error.
func reason(err error) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		return p.Err
	case errors.As(err, &l):
		return l.Err
	}
	return err
}
