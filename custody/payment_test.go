package custody_test

import (
	"io"
	"math/big"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/must"
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
	l := must.Get(ledger.Open(t.Context(), path))(t)
	defer l.Close()
	h := must.Get(l.History(t.Context()))(t)
	return h.Entries
}

// A run goes on where its ledger has it: a round has one answer, and what ends before the last one that was answered
// is an older copy.
func TestRunGoesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	must.Do(t, newLedger(t, path))
	run := ledger.Charge{Epsilon: big.NewRat(1, 2), Delta: big.NewRat(1, 1000), Noise: ledger.Sampled, Sensitivity: 0.1, Scale: 1, Neighbours: string(release.ReplaceOne), Release: "run"}
	payment := func(cost ...ledger.Charge) *custody.Payment {
		t.Helper()
		return must.Get(custody.NewPayment(t.Context(), func(string) {}, custody.Account{Path: path}, string(release.ReplaceOne), cost...))(t)
	}
	refused := func(err error, says string) {
		t.Helper()
		if custody.Exit(t.Context(), io.Discard, "dpreg", err) != custody.Refused || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v", err)
		}
	}
	first := payment(run)
	must.Do(t, first.Pay(t.Context(), nil))
	must.Do(t, first.Answer(t.Context(), 1, []float64{1, 2}))
	must.Do(t, first.Answer(t.Context(), 2, []float64{1, 2}))
	first.Finish(t.Context(), false)

	again := payment()
	_, err := again.Stands(t.Context(), "run", 1, again.Marks())
	refused(err, "it ends with round 1, and "+path+" has an answer to round 2")
	if stands, err := again.Stands(t.Context(), "another run", 1, again.Marks()); stands || err != nil {
		t.Errorf("%v, error %v", stands, err)
	}
	stands, err := again.Stands(t.Context(), "run", 2, again.Marks())
	if must.Do(t, err); !stands {
		t.Error("the charge does not stand")
	}
	must.Do(t, again.Answer(t.Context(), 2, []float64{1, 2}))
	refused(again.Answer(t.Context(), 2, []float64{2, 1}), "another answer to round 2")
	must.Do(t, again.Answer(t.Context(), 3, []float64{2, 1}))
	again.Finish(t.Context(), true)
	if all := charges(t, path); len(all) != 1 || !all[0].Written {
		t.Errorf("%+v", all)
	}
}
