package custody_test

import (
	"bufio"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/cputime"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/mechanisms/ledger"
	"github.com/dpreg/dpreg/persons"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/signature"
	"github.com/dpreg/dpreg/table"
)

// BenchmarkLedgerAndSigning is what a release of few rows takes longer where a ledger with so many charges is
// charged and the file is signed, in wall-clock milliseconds, the disk's share included: the least of all
// runs, since what else a machine does can only add to it.
//
//	go test ./custody -run - -bench LedgerAndSigning -benchtime 50x
func BenchmarkLedgerAndSigning(b *testing.B) {
	for _, c := range []struct {
		charges int
		delta   float64
	}{{0, 0}, {100, 0}, {1000, 0}, {1000, 1e-6}} {
		b.Run(fmt.Sprintf("charges=%d,delta=%v", c.charges, c.delta), func(b *testing.B) {
			dir := b.TempDir()
			secret, path := filepath.Join(dir, "k.key"), filepath.Join(dir, "l.db")
			must.Get(signature.NewKey(secret, filepath.Join(dir, "k.pub")))(b)
			key := must.Get(signature.ReadKey(secret))(b)
			must.Do(b, ledger.Create(b.Context(), path, ledger.Budget{Data: "d", Neighbours: "replace-one", Epsilon: big.NewRat(1_000_000, 1), Delta: big.NewRat(1, 2), Filter: ledger.Auto}))
			source := rows(b, "0.5,0.25", "-0.25,0.75")
			rng := rand.New(rand.NewPCG(1, 2))
			publish := func(o custody.Order, name string) time.Duration {
				o.Rows, o.Design, o.Path, o.Steps = source, twoColumns, filepath.Join(dir, name), 1
				o.Privacy = release.Privacy{Epsilon: 0.01 + 0.01*rng.Float64(), Delta: c.delta, Neighbours: release.ReplaceOne}
				began := time.Now()
				must.Get(custody.Publish(b.Context(), o))(b)
				return time.Since(began)
			}
			for i := range c.charges {
				publish(custody.Order{Ledger: path}, fmt.Sprint("before", i))
			}
			with, without := time.Hour, time.Hour
			for i := 0; b.Loop(); i++ {
				without = min(without, publish(custody.Order{NoLedger: true}, fmt.Sprint("without", i)))
				with = min(with, publish(custody.Order{Ledger: path, Sign: &key}, fmt.Sprint("with", i)))
			}
			b.ReportMetric(float64((with-without).Microseconds())/1000, "ms/more")
		})
	}
}

// BenchmarkPersons is what a release of ten million rows of a million persons takes, by each rule, in files where a
// person's rows lie together or anywhere: CPU seconds, of the run with the fewest, these over those of the same rows
// without persons, and the most megabytes that the process had.
//
//	go test ./custody -run - -bench Persons -benchtime 4x
func BenchmarkPersons(b *testing.B) {
	const rows, each = 10_000_000, 10
	for _, order := range []string{"together", "anywhere"} {
		path := filepath.Join(b.TempDir(), "rows.csv")
		file := must.Get(os.Create(path))(b)
		out, rng := bufio.NewWriterSize(file, 1<<20), rand.New(rand.NewPCG(1, 2))
		out.WriteString("id,x,y\n")
		for i := range rows {
			person := i / each
			if order == "anywhere" {
				person = rng.IntN(rows / each)
			}
			fmt.Fprintf(out, "p%d,%.3f,%.3f\n", person, 2*rng.Float64()-1, 2*rng.Float64()-1)
		}
		must.Do(b, out.Flush())
		must.Do(b, file.Close())
		plain := 0.
		for _, rule := range []persons.Rule{{}, {Kind: persons.Mean}, {Kind: persons.Weight}, {Kind: persons.Rows, Most: 1}, {Kind: persons.Rows, Most: 4}} {
			o := custody.Order{Design: twoColumns, Privacy: release.Privacy{Epsilon: 1, Neighbours: release.ReplaceOne}, Steps: 1, NoLedger: true}
			if o.Persons.Rule = rule; rule.Kind != "" {
				o.Persons.Column = "id"
			}
			if rule.Most > 1 {
				o.Privacy.Neighbours = release.AddRemove
			}
			b.Run(fmt.Sprintf("%s/%s", order, rule), func(b *testing.B) {
				used, peak := math.Inf(1), 0.
				for b.Loop() {
					source := must.Get(table.Find(path))(b)
					o.Rows, o.Entropy = custody.Files{Source: source}, mechanisms.Simulated(rand.New(rand.NewPCG(3, 4)))
					debug.FreeOSMemory()
					os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // of Linux: the peak begins anew
					began := cputime.Used()
					must.Get(custody.Publish(b.Context(), o))(b)
					used, peak = min(used, (cputime.Used()-began).Seconds()), max(peak, megabytes())
				}
				if rule.Kind == "" {
					plain = used
				}
				b.ReportMetric(used, "CPU-s")
				b.ReportMetric(peak, "MB")
				if plain > 0 {
					b.ReportMetric(used/plain, "of-plain")
				}
			})
		}
	}
}

// megabytes is the peak of its memory, 0 where the system does not tell.
func megabytes() float64 {
	text, _ := os.ReadFile("/proc/self/status")
	_, text2, _ := strings.Cut(string(text), "VmHWM:")
	fields := strings.Fields(text2)
	if len(fields) == 0 {
		return 0
	}
	kilobytes, _ := strconv.ParseFloat(fields[0], 64)
	return kilobytes / 1000
}
