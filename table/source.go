package table

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/dpreg/dpreg/schema"
)

// Source is where the rows of a table are: files that have its columns, in any order
// and form. It is not safe for concurrent use, but for one Scan's own.
type Source struct {
	Name  string // what errors about all of it call it
	Files []File
	Form  Form // of files of texts

	// Done, where it is not nil, ends what has no context of its own and waits for
	// standard input.
	Done <-chan struct{}

	// Marks, where it is not nil, gets the fingerprints of the rows that are read.
	Marks *Marks

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

// The forms of files. Those of text may be packed by gzip or zstd, which is seen from their
// beginning.
const (
	CSVFormat     Format = "csv"
	JSONFormat    Format = "json lines"
	ParquetFormat Format = "parquet"
	ArrowFormat   Format = "arrow"
)

// Named tells whether files of this form say what their columns are called: a line of text that
// should be names may be a row.
func (f Format) Named() bool { return f == ParquetFormat || f == ArrowFormat }

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

// Header reads the names of the columns of the first file, without schema.Space around them; the
// rows can be read after it. Of standard input it waits for some, or until s.Done is closed:
// context.Canceled. A column without a name, such as the row numbers that R and pandas write, has
// the name "".
//
// Where a file of text has no header, its first line is somebody's row, which no message may
// show. So names are handed on only if they are known to be names. known are those that the
// user gave: where all stand in the first line, it is a header, whatever else stands there.
// Where some do it is one if no field looks like a value. Where there are none to know it
// is one if, besides, there are numbers or truth values below it, or no rows at all.
//
// Errors of what is in the file are *Error, and hold no name: an empty file, a first line that looks
// like data or is not known to be none, a repeated or unfit name, several that may
// separate fields, another encoding than UTF-8.
func (s *Source) Header(known ...string) ([]string, error) {
	first := s.Files[0]
	if err := s.Form.settle(); err != nil {
		return nil, err
	}
	s.numbered = len(known) == 0 && first.Format == CSVFormat
	if first.Format.Named() {
		f, _, names, err := first.columns()
		if err != nil {
			return nil, err
		}
		return names, f.Close()
	}
	var start io.Reader
	if first.Path == Stdin {
		s.stdin.until(s.Done)
		text, err := s.stdin.Peek(maxRecord)
		if err != nil && err != io.EOF {
			return nil, &Error{File: s.Name, Err: err}
		}
		start = bytes.NewReader(text)
	}
	blocks, closer, err := s.text(first, start, func(int64) {})
	if closer != nil {
		defer closer.Close()
	}
	if err != nil {
		return nil, err
	}
	return blocks.publicNames(known)
}

// Rows is Options.CSV for a source: it yields the rows of one file after another.
func (o Options) Rows(s *Source, d *schema.Design) iter.Seq2[[]float64, error] {
	return s.rows(func() (wanted, error) { return o.scaled(d) })
}

// Values is Rows in the data's units and not clamped, of these columns and factors.
// A missing cell is the middle of the column's bounds, NaN where it has none, if
// o.Missing is Midpoint.
func (o Options) Values(s *Source, columns []schema.Column, factors []schema.Factor) iter.Seq2[[]float64, error] {
	return s.rows(func() (wanted, error) {
		o, err := o.Settle()
		o.Person = "" // nobody asks here
		return wanted{columns: columns, factors: factors, options: o}, err
	})
}

// Scan is Rows by several workers at once, as many as there are sinks, each in a
// goroutine of its own. A sink gets rows that lie one after another, of m values each,
// in a slice that is used again. Which rows it gets, and in what order, may differ from
// run to run; all sinks together get each row once. The error is that of Rows, whatever
// the number of workers, or the first one of a sink, or ctx.Err(); rows that come after
// what is wrong may have been handed on then. Where o.Person is named, rows have m + 2 values. It
// panics without a sink.
func (o Options) Scan(ctx context.Context, s *Source, d *schema.Design, sinks ...func(rows []float64) error) error {
	w, err := o.scaled(d)
	if err != nil {
		return err
	}
	workers := make([]*worker, len(sinks))
	for i, sink := range sinks {
		workers[i] = w.worker(ctx, sink)
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
	w.enclosed, w.numbered, w.marks, w.options.Form = s.enclosed, s.numbered, s.Marks, s.Form
	for _, f := range s.Files {
		all.add(func() (rowsFile, io.Closer, error) { return s.open(f, w) })
	}
	return &all
}

func (s *Source) open(f File, w wanted) (rowsFile, io.Closer, error) {
	if err := s.Form.settle(); err != nil {
		return nil, nil, err
	}
	if f.Format.Named() {
		file, columns, names, err := f.columns()
		if err != nil {
			return nil, nil, err
		}
		l, err := w.layout(f.Path, names, ',')
		if err != nil {
			return nil, file, err
		}
		rows, err := columns.rows(l, s.progress)
		return rows, file, err
	}
	blocks, closer, err := s.text(f, s.stdin, s.progress)
	if err != nil {
		return nil, closer, err
	}
	rows, err := openText(blocks, w)
	if err != nil { // nil is no file, which a *textFile in an interface would be
		return nil, closer, err
	}
	return rows, closer, nil
}

// text opens a file of text, which stdin is where that has its path. tell is told of bytes that are read.
func (s *Source) text(f File, stdin io.Reader, tell func(bytes int64)) (*blockReader, io.Closer, error) {
	r, name, closer := stdin, s.Name, io.Closer(nil)
	if f.Path != Stdin {
		file, err := os.Open(f.Path)
		if err != nil {
			return nil, nil, err
		}
		r, name, closer = file, f.Path, file
	}
	r, err := unpacked(&countingReader{r, tell})
	if err != nil {
		return nil, closer, &Error{File: name, Err: err}
	}
	blocks := s.Form.read(r, name)
	blocks.json = f.Format == JSONFormat
	return blocks, closer, nil
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

// Find gives the source that a user names: a file; Stdin; a directory, of which all
// files are taken whose names end in .csv, .tsv, .jsonl or .ndjson, perhaps with .gz or .zst,
// or in .parquet, .arrow, .arrows or .feather; or a pattern of files (filepath.Match), where
// there is no file of that name. Files are in the order of their names. Those of a directory
// that begin with a dot or an underscore are passed over, and so are its .json files, which
// schemas and releases are, and ledgers, .ledger.db; any other file is an error, lest rows are
// left out. The ending tells the form; that of a name with another one is comma-separated
// values.
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
		format, _ := formatOf(path)
		s.Files = append(s.Files, File{path, format})
	}
	return s, nil
}

// formatOf tells the form of a file by its name, and whether that has an ending that files of rows have.
func formatOf(path string) (f Format, known bool) {
	whole := unpackedName(path)
	switch filepath.Ext(whole) {
	case ".parquet":
		return ParquetFormat, whole == path
	case ".arrow", ".arrows", ".feather":
		return ArrowFormat, whole == path
	case ".jsonl", ".ndjson":
		return JSONFormat, true
	case ".csv", ".tsv":
		return CSVFormat, true
	}
	return CSVFormat, false
}

// unpackedName is a path without what tells that the file is packed.
func unpackedName(path string) string {
	return strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".zst")
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
		_, known := formatOf(name)
		switch {
		case strings.HasPrefix(name, "."), strings.HasPrefix(name, "_"), strings.HasSuffix(name, ".json"), strings.HasSuffix(name, ".ledger.db"):
		case known:
			paths = append(paths, filepath.Join(folder, name))
		default:
			return nil, fmt.Errorf("%s: %q is none of .csv, .tsv, .jsonl and .ndjson, packed as .gz or .zst or not, .parquet, .arrow, .arrows and .feather, and rows are not to be left out: remove it, or name the files by a pattern", folder, name)
		}
	}
	if paths == nil {
		return nil, fmt.Errorf("%s: there is no .csv, .tsv, .jsonl, .ndjson, .parquet, .arrow, .arrows or .feather file in this directory", folder)
	}
	return paths, nil
}

// Stem is a path without what tells the form of the file: data of data.csv.gz.
func Stem(path string) string {
	whole := unpackedName(path)
	return strings.TrimSuffix(whole, filepath.Ext(whole))
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

// No text begins so that a header could be made of it.
const (
	gzipMagic = "\x1f\x8b"
	zstdMagic = "\x28\xb5\x2f\xfd"
)

// maxWindow bounds the memory that a file packed by zstd may ask for, in bytes.
const maxWindow = 64 << 20

// unpacked reads what r packs, by gzip or zstd, or r itself where it does neither.
// Memory is bounded, whatever r holds.
func unpacked(r io.Reader) (io.Reader, error) {
	buffered := bufio.NewReaderSize(r, 1<<16)
	start, _ := buffered.Peek(len(zstdMagic)) // an error comes again
	switch {
	case len(start) >= 2 && string(start[:2]) == gzipMagic:
		return gzip.NewReader(buffered)
	case string(start) == zstdMagic:
		return zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	}
	return buffered, nil
}
