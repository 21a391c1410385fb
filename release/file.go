package release

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// WriteFile writes the release to a file, mode 0644, all or nothing: it is
// written beside the target, synced, and renamed over it, so that a crash
// leaves the old file or the new one, and a failure leaves nothing behind.
// A target that exists and is not a regular file is refused. Errors name the
// file. Only a process that is killed can leave what Leftovers finds.
func (r *Release) WriteFile(path string) error { return r.place(path, os.Rename) }

// WriteNewFile is WriteFile for a target that must not exist: of several
// writers at once one succeeds, and the others get an error that wraps
// fs.ErrExist and have written nothing, however close the race. A release that
// was paid for is so never overwritten by another.
func (r *Release) WriteNewFile(path string) error { return r.place(path, moveNew) }

// place writes the release beside the target and lets move put it there.
func (r *Release) place(path string, move func(from, to string) error) error {
	target, err := resolve(path)
	if err != nil {
		return fmt.Errorf("release not written: %w", err)
	}
	if err := r.Validate(); err != nil {
		return fmt.Errorf("%s: release not written: %w", path, err)
	}
	before, after := temporary(target)
	f, err := os.CreateTemp(filepath.Dir(target), before+"*"+after)
	if err != nil {
		return fmt.Errorf("release not written to %s: %w", path, reason(err))
	}
	err = r.fill(f)
	if err == nil {
		err = move(f.Name(), target)
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("release not written to %s: %w", path, reason(err))
	}
	if err := syncDir(filepath.Dir(target)); err != nil {
		return fmt.Errorf("%s: written, but a crash may still undo it: %w", path, err)
	}
	return nil
}

// temporary is what stands around a number in the name of a file that is
// written beside the target.
func temporary(target string) (before, after string) {
	return "." + filepath.Base(target) + ".", ".tmp"
}

// Leftovers lists what writers of this file left beside it because they were
// killed, or write at this moment. Each may be a release whose noise was drawn:
// published beside another one of the same rows, its ε counts too.
func Leftovers(path string) ([]string, error) {
	target, err := resolve(path)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(target)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	before, after := temporary(target)
	var left []string
	for _, e := range entries {
		unique, ok := strings.CutPrefix(e.Name(), before)
		unique, suffixed := strings.CutSuffix(unique, after)
		if ok && suffixed && strings.Trim(unique, "0123456789") == "" {
			left = append(left, filepath.Join(dir, e.Name()))
		}
	}
	return left, nil
}

// moveNew renames from to to, which must not exist: unlike renaming, linking
// never replaces a file.
func moveNew(from, to string) error {
	err := os.Link(from, to)
	if err == nil {
		os.Remove(from) // only a second name of the same release
		return nil
	}
	if errors.Is(err, fs.ErrExist) {
		return err
	}
	return claimNew(from, to)
}

// claimNew is moveNew where the file system has no hard links (FAT, some network
// disks): an empty file claims the name, and it is the claim that is replaced.
func claimNew(from, to string) error {
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

// resolve follows a link to the file that is to be replaced. A link that leads
// nowhere is refused: there may be a release on a disk that is not mounted.
func resolve(path string) (string, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if link, err := os.Lstat(path); err == nil && link.Mode()&fs.ModeSymlink != 0 {
			return "", fmt.Errorf("%s is a link to a file that is not there (is a disk not mounted?)", path)
		}
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
	var l *os.LinkError
	if errors.As(err, &l) {
		return l.Err
	}
	return err
}
