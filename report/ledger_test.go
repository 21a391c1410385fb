package report_test

import (
	"context"
	"math/big"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/mechanisms/ledger"
	"github.com/dpreg/dpreg/report"
)

func decimal(text string) *big.Rat {
	x, ok := new(big.Rat).SetString(text)
	if !ok {
		panic(text)
	}
	return x
}

// charged is the history of a ledger with so many releases of a few.
func charged(t *testing.T, filter ledger.Filter, releases int) *ledger.History {
	t.Helper()
	ctx, path := context.Background(), filepath.Join(t.TempDir(), "b.db")
	b := ledger.Budget{Data: "größe.csv", Neighbours: "replace-one", Epsilon: decimal("2"), Delta: decimal("1e-5"), Filter: filter}
	must.Do(t, ledger.Create(ctx, path, b))
	l := must.Get(ledger.Open(ctx, path))(t)
	defer l.Close()
	for i := range releases {
		c := ledger.Charge{Epsilon: decimal("0.3"), Delta: new(big.Rat), Noise: ledger.Laplace, Neighbours: "replace-one", Release: "/home/somebody/with/a/long/name/r.json"}
		if i > 0 {
			sigma := must.Get(accounting.Sigma(0.3, 1e-6, 1))(t)
			c.Delta, c.Noise, c.Sensitivity, c.Scale = decimal("1e-6"), ledger.Gaussian, 1, sigma
		}
		must.Get(l.Charge(ctx, c))(t)
	}
	h := must.Get(l.History(ctx))(t)
	h.Events = []ledger.Event{{Hash: strings.Repeat("5b1f", 16)}} // its own hangs on the key
	for i := range h.Entries {
		h.Entries[i].Time = time.Date(2026, 3, 1, 9, i, 0, 0, time.UTC)
		h.Entries[i].Written = i < 4
	}
	return h
}

func TestLedger(t *testing.T) {
	wantNarrow(t, golden(t, "ledger", each([]*ledger.History{charged(t, ledger.Auto, 12), charged(t, ledger.Sum, 1), charged(t, ledger.Auto, 0)}, "\n", report.Ledger)))
}
