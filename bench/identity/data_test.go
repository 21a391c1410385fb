//go:build unix

package identity

import (
	"bufio"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/schema"
)

// data are rows of numbers.
type data struct {
	name   string
	labels []string
	design *schema.Design
	rows   int
	append func(line []byte, i int) []byte // row i, comma-separated values
}

// people is testdata/pums.csv.
func people(t *testing.T) data {
	t.Helper()
	read := func(name string) string {
		return string(must.Get(os.ReadFile(filepath.Join("../../testdata", name)))(t))
	}
	lines := strings.Split(strings.TrimSpace(read("pums.csv")), "\n")
	s := must.Get(schema.ReadSchema(strings.NewReader(read("pums.schema.json")), "schema"))(t)
	return data{
		"pums", strings.Split(lines[0], ","), design(t, s), len(lines) - 1,
		func(line []byte, i int) []byte { return append(line, lines[i+1]...) },
	}
}

// generated has ten columns of so many rows: uniform numbers of some digits after the
// point, of which a tenth lies outside the bounds. Each row has random numbers of its own,
// so that it is the same in whatever order rows are written.
func generated(t *testing.T, rows int) data {
	t.Helper()
	columns := []struct {
		name         string
		lower, upper float64
		digits       int
	}{
		{"age", 0, 100, 0}, {"income", 0, 250000, 2}, {"educ", 1, 16, 0}, {"weight", 40, 140, 1}, {"height", 1.4, 2.1, 2},
		{"a", -1, 1, 6}, {"b", 0, 1, 4}, {"c", -50, 50, 3}, {"d", 0, 10000, 0}, {"y", -3, 3, -1},
	}
	var labels []string
	s := &schema.Schema{}
	for _, c := range columns {
		margin := (c.upper - c.lower) / 20
		labels = append(labels, c.name)
		s.Columns = append(s.Columns, schema.Column{Name: c.name, Lower: c.lower + margin, Upper: c.upper - margin})
	}
	source := rand.NewPCG(0, 0)
	rng := rand.New(source)
	return data{"generated", labels, design(t, s), rows, func(line []byte, i int) []byte {
		source.Seed(1, uint64(i))
		for _, c := range columns {
			line = strconv.AppendFloat(line, c.lower+rng.Float64()*(c.upper-c.lower), 'f', c.digits, 64)
			line = append(line, ',')
		}
		return line[:len(line)-1]
	}}
}

func design(t *testing.T, s *schema.Schema) *schema.Design {
	t.Helper()
	return must.Get(s.Design(""))(t)
}

// shards is the number of files that share the rows.
const shards = 4

// step is prime, and so takes row numbers to others, each once, modulo most numbers.
const step = 1_000_003

// write makes the files in a folder, but for those that are there: the rows as they are,
// in another order, packed, and shared among files of a directory.
func (d data) write(t *testing.T, folder string) {
	t.Helper()
	all := func(k int) int { return k }
	d.file(t, filepath.Join(folder, "rows.csv"), d.rows, all)
	d.file(t, filepath.Join(folder, "rows.csv.gz"), d.rows, all)
	d.file(t, filepath.Join(folder, "rows.parquet"), d.rows, all)
	if d.rows%step == 0 {
		t.Fatalf("%d rows cannot be shuffled", d.rows)
	}
	d.file(t, filepath.Join(folder, "shuffled.csv"), d.rows, func(k int) int { return k * step % d.rows })
	must.Do(t, os.MkdirAll(filepath.Join(folder, "shards"), 0o700))
	for i, name := range []string{"0.csv", "1.csv.gz", "2.csv.zst", "3.parquet"} {
		d.file(t, filepath.Join(folder, "shards", name), (d.rows-i+shards-1)/shards, func(k int) int { return k*shards + i })
	}
}

// file writes the n rows that order names, in the form that the path's ending says.
func (d data) file(t *testing.T, path string, n int, order func(k int) int) {
	t.Helper()
	if _, err := os.Stat(path); err == nil {
		return
	}
	f := must.Get(os.Create(path + ".new"))(t)
	write := d.csv
	if filepath.Ext(path) == ".parquet" {
		write = d.parquet
	}
	out := bufio.NewWriterSize(f, 1<<20)
	must.Do(t, errors.Join(write(out, path, n, order), out.Flush(), f.Close(), os.Rename(path+".new", path)))
}

func (d data) csv(w io.Writer, path string, n int, order func(k int) int) error {
	out, err := io.WriteCloser(nopCloser{w}), error(nil)
	switch filepath.Ext(path) {
	case ".gz":
		out, err = gzip.NewWriterLevel(w, gzip.BestSpeed)
	case ".zst":
		out, err = zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	}
	if err != nil {
		return err
	}
	line := []byte(strings.Join(d.labels, ","))
	for k := range n {
		line = append(line, '\n')
		if _, err := out.Write(line); err != nil {
			return err
		}
		line = d.append(line[:0], order(k))
	}
	_, err = out.Write(line)
	return errors.Join(err, out.Close())
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func (d data) parquet(w io.Writer, _ string, n int, order func(k int) int) error {
	group := parquet.Group{}
	for _, label := range d.labels {
		group[label] = parquet.Leaf(parquet.DoubleType)
	}
	sorted := slices.Sorted(slices.Values(d.labels)) // as those of a group are
	out := parquet.NewWriter(w, parquet.NewSchema("rows", group), parquet.Compression(&parquet.Snappy), parquet.MaxRowsPerRowGroup(1<<17))
	place := make([]int, len(d.labels))
	for j, label := range d.labels {
		place[j] = slices.Index(sorted, label)
	}
	row, line := make(parquet.Row, len(d.labels)), []byte{}
	for k := range n {
		line = d.append(line[:0], order(k))
		j := 0
		for cell := range strings.SplitSeq(string(line), ",") {
			v, err := strconv.ParseFloat(cell, 64)
			if err != nil {
				return err
			}
			row[place[j]] = parquet.DoubleValue(v).Level(0, 0, place[j])
			j++
		}
		if _, err := out.WriteRows([]parquet.Row{row}); err != nil {
			return err
		}
	}
	return out.Close()
}
