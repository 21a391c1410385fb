//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dpreg/dpreg/adaptive"
	"github.com/dpreg/dpreg/beam/sums"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

var (
	rows = flag.Int("rows", 20_000, "generated rows, of ten columns")
	dir  = flag.String("dir", "", "where the files of generated rows stay (default: they go)")
)

// Sums are the same to the bit on every engine. With -v it tells what each took:
//
//	go test ./cmd/dpreg-beam -run Identity -v -timeout 1h -rows 10000000
func TestIdentity(t *testing.T) {
	folder := *dir
	if folder == "" {
		folder = t.TempDir()
	}
	tables := []divided{people(t), generated(t, folder, *rows)}
	for _, e := range engines(t) {
		for _, s := range tables {
			t.Run(e.name+", "+s.name, func(t *testing.T) { s.compare(t, e) })
		}
	}
}

// divided is a table in several files.
type divided struct {
	name   string
	paths  []string
	design *schema.Design
}

// people is testdata/pums.csv, divided.
func people(t *testing.T) divided {
	t.Helper()
	text := must.Get(os.ReadFile("../../../testdata/pums.csv"))(t)
	lines := strings.SplitAfter(strings.TrimSpace(string(text)), "\n")
	file := must.Get(os.Open("../../../testdata/pums.schema.json"))(t)
	defer file.Close()
	columns := must.Get(schema.ReadSchema(file, "schema"))(t)
	var paths []string
	folder := t.TempDir()
	for part := range slices.Chunk(lines[1:], 90) {
		path := filepath.Join(folder, fmt.Sprintf("%02d.csv", len(paths)))
		must.Do(t, os.WriteFile(path, []byte(lines[0]+strings.Join(part, "")), 0o600))
		paths = append(paths, path)
	}
	return divided{"pums", paths, design(t, columns)}
}

// generated are the rows of bench/identity's test of this name, divided.
func generated(t *testing.T, folder string, n int) divided {
	t.Helper()
	const files = 8
	columns := []struct {
		name         string
		lower, upper float64
		digits       int
	}{
		{"age", 0, 100, 0}, {"income", 0, 250000, 2}, {"educ", 1, 16, 0}, {"weight", 40, 140, 1}, {"height", 1.4, 2.1, 2},
		{"a", -1, 1, 6}, {"b", 0, 1, 4}, {"c", -50, 50, 3}, {"d", 0, 10000, 0}, {"y", -3, 3, -1},
	}
	all := &schema.Schema{}
	var header []byte
	for _, c := range columns {
		margin := (c.upper - c.lower) / 20
		all.Columns = append(all.Columns, schema.Column{Name: c.name, Lower: c.lower + margin, Upper: c.upper - margin})
		header = append(append(header, c.name...), ',')
	}
	source := rand.NewPCG(0, 0)
	rng := rand.New(source)
	var paths []string
	for i := range files {
		path := filepath.Join(folder, fmt.Sprintf("part-%d-%d.csv", n, i))
		paths = append(paths, path)
		if _, err := os.Stat(path); err == nil {
			continue
		}
		write(t, path, func(out *bufio.Writer) {
			line := bytes.Clone(header)
			for row := i; ; row += files {
				line[len(line)-1] = '\n'
				out.Write(line)
				if row >= n {
					return
				}
				line = line[:0]
				source.Seed(1, uint64(row))
				for _, c := range columns {
					line = strconv.AppendFloat(line, c.lower+rng.Float64()*(c.upper-c.lower), 'f', c.digits, 64)
					line = append(line, ',')
				}
			}
		})
	}
	return divided{"generated", paths, design(t, all)}
}

func write(t *testing.T, path string, lines func(*bufio.Writer)) {
	t.Helper()
	f := must.Get(os.Create(path))(t)
	defer f.Close()
	out := bufio.NewWriterSize(f, 1<<20)
	lines(out)
	must.Do(t, out.Flush())
}

func design(t *testing.T, s *schema.Schema) *schema.Design {
	t.Helper()
	return must.Get(s.Design(""))(t)
}

