//go:build unix

// Package identity holds that one table has the same sums to the bit, by whatever path they
// are made, and measures what each path costs. The rows are those of testdata/pums.csv, and
// generated ones; with ten million of these, in a folder where the files may stay:
//
//	go test ./bench/identity -v -timeout 5h -rows 10000000 -dir DIR
package identity

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/pushdown"
	"github.com/dpreg/dpreg/pushdown/duckdb"
	"github.com/dpreg/dpreg/pushdown/postgres"
	"github.com/dpreg/dpreg/pushdown/pushdowntest"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

var (
	rows = flag.Int("rows", 5000, "generated rows, of ten columns")
	dir  = flag.String("dir", "", "where the files of generated rows stay (default: they go)")
)

func TestPeople(t *testing.T) { people(t).compare(t, t.TempDir()) }

func TestGenerated(t *testing.T) {
	testsize.Full(t, "TestPeople compares the same readers")
	folder := *dir
	if folder == "" {
		folder = t.TempDir()
	}
	generated(t, *rows).compare(t, folder)
}

// path is a way from rows to their sums.
type path struct {
	name string
	sum  func(ctx context.Context) (*ssp.Statistics, error)
}

// compare goes all paths; those of PostgreSQL and DuckDB where these are here. With -v it
// shows what each took.
func (d data) compare(t *testing.T, folder string) {
	d.write(t, folder)
	paths := append(d.files(folder), d.duckdb(t, folder)...)
	want := d.walk(t, paths[0])
	for _, p := range paths[1:] {
		d.same(t, p, want)
	}
	t.Run("PostgreSQL", func(t *testing.T) {
		testsize.Full(t, "package postgres starts a server in short form")
		d.same(t, d.postgres(t, folder), want)
	})
}

func (d data) same(t *testing.T, p path, want string) {
	t.Helper()
	if got := d.walk(t, p); got != want {
		t.Errorf("%s, %s: other sums", d.name, p.name)
	}
}

// walk takes a path, and returns what it leads to.
func (d data) walk(t *testing.T, p path) (sums string) {
	t.Helper()
	cpu, start := cpuSeconds(t), time.Now()
	s, err := p.sum(t.Context())
	if err != nil {
		t.Fatalf("%s, %s: %v", d.name, p.name, err)
	}
	seconds, sums := time.Since(start).Seconds(), pushdowntest.Text(s)
	t.Logf("| %s | %s | %d | %.2f | %.2f | %.6x |", d.name, p.name, s.N, cpuSeconds(t)-cpu, seconds, sha256.Sum256([]byte(sums)))
	return sums
}

// files are the paths of this program's own.
func (d data) files(folder string) []path {
	in := func(name string) string { return filepath.Join(folder, name) }
	read := func(name, file string, workers int) path {
		return path{name, func(ctx context.Context) (*ssp.Statistics, error) { return d.read(ctx, in(file), workers) }}
	}
	cores := runtime.NumCPU()
	return []path{
		read("CSV, one worker", "rows.csv", 1),
		read("CSV, a worker a core", "rows.csv", cores),
		read("CSV, seven workers", "rows.csv", 7),
		read("CSV, shuffled", "shuffled.csv", cores),
		read("CSV, gzip", "rows.csv.gz", cores),
		read("Parquet", "rows.parquet", cores),
		read("directory of .csv, .csv.gz, .csv.zst, .parquet", "shards", cores),
		{"these apart, encoded, merged", func(ctx context.Context) (*ssp.Statistics, error) { return d.merged(ctx, in("shards")) }},
	}
}

func (d data) read(ctx context.Context, name string, workers int) (*ssp.Statistics, error) {
	s, err := table.Find(name)
	if err != nil {
		return nil, err
	}
	all, err := ssp.Pass{Columns: len(d.labels)}.Gather(workers, func(sinks ...func([]float64) error) error {
		return (table.Options{}).Scan(ctx, s, d.design, sinks...)
	})
	if err != nil {
		return nil, err
	}
	return all.(*ssp.Accumulator).Statistics(), nil
}

// merged sums each file by itself, as machines of a cluster would, and merges the
// encodings, the last one first.
func (d data) merged(ctx context.Context, folder string) (*ssp.Statistics, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		return nil, err
	}
	all := ssp.NewAccumulator(len(d.labels))
	for _, file := range slices.Backward(files) {
		encoded, err := d.encoded(ctx, file)
		if err != nil {
			return nil, err
		}
		part := &ssp.Accumulator{}
		if err := part.UnmarshalBinary(encoded); err != nil {
			return nil, err
		}
		if err := all.Merge(part); err != nil {
			return nil, err
		}
	}
	return all.Statistics(), nil
}

func (d data) encoded(ctx context.Context, file string) ([]byte, error) {
	s, err := table.Find(file)
	if err != nil {
		return nil, err
	}
	a := ssp.NewAccumulator(len(d.labels))
	if err := (table.Options{}).Scan(ctx, s, d.design, a.AddRows); err != nil {
		return nil, err
	}
	return a.MarshalBinary()
}

// duckdb are the paths of DuckDB, where its program is on the PATH.
func (d data) duckdb(t *testing.T, folder string) (paths []path) {
	if _, err := exec.LookPath(duckdb.Program); err != nil {
		t.Logf("without DuckDB: %v", err)
		return nil
	}
	for _, c := range [][2]string{{"DuckDB, CSV", "read_csv('%s/rows.csv')"}, {"DuckDB, Parquet", "read_parquet('%s/rows.parquet')"}} {
		from := fmt.Sprintf(c[1], strings.ReplaceAll(folder, "'", "''"))
		paths = append(paths, path{c[0], func(ctx context.Context) (*ssp.Statistics, error) {
			rows, err := duckdb.Open(ctx, "duckdb:", from)
			if err != nil {
				return nil, err
			}
			return query(ctx, rows, d.design)
		}})
	}
	return paths
}

// postgres is the path of a PostgreSQL server of its own, which it lets load the rows.
func (d data) postgres(t *testing.T, folder string) path {
	at := pushdowntest.Postgres(t).String()
	d.load(t, at, filepath.Join(folder, "rows.csv"))
	return path{"PostgreSQL", func(ctx context.Context) (*ssp.Statistics, error) {
		rows, err := postgres.Open(ctx, at, pushdown.Table{"rows"})
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		return query(ctx, rows, d.design)
	}}
}

func (d data) load(t *testing.T, at, file string) {
	t.Helper()
	conn := must.Get(pgx.Connect(t.Context(), at))(t)
	defer conn.Close(context.Background())
	must.Get(conn.Exec(t.Context(), "CREATE UNLOGGED TABLE rows ("+strings.Join(d.labels, " double precision, ")+" double precision)"))(t)
	f := must.Get(os.Open(file))(t)
	defer f.Close()
	must.Get(conn.PgConn().CopyFrom(t.Context(), f, "COPY rows FROM STDIN (FORMAT csv, HEADER)"))(t)
}

// query has an engine sum its rows.
func query(ctx context.Context, rows interface {
	Sum(context.Context, *pushdown.Query) (*ssp.Statistics, error)
}, d *schema.Design) (*ssp.Statistics, error) {
	q, err := pushdown.New(d, table.Options{})
	if err != nil {
		return nil, err
	}
	return rows.Sum(ctx, q)
}

// cpuSeconds are those of this process and of the programs that it ran and that have
// ended: DuckDB's, but not those of a PostgreSQL server, which works in one process while
// this one waits.
func cpuSeconds(t *testing.T) float64 {
	var total time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		must.Do(t, syscall.Getrusage(who, &u))
		total += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return total.Seconds()
}
