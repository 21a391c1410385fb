package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/table"
)

// Modes of files: what a release made known already, and what came from the rows
// without noise.
const (
	public  fs.FileMode = 0o644
	private fs.FileMode = 0o600
)

// checkWritable tells, before anything is read or spent, whether a file can be written.
func checkWritable(path string) error { return usage(files.CheckWritable(path)) }

// inputs are the files that a run reads or has paid for, none of which its
// results may overwrite.
type inputs []string

// spare refuses a path that names one of them, by whatever name.
func (in inputs) spare(path string) error {
	for _, name := range in {
		if name != "" && files.Same(path, name) {
			return usagef("%s would be overwritten: this run reads or makes it; choose another name or directory", name)
		}
	}
	return nil
}

// besides is a file beside the data: data.csv, and the directory data, become data +
// suffix. It is empty where there is no such place: standard input, patterns of files
// and what has no name are nowhere.
func besides(data, suffix string) string {
	info, err := os.Stat(data)
	fitting, _ := filepath.Glob(data)
	switch {
	case data == "", data == table.Stdin, errors.Is(err, fs.ErrNotExist) && fitting != nil:
		return ""
	case err == nil && info.IsDir():
		if path, err := filepath.Abs(data); err == nil && filepath.Base(data) != filepath.Base(path) {
			data = path // . or ..
		}
		return filepath.Clean(data) + suffix
	}
	return table.Stem(data) + suffix
}
