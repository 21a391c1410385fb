package main

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

// besides is a file beside the data: data.csv becomes data + suffix.
func besides(data, suffix string) string {
	return strings.TrimSuffix(data, filepath.Ext(data)) + suffix
}

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
	f, err := os.CreateTemp(filepath.Dir(path), ".dpreg-*.tmp")
	if err != nil {
		return usagef("cannot write to %s: %w", path, plain(err))
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// writeFile writes a file all or nothing: beside the target, then renamed.
func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return fmt.Errorf("cannot write to %s: %w", path, plain(err))
	}
	out := bufio.NewWriter(f)
	err = write(out)
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		err = f.Chmod(0o644)
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
