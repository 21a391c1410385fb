package custody_test

import (
	"math/big"
	"testing"

	"github.com/dpreg/dpreg/mechanisms/ledger"
	"github.com/dpreg/dpreg/release"
)

// newLedger makes one with room for ε = 1.
func newLedger(t *testing.T, path string) error {
	return newLedgerOf(t, path, release.ReplaceOne)
}

func newLedgerOf(t *testing.T, path string, nb release.Neighbours) error {
	return ledger.Create(t.Context(), path, ledger.Budget{Data: "rows", Epsilon: big.NewRat(1, 1), Delta: big.NewRat(1, 100), Neighbours: string(nb), Filter: ledger.Auto})
}

// charges are those of a ledger.
func charges(t *testing.T, path string) []ledger.Entry {
	t.Helper()
	l, err := ledger.Open(t.Context(), path)
	must(t, err)
	defer l.Close()
	h, err := l.History(t.Context())
	must(t, err)
	return h.Entries
}
