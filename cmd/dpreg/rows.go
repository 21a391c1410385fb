package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/table"
)

const rowsHelp = `DATA is a file of comma-separated values, packed by gzip or zstd or not, or a
.parquet file; a directory or a quoted pattern of such files ('part-*.csv'), which
together are one table; or -, standard input.`

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
