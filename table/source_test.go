package table

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/schema"
)

// write makes a file, packed as its name says.
func write(t *testing.T, path, text string) string {
	t.Helper()
	f := must.Get(os.Create(path))(t)
	var out io.WriteCloser = f
	switch filepath.Ext(path) {
	case ".gz":
		out = gzip.NewWriter(f)
	case ".zst":
		out = must.Get(zstd.NewWriter(f))(t)
	}
	must.Get(io.WriteString(out, text))(t)
	must.Do(t, errors.Join(out.Close()))
	return path
}

func find1(t testing.TB, name string) *Source {
	t.Helper()
	return must.Get(Find(name))(t)
}

// all reads the rows of a source, one after another.
func all(s *Source) ([][]float64, error) { return copied(Options{}.Rows(s, design())) }

var (
	parts = []string{"x,y\n0,0.5\n5,-1\n", "y,name,x\n1,a,10\n", "x,y\n", "x,y\r\n\"2.5\",0\r\n"}
	whole = [][]float64{{-1, 0.5}, {0, -1}, {1, 1}, {-0.5, 0}}
)

// Files of a directory or of a pattern, in other orders of columns, packed or not.
func TestFind(t *testing.T) {
	folder := t.TempDir()
	for i, name := range []string{"a.csv", "b.csv.gz", "c.csv.zst", "d.csv"} {
		write(t, filepath.Join(folder, name), parts[i])
	}
	for _, name := range []string{".hidden", "_SUCCESS", "data.schema.json"} {
		write(t, filepath.Join(folder, name), "nothing")
	}
	for _, name := range []string{folder, filepath.Join(folder, "[abcd].csv*")} {
		s := find1(t, name)
		rows, err := all(s)
		if err != nil || !sameRows(rows, whole) {
			t.Errorf("%s: %v, %v, want %v", name, rows, err, whole)
		}
		if header, err := s.Header(); err != nil || strings.Join(header, ",") != "x,y" {
			t.Errorf("%s: header %q, %v", name, header, err)
		}
		if infos, err := s.Stat(); err != nil || len(infos) != 4 || s.Once() {
			t.Errorf("%s: %d infos, %v", name, len(infos), err)
		}
	}
	write(t, filepath.Join(folder, "e.csv.bz2"), "nothing")
	for name, want := range map[string]string{
		folder:                             `"e.csv.bz2" is none of`,
		filepath.Join(folder, "[xyz].csv"): "none that this pattern fits",
		filepath.Join(folder, "x.csv"):     "no such file",
		t.TempDir():                        "there is no .csv",
		os.DevNull:                         "not a regular file",
	} {
		must.Fail(t, must.Err(Find(name)), want)
	}
}

// Errors name the file, and the first one in the order of files wins, whoever reads.
func TestSourceRefuses(t *testing.T) {
	for _, c := range []struct {
		files map[string]string
		want  string
	}{
		{map[string]string{"a.csv": parts[0], "b.csv": "x,y\n1,1\n4711x,1\n", "c.csv": "x,y\n1\n"}, `b.csv:3: column "x": a cell is not`},
		{map[string]string{"a.csv": parts[0], "b.csv": "x,z\n1,1\n"}, `b.csv:1: column "y": the header has no such column`},
		{map[string]string{"a.csv": "x,y\n", "b.csv.gz": "x,y\n"}, ": there are no rows after the header"},
		{map[string]string{"a.csv": "", "b.csv": parts[0]}, "a.csv: the file is empty"},
		{map[string]string{"a.parquet": "PAR1x,y\n4711,1\nPAR1"}, "a.parquet: this is no Parquet file"},
		{map[string]string{"a.csv": "\x1f\x8bx,y\n4711,1\n"}, "gzip"},
	} {
		folder := t.TempDir()
		for name, text := range c.files {
			write(t, filepath.Join(folder, name), text)
		}
		for workers := 1; workers <= 3; workers++ {
			sinks := slices.Repeat([]func([]float64) error{func([]float64) error { return nil }}, workers)
			err := Options{}.Scan(context.Background(), find1(t, folder), design(), sinks...)
			if err == nil || !strings.Contains(err.Error(), c.want) || reveals(err) {
				t.Errorf("%d workers: error %v, want %q", workers, err, c.want)
			}
		}
	}
}

// A packed file that is cut off is an error, and not the rows before.
func TestCutOff(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"a.csv.gz", "a.csv.zst"} {
		path := write(t, filepath.Join(folder, name), "x,y\n"+strings.Repeat("1,1\n", 1000))
		text := must.Get(os.ReadFile(path))(t)
		must.Do(t, os.WriteFile(path, text[:len(text)-6], 0o600))
		must.Fail(t, must.Err(all(find1(t, path))), name)
	}
}

