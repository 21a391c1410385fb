package custody_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mechanisms/ledger"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/signature"
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
