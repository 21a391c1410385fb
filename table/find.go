package table

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Find gives the source that a user names: a file; Stdin; a directory, of which all
// files are taken whose names end in .csv, .csv.gz, .csv.zst or .parquet; or a pattern
// of files (filepath.Match), where there is no file of that name. Files are in the
// order of their names. Those of a directory that begin with a dot or an underscore
// are passed over, and so are its .json files, which schemas and releases are; any
// other file is an error, lest rows are left out. What ends in .parquet is Parquet,
// all else comma-separated values.
//
// Errors besides: a file that is none, a pattern or directory without files.
func Find(name string) (*Source, error) {
	if name == Stdin {
		return &Source{Name: "standard input", Files: []File{{Stdin, CSVFormat}}, stdin: newStdin(os.Stdin)}, nil
	}
	paths, err := find(name)
	if err != nil {
		return nil, err
	}
	s := &Source{Name: name}
	for _, path := range paths {
		if info, err := os.Stat(path); err != nil {
			return nil, err
		} else if !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is not a regular file: its age is compared with the release's, and it may be read twice; what comes through a pipe goes to standard input, which is called %s", path, Stdin)
		}
		s.Files = append(s.Files, File{path, formatOf(path)})
	}
	return s, nil
}

func find(name string) ([]string, error) {
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return findInside(name)
	case errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(name, "*?["):
		paths, err := filepath.Glob(name)
		if err == nil && paths == nil {
			err = fmt.Errorf("%s: there is no such file, and none that this pattern fits", name)
		}
		return paths, err
	}
	return []string{name}, nil
}

func findInside(folder string) (paths []string, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name := e.Name()
		switch {
		case strings.HasPrefix(name, "."), strings.HasPrefix(name, "_"), strings.HasSuffix(name, ".json"):
		case known(name):
			paths = append(paths, filepath.Join(folder, name))
		default:
			return nil, fmt.Errorf("%s: %q is none of .csv, .csv.gz, .csv.zst and .parquet, and rows are not to be left out: remove it, or name the files by a pattern", folder, name)
		}
	}
	if paths == nil {
		return nil, fmt.Errorf("%s: there is no .csv, .csv.gz, .csv.zst or .parquet file in this directory", folder)
	}
	return paths, nil
}

// Stem is a path without what tells the form of the file: data of data.csv.gz.
func Stem(path string) string {
	packed := strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".zst")
	return strings.TrimSuffix(packed, filepath.Ext(packed))
}

// known tells whether a name has an ending that files of rows have.
func known(name string) bool {
	return slices.Contains([]string{".csv", ".csv.gz", ".csv.zst", ".parquet"}, strings.TrimPrefix(name, Stem(name)))
}

func formatOf(path string) Format {
	if filepath.Ext(path) == ".parquet" {
		return ParquetFormat
	}
	return CSVFormat
}

// stdin is standard input, of which the beginning can be looked at. Nothing but its end
// ends a read of a terminal or of a pipe, so a goroutine reads it, and who waits can be
// interrupted; then it is left behind.
type stdin struct {
	*bufio.Reader
	out *io.PipeWriter
}

func newStdin(r io.Reader) *stdin {
	in, out := io.Pipe()
	go func() {
		_, err := io.Copy(out, r)
		out.CloseWithError(err)
	}()
	return &stdin{bufio.NewReaderSize(in, maxRecord), out}
}

// until ends reads once done is closed; nil never is.
func (s *stdin) until(done <-chan struct{}) {
	if done != nil {
		go func() {
			<-done
			s.out.CloseWithError(context.Canceled)
		}()
	}
}
