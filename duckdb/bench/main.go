// Command bench measures how fast dpreg sums a file, against DuckDB on the same file,
// with the same statistics and as many threads: the count, the sums and the sums of
// products of ten columns clamped to bounds and scaled to [-1, 1], 66 numbers in all.
// DuckDB sums in float64, dpreg in exact integers.
//
//	go run ./bench -size 1000000000 -runs 3
//
// All files but the one in full precision have the same rows: dpreg's exact sums of
// them must be the same, too. Files are made in -dir and kept there. CPU seconds are of all threads, user and
// system; where other programs run beside, they say more than the clock.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	_ "github.com/duckdb/duckdb-go/v2"

	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

type options struct {
	dir     string
	size    int64
	runs    int
	threads int
}

func main() {
	var o options
	flag.StringVar(&o.dir, "dir", os.TempDir(), "where the files are made")
	flag.Int64Var(&o.size, "size", 1_000_000_000, "bytes of the file of comma-separated values")
	flag.IntVar(&o.runs, "runs", 3, "runs of each, in turn; the best counts")
	flag.IntVar(&o.threads, "threads", 2, "threads of each")
	flag.Parse()
	if err := o.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (o options) run(ctx context.Context) error {
	runtime.GOMAXPROCS(o.threads)
	db, err := sql.Open("duckdb", "")
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, fmt.Sprintf("SET threads = %d", o.threads)); err != nil {
		return err
	}
	files, err := o.files(ctx, db)
	if err != nil {
		return err
	}
	fmt.Println("| file | bytes | rows | program | seconds | CPU seconds | MB/s | MB per CPU second |")
	fmt.Println("|---|---|---|---|---|---|---|---|")
	var first []*big.Int
	for i, path := range files {
		sums, err := o.compare(ctx, db, path)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", path, err)
		case i == 0:
			first = sums
		case i > 1 && !slices.EqualFunc(sums, first, func(a, b *big.Int) bool { return a.Cmp(b) == 0 }):
			return fmt.Errorf("%s: the sums are not those of %s", path, files[0])
		}
	}
	return nil
}

// files makes what is not there yet.
func (o options) files(ctx context.Context, db *sql.DB) (paths []string, err error) {
	for _, name := range []string{"short", "full"} {
		csv := filepath.Join(o.dir, fmt.Sprintf("dpreg-bench-%s-%d.csv", name, o.size))
		if _, err := os.Stat(csv); err != nil {
			if err := generate(csv, o.size, name == "full"); err != nil {
				return nil, err
			}
		}
		paths = append(paths, csv)
	}
	for _, pack := range []string{"snappy", "zstd"} {
		path := filepath.Join(o.dir, fmt.Sprintf("dpreg-bench-%s-%d.parquet", pack, o.size))
		if _, err := os.Stat(path); err != nil {
			copied := fmt.Sprintf("COPY (SELECT * FROM %s) TO '%s' (FORMAT parquet, COMPRESSION %s)", from(paths[0]), path, pack)
			if _, err := db.ExecContext(ctx, copied); err != nil {
				return nil, err
			}
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// measured is the best of several runs.
type measured struct{ seconds, cpu float64 }

func measure(best *measured, do func() error) error {
	cpu, start := cpuSeconds(), time.Now()
	if err := do(); err != nil {
		return err
	}
	best.seconds = min(best.seconds, time.Since(start).Seconds())
	best.cpu = min(best.cpu, cpuSeconds()-cpu)
	return nil
}

func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// compare measures both programs on a file, compares what they found, and returns
// dpreg's sums.
func (o options) compare(ctx context.Context, db *sql.DB, path string) ([]*big.Int, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	never := measured{math.Inf(1), math.Inf(1)}
	duck, own := never, never
	var theirs []float64
	var ours *ssp.Statistics
	for range o.runs {
		if err := measure(&duck, func() (err error) { theirs, err = queried(ctx, db, path); return err }); err != nil {
			return nil, err
		}
		if err := measure(&own, func() (err error) { ours, err = o.summed(ctx, path); return err }); err != nil {
			return nil, err
		}
	}
	if err := near(append([]float64{float64(ours.N)}, ours.Vector()...), theirs); err != nil {
		return nil, err
	}
	mb := float64(info.Size()) / 1e6
	for _, m := range []struct {
		program string
		measured
	}{{"DuckDB", duck}, {"dpreg", own}} {
		fmt.Printf("| %s | %d | %d | %s | %.2f | %.2f | %.0f | %.0f |\n",
			filepath.Base(path), info.Size(), ours.N, m.program, m.seconds, m.cpu, mb/m.seconds, mb/m.cpu)
	}
	fmt.Printf("| | | | ratio | %.2f | %.2f | | |\n", duck.seconds/own.seconds, duck.cpu/own.cpu)
	return ours.BigInts(), nil
}

// summed is dpreg's way, as dpreg release goes.
func (o options) summed(ctx context.Context, path string) (*ssp.Statistics, error) {
	source, err := table.Find(path)
	if err != nil {
		return nil, err
	}
	d := &schema.Design{Intercept: true}
	for j, c := range columns {
		lower, upper := bounds(j)
		d.Covariates = append(d.Covariates, schema.Column{Name: c.name, Lower: lower, Upper: upper})
	}
	last := len(columns) - 1
	d.Response, d.Covariates = d.Covariates[last], d.Covariates[:last]
	return ssp.Sum(ctx, source, table.Options{}, d, o.threads)
}

// near tells whether the sums agree as far as rounding to the lattice, by at most 2⁻²⁰
// a value, lets them.
func near(a, b []float64) error {
	if len(a) != len(b) {
		return errors.New("different numbers of sums")
	}
	for i := range a {
		if math.Abs(a[i]-b[i]) > a[0]*math.Ldexp(1, -20) {
			return fmt.Errorf("sum %d is %v and %v", i, a[i], b[i])
		}
	}
	return nil
}
