// Package files writes files all or nothing, and knows beforehand whether it can.
package files

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// CheckWritable tells, before anything is read or spent, whether a file can be
// written: as all files here are, beside it and renamed.
func CheckWritable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return fmt.Errorf("cannot write to %s: it is not a regular file", path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if errors.Is(err, fs.ErrNotExist) && IsLink(path) {
		return fmt.Errorf("cannot write to %s: it is a link to a file that is not there", path)
	}
	f, err := createBeside(path)
	if err != nil {
		return fmt.Errorf("cannot write to %s: %w", path, Plain(err))
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// IsLink reports whether a path names a symbolic link, wherever it leads.
func IsLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// createBeside creates the file that will be renamed to path. No release is
// written so: release.Leftovers must not take it for one.
func createBeside(path string) (*os.File, error) {
	return os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".new-*.tmp")
}

// Write writes a file all or nothing: beside the target, synced, renamed.
func Write(path string, mode fs.FileMode, write func(io.Writer) error) error {
	f, err := createBeside(path)
	if err != nil {
		return fmt.Errorf("cannot write to %s: %w", path, Plain(err))
	}
	out := bufio.NewWriter(f)
	err = write(out)
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("cannot write to %s: %w", path, Plain(err))
	}
	return nil
}

// Plain takes the temporary file's name out of an error.
func Plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Same reports whether two paths lead to one file, which need not exist yet.
func Same(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return os.SameFile(x, y)
	}
	if filepath.Base(a) != filepath.Base(b) {
		return false
	}
	x, errA = os.Stat(filepath.Dir(a))
	y, errB = os.Stat(filepath.Dir(b))
	return errA == nil && errB == nil && os.SameFile(x, y)
}

// Quoted quotes a word for a POSIX shell where that is needed.
func Quoted(word string) string {
	const harmless = "_./:=-,+%@"
	special := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(harmless, r))
	}
	if word != "" && strings.IndexFunc(word, special) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
