package table

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"iter"
	"os"

	"github.com/dpreg/dpreg/schema"
)

// Source is where the rows of a table are: files that have its columns, in any order
// and form. It is not safe for concurrent use, but for one Scan's own.
type Source struct {
	Name  string // what errors about all of it call it
	Files []File

	// Done, where it is not nil, ends what has no context of its own and waits for
	// standard input.
	Done <-chan struct{}

	// Progress, where it is not nil, is told of bytes of the files that were read since
	// the last call, before they are unpacked. Several goroutines call it.
	Progress func(bytes int64)

	stdin    *stdin
	enclosed *enclosed
	numbered bool // errors give numbers for names, which may be a row: nobody gave one to Header
}

// File is one of the files of a source.
type File struct {
	Path   string // Stdin is standard input
	Format Format
}

// Format is the form of a file.
type Format string

// The forms of files. Comma-separated values may be packed by gzip or zstd, which is
// seen from their beginning.
const (
	CSVFormat     Format = "csv"
	ParquetFormat Format = "parquet"
)

// Stdin names standard input among paths.
const Stdin = "-"

// Once tells whether the rows can be read once only.
func (s *Source) Once() bool { return s.stdin != nil }

// Stat tells of each file what changes when the file does; of standard input nothing.
func (s *Source) Stat() ([]fs.FileInfo, error) {
	var infos []fs.FileInfo
	for _, f := range s.Files {
		if f.Path == Stdin {
			continue
		}
		info, err := os.Stat(f.Path)
		if err != nil {
			return nil, err
		}
		infos = append(infos, info)
	}
	return infos, nil
}

// Header reads the names of the columns of the first file, as the function of that name
// does; the rows can be read after it. Of standard input it waits for some, or until
// s.Done is closed: context.Canceled.
func (s *Source) Header(known ...string) ([]string, error) {
	first := s.Files[0]
	s.numbered = len(known) == 0 && first.Format != ParquetFormat
	switch {
	case first.Path == Stdin:
		s.stdin.until(s.Done)
		start, err := s.stdin.Peek(maxRecord)
		if err != nil && err != io.EOF {
			return nil, &Error{File: s.Name, Err: err}
		}
		r, err := unpacked(bytes.NewReader(start))
		if err != nil {
			return nil, &Error{File: s.Name, Err: err}
		}
		return Header(r, s.Name, known...)
	case first.Format == ParquetFormat:
		f, err := openParquetFile(first.Path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return f.header()
	}
	f, err := os.Open(first.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := unpacked(f)
	if err != nil {
		return nil, &Error{File: first.Path, Err: err}
	}
	return Header(r, first.Path, known...)
}

// Rows is Options.CSV for a source: it yields the rows of one file after another.
func (o Options) Rows(s *Source, d *schema.Design) iter.Seq2[[]float64, error] {
	return func(yield func([]float64, error) bool) {
		w, err := o.scaled(d)
		if err != nil {
			yield(nil, err)
			return
		}
		s.scan(w).each(s.Name, len(w.columns), yield)
	}
}

// Values is Rows in the data's units and not clamped, of these columns and factors.
// A missing cell is the middle of the column's bounds, NaN where it has none, if
// o.Missing is Midpoint.
func (o Options) Values(s *Source, columns []schema.Column, factors []schema.Factor) iter.Seq2[[]float64, error] {
	return func(yield func([]float64, error) bool) {
		o, err := o.Settle()
		if err != nil {
			yield(nil, err)
			return
		}
		s.scan(wanted{columns: columns, factors: factors, options: o}).each(s.Name, len(columns), yield)
	}
}

// Scan is Rows by several workers at once, as many as there are sinks, each in a
// goroutine of its own. A sink gets rows that lie one after another, of m values each,
// in a slice that is used again. Which rows it gets, and in what order, may differ from
// run to run; all sinks together get each row once. The error is that of Rows, whatever
// the number of workers, or the first one of a sink, or ctx.Err(); rows that come after
// what is wrong may have been handed on then. It panics without a sink.
func (o Options) Scan(ctx context.Context, s *Source, d *schema.Design, sinks ...func(rows []float64) error) error {
	w, err := o.scaled(d)
	if err != nil {
		return err
	}
	workers := make([]*worker, len(sinks))
	for i, sink := range sinks {
		workers[i] = newWorker(ctx, len(w.columns), sink)
	}
	all := s.scan(w)
	if s.stdin != nil {
		s.stdin.until(ctx.Done())
	}
	return all.run(ctx, s.Name, workers)
}

// Warning is what a user should know of the rows that were read last, nil where there is
// nothing: *Error of Enclosed, without a cell.
func (s *Source) Warning() error { return s.enclosed.warning() }

func (s *Source) scan(w wanted) *scan {
	if s.stdin != nil {
		s.stdin.until(s.Done)
	}
	all := scan{empty: w.options.Empty}
	s.enclosed = &enclosed{}
	w.enclosed, w.numbered = s.enclosed, s.numbered
	for _, f := range s.Files {
		all.add(func() (rowsFile, io.Closer, error) { return s.open(f, w) })
	}
	return &all
}

func (s *Source) open(f File, w wanted) (rowsFile, io.Closer, error) {
	if f.Format == ParquetFormat {
		return openParquet(f.Path, w, s.progress)
	}
	r, name, closer := io.Reader(s.stdin), s.Name, io.Closer(nil)
	if f.Path != Stdin {
		file, err := os.Open(f.Path)
		if err != nil {
			return nil, nil, err
		}
		r, name, closer = file, f.Path, file
	}
	r, err := unpacked(&countingReader{r, s.progress})
	if err != nil {
		return nil, closer, &Error{File: name, Err: err}
	}
	rows, err := openCSV(newBlockReader(r, name), w)
	return rows, closer, err
}

func (s *Source) progress(bytes int64) {
	if s.Progress != nil {
		s.Progress(bytes)
	}
}

// countingReader tells how much is read.
type countingReader struct {
	io.Reader
	tell func(bytes int64)
}

func (c *countingReader) Read(p []byte) (n int, err error) {
	n, err = c.Reader.Read(p)
	c.tell(int64(n))
	return n, err
}
