package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

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

// states are those of the files of a source, by which a change is seen.
type states []fs.FileInfo

func statesOf(s *table.Source) (states, error) {
	infos, err := s.Stat()
	return infos, usage(err)
}

func (s states) same(other states) bool {
	return slices.EqualFunc(s, other, func(a, b fs.FileInfo) bool {
		return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
	})
}

func (s states) size() (bytes int64) {
	for _, info := range s {
		bytes += info.Size()
	}
	return bytes
}

// scan lets do read the rows, whose files must stay as they are meanwhile, and as they
// were where they have been read before: rows that change would make a release of no
// data set at all, which looks newer than the data.
func scan(stderr io.Writer, rows *table.Source, before states, do func() error) (states, error) {
	now, err := statesOf(rows)
	if err != nil {
		return nil, err
	}
	again := before != nil
	if !again {
		before = now
	}
	finish := readingBar(stderr, rows, now.size())
	err = do()
	finish()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, usage(table.Offer(err))
	}
	if warning := rows.Warning(); warning != nil && !again {
		note(stderr, "warning: %v", warning)
	}
	if rows.Once() {
		return before, nil
	}
	// Files may have come and gone, too.
	found, err := table.Find(rows.Name)
	if err == nil {
		now, err = found.Stat()
	}
	if err != nil || !before.same(now) {
		return nil, usagef("%s changed while it was read: nothing was made of it; run this again when it is complete", rows.Name)
	}
	return before, nil
}

// newer tells whether rows were changed after a file was written. Of standard input that
// cannot be known.
func newer(rows *table.Source, path string) (bool, error) {
	made, err := os.Stat(path)
	if err != nil {
		return false, usage(err)
	}
	changed, err := statesOf(rows)
	if err != nil {
		return false, err
	}
	if info, err := os.Stat(rows.Name); err == nil {
		changed = append(changed, info) // a directory, which a file may have left
	}
	after := func(info fs.FileInfo) bool { return info.ModTime().After(made.ModTime()) }
	return rows.Once() || slices.ContainsFunc(changed, after), nil
}
