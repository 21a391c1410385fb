package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/schema"
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

// writeFile writes a file all or nothing.
func writeFile(path string, mode fs.FileMode, write func(io.Writer) error) error {
	return files.Write(path, mode, write)
}

// shellWord quotes a word for a POSIX shell where that is needed.
func shellWord(word string) string { return files.Quoted(word) }

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

// findRows finds the rows that data names.
func findRows(data string) (*table.Source, error) {
	s, err := table.Find(data)
	return s, usage(err)
}

// header gives the columns of a source, without bounds. known are names that the user
// gave.
func header(s *table.Source, known []string) (*schema.Schema, error) {
	names, err := s.Header(known...)
	if err != nil {
		return nil, usage(err)
	}
	columns, err := schema.FromHeader(names)
	if err != nil {
		return nil, usage(fmt.Errorf("%s: %w", s.Name, err))
	}
	return columns, nil
}

// besides is a file beside the data: data.csv, and the directory data, become data +
// suffix. It is empty where there is no such place: standard input, patterns of files
// and what has no name are nowhere.
func besides(data, suffix string) string {
	info, err := os.Stat(data)
	switch {
	case data == "", data == table.Stdin, errors.Is(err, fs.ErrNotExist) && isPattern(data):
		return ""
	case err == nil && info.IsDir():
		if path, err := filepath.Abs(data); err == nil && filepath.Base(data) != filepath.Base(path) {
			data = path // . or ..
		}
		return filepath.Clean(data) + suffix
	}
	return table.Stem(data) + suffix
}

func isPattern(data string) bool {
	paths, err := filepath.Glob(data)
	return err == nil && paths != nil
}
