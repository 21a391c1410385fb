package release

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// WriteFile writes the release to a file, mode 0644, all or nothing: it is
// written beside the target, synced, and renamed over it, so that a crash
// leaves the old file or the new one, and a failure leaves nothing behind.
// A target that exists and is not a regular file is refused. Errors name the
// file.
func (r *Release) WriteFile(path string) error {
	target, err := resolve(path)
	if err != nil {
		return fmt.Errorf("release not written: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+".*.tmp")
	if err != nil {
		return fmt.Errorf("release not written to %s: %w", path, reason(err))
	}
	if err := r.fill(f); err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := os.Rename(f.Name(), target); err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("release not written: %w", err)
	}
	if err := syncDir(filepath.Dir(target)); err != nil {
		return fmt.Errorf("%s: written, but a crash may still undo it: %w", path, err)
	}
	return nil
}

// resolve follows a link to the file that is to be replaced.
func resolve(path string) (string, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file", path)
	}
	return filepath.EvalSymlinks(path)
}

// fill writes the release to f, with its final mode, on to the disk.
func (r *Release) fill(f *os.File) error {
	_, err := r.WriteTo(f)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncDir makes the renaming itself durable. Windows cannot sync a directory.
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

// reason takes the temporary file's name, which means nothing to a user, out
// of an error.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
