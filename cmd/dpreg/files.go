package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// checkWritable tells, before anything is read or spent, whether a file can be
// written: as all files here are, beside it and renamed.
func checkWritable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return usagef("cannot write to %s: it is not a regular file", path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return usage(err)
	}
	if errors.Is(err, fs.ErrNotExist) && isLink(path) {
		return usagef("cannot write to %s: it is a link to a file that is not there", path)
	}
	f, err := createBeside(path)
	if err != nil {
		return usagef("cannot write to %s: %w", path, plain(err))
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// Modes of files: what a release made known already, and what came from the rows
// without noise.
const (
	public  fs.FileMode = 0o644
	private fs.FileMode = 0o600
)

// isLink reports whether a path names a symbolic link, wherever it leads.
func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// createBeside creates the file that will be renamed to path. No release is
// written so: release.Leftovers must not take it for one.
func createBeside(path string) (*os.File, error) {
	return os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".new-*.tmp")
}

// writeFile writes a file all or nothing: beside the target, synced, renamed.
func writeFile(path string, mode fs.FileMode, write func(io.Writer) error) error {
	f, err := createBeside(path)
	if err != nil {
		return fmt.Errorf("cannot write to %s: %w", path, plain(err))
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
		return fmt.Errorf("cannot write to %s: %w", path, plain(err))
	}
	return nil
}

// plain takes the temporary file's name out of an error.
func plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// inputs are the files that a run reads or has paid for, none of which its
// results may overwrite.
type inputs []string

// spare refuses a path that names one of them, by whatever name.
func (in inputs) spare(path string) error {
	for _, name := range in {
		if name != "" && sameFile(path, name) {
			return usagef("%s would be overwritten: this run reads or makes it; choose another name or directory", name)
		}
	}
	return nil
}

// sameFile reports whether two paths lead to one file, which need not exist yet.
func sameFile(a, b string) bool {
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