// Standard input has its header and then its rows, once, packed or not.
func TestStdin(t *testing.T) {
	stdin := os.Stdin
	defer func() { os.Stdin = stdin }()
	for _, name := range []string{"a.csv", "a.csv.gz"} {
		path := write(t, filepath.Join(t.TempDir(), name), parts[0])
		f := must.Get(os.Open(path))(t)
		defer f.Close()
		os.Stdin = f
		s := find1(t, Stdin)
		for range 2 {
			if header, err := s.Header(); err != nil || strings.Join(header, ",") != "x,y" {
				t.Errorf("%s: header %q, %v", name, header, err)
			}
		}
		if rows, err := all(s); err != nil || !sameRows(rows, whole[:2]) || !s.Once() {
			t.Errorf("%s: %v, %v", name, rows, err)
		}
	}
}

// Progress adds up to the size of the files; a context ends a scan; so does a sink.
func TestScan(t *testing.T) {
	folder := t.TempDir()
	long := "x,y\n" + strings.Repeat("2.5,0.25\n", 100000)
	write(t, filepath.Join(folder, "a.csv"), long)
	write(t, filepath.Join(folder, "b.csv"), long)
	var read, rows atomic.Int64
	s := find1(t, folder)
	s.Progress = func(bytes int64) { read.Add(bytes) }
	count := func(some []float64) error {
		rows.Add(int64(len(some) / 2))
		return nil
	}
	must.Do(t, (Options{}).Scan(context.Background(), s, design(), count, count, count))
	if read.Load() != int64(2*len(long)) || rows.Load() != 200000 {
		t.Errorf("%d bytes, %d rows", read.Load(), rows.Load())
	}
	ctx, cancel := context.WithCancel(context.Background())
	rows.Store(0)
	stop := func(some []float64) error {
		cancel()
		return count(some)
	}
	if err := (Options{}).Scan(ctx, s, design(), stop, stop); err != context.Canceled || rows.Load() > 10*batch {
		t.Errorf("%d rows, error %v", rows.Load(), err)
	}
	full := errors.New("full")
	refuse := func([]float64) error { return full }
	if err := (Options{}).Scan(context.Background(), s, design(), refuse, refuse); err != full {
		t.Errorf("error %v, want %v", err, full)
	}
}

func sourceOf(r io.Reader) *Source {
	return &Source{Name: "standard input", Files: []File{{Stdin, CSVFormat}}, stdin: newStdin(r)}
}

// What comes through is what was read, however it comes.
func TestStdinIsRead(t *testing.T) {
	text := make([]byte, 3*maxRecord+1)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range text {
		text[i] = byte(rng.Uint32())
	}
	for _, r := range []io.Reader{bytes.NewReader(text), iotest.HalfReader(bytes.NewReader(text)), iotest.DataErrReader(bytes.NewReader(text))} {
		s := newStdin(r)
		if start, err := s.Peek(100); err != nil || !bytes.Equal(start, text[:100]) {
			t.Errorf("the beginning is another one, error %v", err)
		}
		if got, err := io.ReadAll(s); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%d bytes of %d, error %v", len(got), len(text), err)
		}
	}
	if _, err := io.ReadAll(newStdin(iotest.ErrReader(io.ErrClosedPipe))); err != io.ErrClosedPipe {
		t.Errorf("error %v", err)
	}
}

// Who waits for standard input can be interrupted: before it has a header, and amid its rows.
func TestStdinInterrupted(t *testing.T) {
	d := &schema.Design{Covariates: []schema.Column{{Name: "x", Lower: 0, Upper: 1}}, Response: schema.Column{Name: "y", Lower: 0, Upper: 1}}
	ctx, cancel := context.WithCancel(t.Context())
	in, out := io.Pipe()
	defer out.Close()
	s := sourceOf(in)
	s.Done = ctx.Done()
	go func() {
		io.WriteString(out, "x,y\n1,1\n")
		cancel()
	}()
	if _, err := s.Header(); !errors.Is(err, context.Canceled) {
		t.Errorf("header: error %v", err)
	}
	if _, err := s.Header(); !errors.Is(err, context.Canceled) {
		t.Errorf("header, again: error %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	in, out = io.Pipe()
	defer out.Close()
	go func() {
		io.WriteString(out, "x,y\n1,1\n")
		cancel()
	}()
	nothing := func([]float64) error { return nil }
	if err := (Options{}).Scan(ctx, sourceOf(in), d, nothing, nothing); err != context.Canceled {
		t.Errorf("rows: error %v", err)
	}
}

// Workers that come to a file whose header was refused find no file, however they meet.
func TestRefusedByAll(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.csv")
	must.Do(t, os.WriteFile(path, []byte("a,b\n1,2\n"), 0o600))
	s := find1(t, path)
	sinks := make([]func([]float64) error, 8)
	for i := range sinks {
		sinks[i] = func([]float64) error { return nil }
	}
	for range testsize.Of(300, 3000) {
		if err := (Options{}).Scan(t.Context(), s, design(), sinks...); err == nil {
			t.Fatal("a header without the columns was taken")
		}
	}
}
