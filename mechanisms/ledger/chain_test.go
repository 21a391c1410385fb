package ledger

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

// Whoever wrote down a head finds a ledger that was put back to an old copy; so do two that
// went on from one copy. Totals, charges and names cannot be changed below a head.
func TestChainFindsWhatWasChanged(t *testing.T) {
	ctx := context.Background()
	path := create(t, budget("9", "1e-3", Auto))
	copied := filepath.Join(t.TempDir(), "copy.db")
	charge := func(path, epsilon string) string {
		t.Helper()
		l := open(t, path)
		must.Get(l.Charge(ctx, laplace(epsilon)))(t)
		return history(t, l).Head()
	}
	first := charge(path, "0.1")
	text := must.Get(os.ReadFile(path))(t)
	second := charge(path, "0.2")
	must.Do(t, os.WriteFile(copied, text, 0o600))
	at := func(path, head string) (int, bool) { return history(t, open(t, path)).At(head) }
	for head, want := range map[string]int{first: 1, second: 2, strings.ToUpper(first[:16]): 1} {
		if n, found := at(path, head); n != want || !found {
			t.Errorf("%s: %d, %v", head, n, found)
		}
	}
	if _, found := at(copied, second); found {
		t.Error("a copy has a head of later")
	}
	if branch := charge(copied, "0.2000001"); branch == second {
		t.Error("another charge has the same head")
	} else if _, found := at(path, branch); found {
		t.Error("a ledger has the head of its copy")
	}
	for _, statement := range []string{
		"DROP TRIGGER cost_stays; UPDATE charge SET epsilon = '0.01' WHERE number = 1",
		"DROP TRIGGER cost_stays; UPDATE charge SET release = 'x' WHERE number = 2",
		"DROP TRIGGER charge_is_kept; DELETE FROM charge WHERE number = 2",
		"DROP TRIGGER event_is_kept; DELETE FROM event WHERE number = 4",
		"DROP TRIGGER event_is_kept; DROP TRIGGER charge_is_kept; DELETE FROM event WHERE number = 3; DELETE FROM charge WHERE number = 1",
		"DROP TRIGGER event_stays; UPDATE event SET hash = 'x' WHERE number = 4",
		"DROP TRIGGER budget_stays; UPDATE budget SET epsilon = '99'",
		"DROP TRIGGER budget_stays; UPDATE budget SET epsilon = ''",
		"DROP TRIGGER budget_stays; UPDATE budget SET data = 'others'",
		"INSERT INTO charge VALUES (3, '2020-01-01T00:00:00Z', 'r', 'laplace', '1', '0', 0, 0, 0)",
		"INSERT INTO event (text, hash) VALUES ('total epsilon 99, delta 0, filter auto', 'x')",
	} {
		changed := filepath.Join(t.TempDir(), "changed.db")
		text, err := os.ReadFile(path)
		must.Do(t, errors.Join(err, os.WriteFile(changed, text, 0o600)))
		if err := meddle(t, changed, statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
		if n, err := open(t, changed).Charge(ctx, laplace("0.1")); !errors.Is(err, ErrUnusable) || n != 0 {
			t.Errorf("%s: number %d, error %v", statement, n, err)
		}
	}
}

// What dpreg does not offer, its tables refuse.
func TestChainStays(t *testing.T) {
	path := create(t, budget("9", "1e-3", Auto))
	for _, statement := range []string{
		"DELETE FROM event", "UPDATE event SET text = 'x'", "UPDATE secret SET key = x'00'", "DELETE FROM secret",
		"UPDATE budget SET epsilon = '99'", "UPDATE budget SET data = 'x'",
	} {
		if err := meddle(t, path, statement); err == nil {
			t.Errorf("%s: done", statement)
		}
	}
}

// A ledger without a total counts all and refuses nothing, until it gets one, once.
func TestTotalLater(t *testing.T) {
	ctx := context.Background()
	free := budget("1", "1e-3", Auto)
	free.Epsilon, free.Delta = nil, rat("0")
	path := create(t, free)
	l := open(t, path)
	for _, c := range []Charge{laplace("700"), gaussian(t, "3", "1e-5")} {
		must.Get(l.Charge(ctx, c))(t)
	}
	uses, err := history(t, l).Uses()
	if err != nil || text(uses[1].Epsilon) != "703" || uses[1].Part() != 0 {
		t.Errorf("%+v, %v", uses, err)
	}
	for _, b := range []Budget{budget("702", "1e-3", Auto), budget("800", "1e-6", Sum), free, {Neighbours: "add-remove", Epsilon: rat("900"), Delta: rat("0.1"), Filter: Auto}} {
		if err := l.SetTotal(ctx, b); !errors.Is(err, ErrUnusable) {
			t.Errorf("%v: error %v", b, err)
		}
	}
	must.Do(t, l.SetTotal(ctx, budget("705", "1e-3", Auto)))
	var exhausted *ExhaustedError
	if _, err := open(t, path).Charge(ctx, laplace("3")); !errors.As(err, &exhausted) {
		t.Errorf("error %v", err)
	}
	if err := l.SetTotal(ctx, budget("900", "1e-3", Auto)); !errors.Is(err, ErrUnusable) {
		t.Errorf("a total was raised: %v", err)
	}
}

// What any (ε, δ) of other software costs is what a pure release and its δ do, and never less.
func TestOtherMechanisms(t *testing.T) {
	h := &History{Budget: budget("2", "1e-5", Auto)}
	other := Charge{Epsilon: rat("0.5"), Delta: rat("1e-6"), Noise: Other, Sensitivity: 1e-9, Scale: 1, Neighbours: "replace-one"}
	n := 0
	for ; n < 100; n++ {
		ok := must.Get(h.Fits(other))(t)
		if !ok {
			break
		}
		h.Entries = append(h.Entries, Entry{Charge: other})
	}
	if n < 4 || n > 5 { // δ ≤ D/2 bounds them by 5, whatever the noise that they claim
		t.Errorf("%d fit", n)
	}
}

// Rows that are known are told from others by any column; new columns are added.
func TestMarks(t *testing.T) {
	ctx := context.Background()
	path := create(t, budget("9", "0", Auto))
	l := open(t, path)
	x, y, other := [16]byte{1}, [16]byte{2}, [16]byte{3}
	for _, m := range []Marks{{"rows": x, "x": x}, {"rows": x, "y": y}, {"x": x, "y": y}, nil} {
		if _, _, err := l.ChargeFor(ctx, m, laplace("0.1")); err != nil {
			t.Fatal(err)
		}
	}
	var others *OtherDataError
	for _, m := range []Marks{{"rows": other, "x": x}, {"y": other}, {"z": x, "x": y}} {
		if _, _, err := l.ChargeFor(ctx, m, laplace("0.1")); !errors.As(err, &others) || !errors.Is(err, ErrUnusable) || len(others.Columns) != 1 {
			t.Errorf("error %v", err)
		}
	}
	if n := len(history(t, l).Entries); n != 4 {
		t.Errorf("%d charges", n)
	}
	must.Do(t, l.Rebind(ctx))
	if _, _, err := l.ChargeFor(ctx, Marks{"rows": other}, laplace("0.1")); err != nil {
		t.Error(err)
	}
	h := history(t, l)
	for _, e := range h.Events {
		if strings.Contains(e.Text, "rows") {
			t.Errorf("the chain has %q", e.Text)
		}
	}
}

// A round of what a charge paid for has one answer, whoever opens the ledger; it is part of the chain.
func TestAnswers(t *testing.T) {
	ctx := context.Background()
	path := create(t, budget("9", "0", Auto))
	for range 2 {
		must.Get(open(t, path).Charge(ctx, laplace("0.1")))(t)
	}
	for _, c := range []struct {
		charge int64
		round  int
		digest string
		want   error
	}{{1, 1, "a", nil}, {1, 1, "a", nil}, {1, 1, "b", ErrAnswered}, {1, 12, "b", nil}, {1, 2, "c", nil}, {2, 1, "b", nil}, {1, 12, "a", ErrAnswered}} {
		if err := open(t, path).Answer(ctx, c.charge, c.round, c.digest); !errors.Is(err, c.want) {
			t.Errorf("%+v: error %v", c, err)
		}
	}
	h := history(t, open(t, path))
	if len(h.Events) != 2+2+4 || h.Answered(1) != 12 || h.Answered(2) != 1 || h.Answered(3) != 0 {
		t.Errorf("%+v", h.Events)
	}
	must.Do(t, meddle(t, path, `DROP TRIGGER event_is_kept; DELETE FROM event WHERE text LIKE 'answer to round 2,%'`))
	if _, err := open(t, path).History(ctx); !errors.Is(err, ErrUnusable) {
		t.Errorf("an answer that was taken away: error %v", err)
	}
}

// Two hard links are two names under which SQLite looks for what a killed run left.
func TestHardLink(t *testing.T) {
	path := create(t, budget("1", "0", Auto))
	if err := os.Link(path, filepath.Join(filepath.Dir(path), "other.db")); err != nil {
		t.Skip("no hard links here")
	}
	if _, err := Open(context.Background(), path); !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), "hard link") {
		t.Errorf("error %v", err)
	}
}