// compare has an engine sum the shards, last ones first, and one worker of dpreg.
func (s divided) compare(t *testing.T, e engine) {
	paths := slices.Clone(s.paths)
	slices.Reverse(paths)
	for _, pass := range s.kinds() {
		_, j, dir := e.start(t)
		got := s.walk(t, e, func(ctx context.Context) (ssp.Summand, error) {
			return sums.Sum(ctx, j, dir, paths, table.Options{}, s.design, pass)
		})
		want := s.walk(t, engine{name: "one worker"}, func(ctx context.Context) (ssp.Summand, error) { return s.alone(ctx, pass) })
		if got != want {
			t.Errorf("other sums, radii %v, frame %v", pass.Radii, pass.Frame)
		}
	}
}

// kinds are all passes: in the box, and in a frame that clips most rows.
func (s divided) kinds() []ssp.Pass {
	frame := adaptive.First(len(s.design.Columns()))
	frame.Centre[0], frame.Radius = .25, .5
	frame = ssp.RoundFrame(frame)
	box := ssp.Pass{Columns: len(s.design.Columns())}
	radii, clipped := box, box
	radii.Frame, radii.Radii, clipped.Frame = frame, true, frame
	return []ssp.Pass{box, radii, clipped}
}

// alone makes a pass without an engine.
func (s divided) alone(ctx context.Context, pass ssp.Pass) (ssp.Summand, error) {
	all := &table.Source{Name: s.name}
	for _, path := range s.paths {
		all.Files = append(all.Files, table.File{Path: path, Format: table.CSVFormat})
	}
	return pass.Gather(1, func(sinks ...func([]float64) error) error {
		return table.Options{}.Scan(ctx, all, s.design, sinks...)
	})
}

// walk takes a path, and returns what it leads to.
func (s divided) walk(t *testing.T, e engine, sum func(context.Context) (ssp.Summand, error)) string {
	t.Helper()
	runtime.GC()
	cpu, start := e.cpuSeconds(t), time.Now()
	found := must.Get(sum(t.Context()))(t)
	seconds, text := time.Since(start).Seconds(), encoded(t, found)
	t.Logf("| %s | %s | %T | %.2f | %.2f | %.6x |", s.name, e.name, found, e.cpuSeconds(t)-cpu, seconds, sha256.Sum256([]byte(text)))
	return text
}

// encoded is what has the same bytes where all rows are the same.
func encoded(t *testing.T, s ssp.Summand) string {
	t.Helper()
	return string(must.Get(s.MarshalBinary())(t))
}

// cpuSeconds are those of this process, of the job service, if there is one, and, where
// there is /proc, of its workers once they have ended.
func (e engine) cpuSeconds(t *testing.T) float64 {
	t.Helper()
	var u syscall.Rusage
	must.Do(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	seconds := time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
	if e.service == nil {
		return seconds
	}
	for wait := time.Now(); len(children(e.service.Pid)) > 0 && time.Since(wait) < time.Second; {
		time.Sleep(10 * time.Millisecond)
	}
	return seconds + float64(ticks(e.service.Pid))/100
}

// A worker that is killed changes nothing.
func TestKilledWorker(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("finds workers in /proc")
	}
	s := generated(t, t.TempDir(), 20_000)
	const copies = 64 // so that there is work for a while
	folder := t.TempDir()
	for i := range copies {
		for k, path := range s.paths[:8] {
			again := filepath.Join(folder, fmt.Sprintf("%d-%d.csv", i, k))
			must.Do(t, os.Link(path, again))
			s.paths = append(s.paths, again)
		}
	}
	box := s.kinds()[0]
	want := must.Get(s.alone(t.Context(), box))(t)
	e := engines(t)[2]
	said, j, dir := e.start(t)
	killed := e.killWorker(t)
	got := must.Get(sums.Sum(t.Context(), j, dir, s.paths, table.Options{}, s.design, box))(t)
	select {
	case <-killed:
	default:
		t.Error("the job was done before a worker could be killed")
	}
	if len(said.text) == 0 || !strings.Contains(said.text[0], "run again") {
		t.Errorf("the launcher said %q", said.text)
	}
	if encoded(t, got) != encoded(t, want) {
		t.Error("other sums")
	}
}
