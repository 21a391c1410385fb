package custody_test

import (
	"math/big"
	"testing"

	"github.com/dpreg/dpreg/mechanisms/ledger"
)

// newLedger makes one with room for ε = 1.
func newLedger(t *testing.T, path string) error {
	return ledger.Create(t.Context(), path, ledger.Budget{Data: "rows", Epsilon: big.NewRat(1, 1), Delta: big.NewRat(1, 100), Neighbours: "replace-one", Filter: ledger.Auto})
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
