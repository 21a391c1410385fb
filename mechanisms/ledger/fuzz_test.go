package ledger

import (
	"context"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/dpreg/dpreg/internal/must"
)

// A ledger of any bytes is refused, or has a history that can be asked what it has room
// for; and it is never overdrawn.
func FuzzOpen(f *testing.F) {
	wait = 100 * time.Millisecond
	ctx := context.Background()
	path := filepath.Join(f.TempDir(), "b.db")
	b := Budget{Data: "a", Neighbours: "replace-one", Epsilon: big.NewRat(1, 1), Delta: big.NewRat(1, 1000), Filter: Auto}
	must.Do(f, Create(ctx, path, b))
	half := Charge{Epsilon: big.NewRat(1, 2), Delta: new(big.Rat), Noise: Laplace, Neighbours: "replace-one", Release: "r"}
	for range 2 {
		text := must.Get(os.ReadFile(path))(f)
		f.Add(text)
		l := must.Get(Open(ctx, path))(f)
		if _, err := l.Charge(ctx, half); err != nil {
			f.Fatal(err)
		}
		must.Do(f, l.Close())
	}
	f.Add([]byte{})
	f.Add([]byte("SQLite format 3\x00"))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "b.db")
		must.Do(t, os.WriteFile(path, text, 0o600))
		l, err := Open(ctx, path)
		if err != nil {
			return
		}
		defer l.Close()
		h, err := l.History(ctx)
		if err != nil {
			return
		}
		ok, err := h.Fits(half)
		if err != nil || !ok {
			return
		}
		sum := new(big.Rat).Set(half.Epsilon)
		for _, e := range h.Entries {
			sum.Add(sum, e.Epsilon)
		}
		if h.Budget.Delta.Sign() == 0 && sum.Cmp(h.Budget.Epsilon) > 0 {
			t.Errorf("charges of %v have room in a budget of %v", sum, h.Budget.Epsilon)
		}
	})
}

// A number of a ledger is read as it was written, to its last digit.
func FuzzDecimal(f *testing.F) {
	for _, s := range []string{"0.1", "1e-200", "1/3", "-2", "1e99999", "0x1p-3", "1_0", "", "inf"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 1000 {
			return
		}
		x := parse(s)
		if x == nil || decimals(x) != nil {
			return
		}
		if again := parse(text(x)); again == nil || again.Cmp(x) != 0 {
			t.Errorf("%q is written as %q, and read as another number", s, text(x))
		}
	})
}
