package main

import (
	"context"
	_ "embed"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/parquet-go/parquet-go"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/schema"
)

// pumsRow is a row of pums.csv in a Parquet file.
type pumsRow struct {
	Age     int32   `parquet:"age"`
	Sex     int32   `parquet:"sex"`
	Educ    int32   `parquet:"educ"`
	Race    int32   `parquet:"race"`
	Income  float64 `parquet:"income"`
	Married int32   `parquet:"married"`
}

// pumsFeather is pums.csv, written by Polars (table/testdata/arrow.cjs).
//
//go:embed testdata/pums.feather
var pumsFeather string

// sources writes the rows of pums.csv, otherwise kept.
func sources(t *testing.T) {
	t.Helper()
	text := read(t, "pums.csv")
	lines := strings.SplitAfter(text, "\n")
	half := len(lines) / 2
	for _, folder := range []string{"shards", "packed"} {
		must.Do(t, os.Mkdir(folder, 0o700))
		write(t, folder+".schema.json", read(t, "pums.schema.json"))
	}
	write(t, "shards/b.csv", strings.Join(lines[:half], ""))
	write(t, "shards/a.csv", lines[0]+strings.Join(lines[half:], ""))
	f := must.Get(os.Create("packed/rows.csv.gz"))(t)
	z := gzip.NewWriter(f)
	must.Get(z.Write([]byte(text)))(t)
	must.Do(t, z.Close())
	must.Do(t, f.Close())
	write(t, "columns.schema.json", read(t, "pums.schema.json"))
	must.Do(t, parquet.WriteFile("columns.parquet", pumsRows(t, lines[1:])))
	write(t, "columns.feather", pumsFeather)
}

func pumsRows(t *testing.T, lines []string) (rows []pumsRow) {
	t.Helper()
	for _, line := range lines {
		if line == "" {
			continue
		}
		var v [6]float64
		for j, cell := range strings.Split(strings.TrimSpace(line), ",") {
			v[j] = must.Get(schema.ParseNumber(cell))(t)
		}
		rows = append(rows, pumsRow{int32(v[0]), int32(v[1]), int32(v[2]), int32(v[3]), v[4], int32(v[5])})
	}
	return rows
}

// stdin lets a file be standard input.
func stdin(t *testing.T, path string) {
	t.Helper()
	f := must.Get(os.Open(path))(t)
	old := os.Stdin
	os.Stdin = f
	t.Cleanup(func() {
		os.Stdin = old
		f.Close()
	})
}

// A release goes beside its rows, or where it is told to; what was read once only has no
// age, and cannot be read twice.
func TestReleaseOfSources(t *testing.T) {
	workspace(t)
	sources(t)
	for _, name := range []string{"shards", "columns.parquet"} {
		command("release", "--eps", "1", name).finished(t).says(t, strings.TrimSuffix(name, ".parquet")+".release.json")
		// It is used again, until a file comes or goes.
		command("fit", "--eps", "1", name, "--method", "gibbs-ss-update", "--warmup", "100", "--draws", "10").finished(t).says(t, "used again")
	}
	later := time.Now().Add(time.Hour)
	must.Do(t, os.Rename("shards/a.csv", "a.csv"))
	must.Do(t, os.Chtimes("shards", later, later))
	command("fit", "--eps", "1", "shards").ends(t, refused)
	stdin(t, "pums.csv")
	command("release", "--eps", "1", "-", "--schema", "pums.schema.json").says(t, "-o FILE")
	stdin(t, "pums.csv")
	command("fit", "--eps", "1", "-", "--schema", "pums.schema.json", "--release", "columns.release.json").says(t, "standard input is newer").ends(t, refused)
	for _, twice := range [][]string{{"--bounds", "auto"}, {"--steps", "2", "--schema", "pums.schema.json"}} {
		stdin(t, "pums.csv")
		command(append([]string{"release", "--eps", "1", "-", "-o", "r.json"}, twice...)...).says(t, "can be read once").ends(t, misused)
	}
	stdin(t, "pums.csv")
	command("release", "--eps", "1", "-", "-o", "r.json", "--schema", "pums.schema.json").says(t, "or say --no-ledger").ends(t, misused)
	stdin(t, "pums.csv")
	command("release", "--eps", "1", "-", "-o", "r.json", "--schema", "pums.schema.json", "--no-ledger").finished(t)
}

// Interrupted while rows are read, a release leaves nothing behind.
func TestInterruptedReading(t *testing.T) {
	workspace(t)
	before := tree(t)
	ctx, cancel := context.WithCancel(context.Background())
	asked := 0
	ctx = meddle{ctx, func() {
		if asked++; asked == 3 {
			cancel()
		}
	}}
	commandContext(ctx, "release", "--eps", "1", "pums.csv").says(t, "interrupted").ends(t, interrupted)
	unchanged(t, before)
}
