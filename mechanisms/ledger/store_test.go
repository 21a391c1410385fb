package ledger

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testdir"
)

func TestMain(m *testing.M) { os.Exit(testdir.Run(m)) }

// create makes a ledger in a new directory.
func create(t *testing.T, b Budget) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a budget? 100%.db") // a name that a URI must quote
	must.Do(t, Create(context.Background(), path, b))
	return path
}

func open(t *testing.T, path string) *Ledger {
	t.Helper()
	l := must.Get(Open(context.Background(), path))(t)
	t.Cleanup(func() { l.Close() })
	return l
}

func history(t *testing.T, l *Ledger) *History {
	t.Helper()
	return must.Get(l.History(context.Background()))(t)
}

func TestCharge(t *testing.T) {
	ctx := context.Background()
	path := create(t, budget("1", "1e-6", Sum))
	l := open(t, path)
	costs := []Charge{laplace("0.1"), gaussian(t, "0.3", "1e-200")}
	costs[1].Release = "höhe.json"
	for i, c := range costs {
		must.Do(t, l.Check(ctx, nil, c))
		if n, err := l.Charge(ctx, c); err != nil || n != int64(i+1) {
			t.Fatal(n, err)
		}
	}
	must.Do(t, l.SetWritten(ctx, 2))
	var exhausted *ExhaustedError
	if _, err := l.Charge(ctx, laplace("0.601")); !errors.As(err, &exhausted) || len(exhausted.History.Entries) != 2 {
		t.Errorf("error %v", err)
	}
	other := laplace("0.1")
	other.Neighbours = "add-remove"
	if err := l.Check(ctx, nil, other); !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), "one relation") {
		t.Errorf("error %v", err)
	}
	l.Close()

	h := history(t, open(t, path))
	if h.Budget.Data != "test" || h.Budget.Epsilon.Cmp(rat("1")) != 0 || h.Budget.Delta.Cmp(rat("1e-6")) != 0 || h.Budget.Filter != Sum || len(h.Entries) != 2 {
		t.Fatalf("%+v", h)
	}
	for i, e := range h.Entries {
		want := costs[i]
		if e.Epsilon.Cmp(want.Epsilon) != 0 || e.Delta.Cmp(want.Delta) != 0 || e.Noise != want.Noise || e.Release != want.Release ||
			e.Scale != want.Scale || e.Sensitivity != want.Sensitivity || e.Number != int64(i+1) || e.Written != (i == 1) || time.Since(e.Time) > time.Hour {
			t.Errorf("%+v, want %+v", e, want)
		}
	}
}

func TestBadCharges(t *testing.T) {
	l := open(t, create(t, budget("1", "1e-6", Auto)))
	broken := func(change func(*Charge)) Charge {
		c := gaussian(t, "0.1", "1e-7")
		change(&c)
		return c
	}
	for i, c := range []Charge{
		{Neighbours: "replace-one"},
		laplace("0"), laplace("-1"), laplace("1/3"),
		broken(func(c *Charge) { c.Noise = "none" }), broken(func(c *Charge) { c.Noise = Laplace }), broken(func(c *Charge) { c.Delta = new(big.Rat) }),
		broken(func(c *Charge) { c.Delta = rat("-1e-7") }), broken(func(c *Charge) { c.Scale = 0 }), broken(func(c *Charge) { c.Sensitivity = -1 }),
	} {
		if n, err := l.Charge(context.Background(), c); err == nil {
			t.Errorf("charge %d is number %d", i, n)
		}
	}
	if h := history(t, l); len(h.Entries) != 0 {
		t.Errorf("%+v", h.Entries)
	}
}

func TestCreateFails(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	for name, b := range map[string]Budget{
		"no ε": budget("0", "0", Auto), "negative": budget("-1", "0", Auto), "δ": budget("1", "-1e-6", Auto), "δ = 1": budget("1", "1", Auto),
		"filter": budget("1", "0", "least"), "a third": budget("1/3", "0", Auto), "nothing": {Filter: Auto},
	} {
		if err := Create(ctx, filepath.Join(dir, "b.db"), b); !errors.Is(err, ErrUnusable) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if err := Create(ctx, filepath.Join(dir, "no", "b.db"), budget("1", "0", Auto)); err == nil || strings.Contains(err.Error(), ".tmp") {
		t.Errorf("error %v", err)
	}
	path := create(t, budget("1", "0", Auto))
	if err := Create(ctx, path, budget("2", "0", Auto)); !errors.Is(err, fs.ErrExist) {
		t.Errorf("error %v", err)
	}
	// Of many at once, one makes it.
	errs, contested := make(chan error), filepath.Join(dir, "contested.db")
	for range 6 {
		go func() { errs <- Create(ctx, contested, budget("1", "0", Auto)) }()
	}
	made := 0
	for range 6 {
		if err := <-errs; err == nil {
			made++
		} else if !errors.Is(err, fs.ErrExist) && !strings.Contains(err.Error(), "exists") {
			t.Error(err)
		}
	}
	open(t, contested)
	if entries, err := os.ReadDir(dir); made != 1 || err != nil || len(entries) != 1 {
		t.Errorf("%d made it, and the directory has %v (%v)", made, entries, err)
	}
}

// meddle changes a ledger behind dpreg's back.
func meddle(t *testing.T, path, statement string) error {
	t.Helper()
	db := must.Get(connect(path))(t)
	defer db.Close()
	_, err := db.Exec(statement)
	return err
}

func TestUnusableFiles(t *testing.T) {
	ctx := context.Background()
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "x.db")
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	changed := func(statement string) string {
		path := create(t, budget("1", "1e-6", Auto))
		must.Do(t, meddle(t, path, statement))
		return path
	}
	charge := "INSERT INTO charge VALUES (1, '2020-01-01T00:00:00Z', 'r', 'laplace', "
	for path, want := range map[string]string{
		filepath.Join(t.TempDir(), "x"): "no such ledger",
		t.TempDir():                     "not a regular file",
		file(""):                        "not a ledger of dpreg",
		file(strings.Repeat("age,income\n", 1e3)):                                  "no SQLite database",
		changed("PRAGMA application_id = 1"):                                       "not a ledger of dpreg",
		changed("PRAGMA user_version = 1"):                                         "version 1",
		changed("PRAGMA user_version = 3"):                                         "version 3",
		changed("DROP TRIGGER budget_stays; UPDATE budget SET epsilon = 'much'"):   "damaged",
		changed("DROP TRIGGER budget_stays; UPDATE budget SET delta = '-1'"):       "damaged",
		changed(charge + "'a lot', '0', 0, 0, 0)"):                                 "damaged: charge 1",
		changed(charge + "'-1', '0', 0, 0, 0)"):                                    "damaged: charge 1",
		changed(strings.Replace(charge, "2020", "soon", 1) + "'1', '0', 0, 0, 0)"): "damaged: charge 1",
	} {
		l, err := Open(ctx, path)
		if err == nil {
			_, err = l.Charge(ctx, laplace("0.1"))
			l.Close()
		}
		if !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
	for _, statement := range []string{"DELETE FROM charge", "UPDATE charge SET epsilon = '0.01'", "DELETE FROM budget", "UPDATE budget SET epsilon = '9'"} {
		path := create(t, budget("1", "0", Auto))
		must.Get(open(t, path).Charge(ctx, laplace("1")))(t)
		if err := meddle(t, path, statement); err == nil {
			t.Errorf("%s: done", statement)
		}
	}
}

func TestLockedAndReadOnly(t *testing.T) {
	wait = 50 * time.Millisecond
	defer func() { wait = 30 * time.Second }()
	ctx := context.Background()
	path := create(t, budget("1", "0", Auto))
	other := open(t, path)
	tx := must.Get(other.db.Begin())(t)
	l := open(t, path)
	if _, err := l.Charge(ctx, laplace("0.1")); !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), "another process") {
		t.Errorf("error %v", err)
	}
	history(t, l) // can be read all the same
	must.Do(t, errors.Join(tx.Rollback(), l.Close()))

	must.Do(t, os.Chmod(path, 0o444))
	l = open(t, path)
	history(t, l)
	if os.Getuid() == 0 {
		return // whom no mode keeps from writing
	}
	if err := l.Check(ctx, nil, laplace("0.1")); !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), "cannot be written") {
		t.Errorf("error %v", err)
	}
}

// Whoever waits for another process can be interrupted, also where only the commit waits.
func TestInterruptedWait(t *testing.T) {
	path := create(t, budget("1", "0", Auto))
	l := open(t, path)
	other := must.Get(open(t, path).db.Conn(t.Context()))(t)
	charge := func(ctx context.Context) error { _, err := l.Charge(ctx, laplace("0.5")); return err }
	all := []func(context.Context) error{
		charge,
		func(ctx context.Context) error { return l.Check(ctx, nil, laplace("0.5")) },
		func(ctx context.Context) error { return l.SetWritten(ctx, 1) },
		func(ctx context.Context) error { _, err := l.History(ctx); return err },
		func(ctx context.Context) error { _, err := Open(ctx, path); return err },
	}
	for hold, waiting := range map[string][]func(context.Context) error{
		"BEGIN EXCLUSIVE":                  all,
		"BEGIN; SELECT number FROM charge": all[:1],
	} {
		must.Get(other.ExecContext(t.Context(), hold))(t)
		for i, do := range waiting {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(50*time.Millisecond, cancel)
			start := time.Now()
			if err := do(ctx); !errors.Is(err, context.Canceled) || time.Since(start) > wait/3 {
				t.Errorf("%s, %d: error %v after %v", hold, i, err, time.Since(start))
			}
		}
		must.Get(other.ExecContext(t.Context(), "ROLLBACK"))(t)
	}
	if err := charge(t.Context()); err != nil || len(history(t, l).Entries) != 1 {
		t.Errorf("error %v", err)
	}
}

func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	l := open(t, create(t, budget("1", "0", Auto)))
	if _, err := l.Charge(ctx, laplace("0.1")); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if h := history(t, l); len(h.Entries) != 0 {
		t.Error("charged")
	}
}

// A commit that fails says whether the charge stands, and one that does nothing is no charge.
func TestFailedCommit(t *testing.T) {
	wait = 50 * time.Millisecond
	defer func() { wait = 30 * time.Second }()
	ctx := t.Context()
	path := create(t, budget("1", "0", Auto))
	l := open(t, path)
	reader := must.Get(open(t, path).db.Conn(ctx))(t)
	for _, statement := range []string{"BEGIN", "SELECT * FROM charge"} { // who reads keeps a commit waiting
		must.Get(reader.ExecContext(ctx, statement))(t)
	}
	if n, err := l.Charge(ctx, laplace("0.5")); n != 0 || !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), "nothing was charged") {
		t.Errorf("number %d, error %v", n, err)
	}
	if h := history(t, l); len(h.Entries) != 0 {
		t.Errorf("%+v", h.Entries)
	}
	must.Get(reader.ExecContext(ctx, "ROLLBACK"))(t)
	if n, err := l.Charge(ctx, laplace("0.5")); n != 1 || err != nil {
		t.Fatalf("number %d, error %v", n, err)
	}
	// Some failures come after the charge is on the disk, and some let nothing be read.
	made, failed := history(t, l).Entries, errors.New("power failed")
	if _, err := l.confirm(ctx, made, failed); !errors.Is(err, failed) || !strings.Contains(err.Error(), "No 1 was charged all the same") {
		t.Errorf("error %v", err)
	}
	must.Do(t, os.Rename(path, path+".away"))
	l.db.SetMaxIdleConns(0) // a connection that is open still reads the file
	if _, err := l.confirm(ctx, made, failed); !errors.Is(err, failed) || !strings.Contains(err.Error(), "take it for spent") {
		t.Errorf("error %v", err)
	}
}

// What the file does not hold after the commit, as it was given, is not charged.
func TestChargeNotKept(t *testing.T) {
	for _, trigger := range []string{
		"BEFORE INSERT ON charge BEGIN SELECT RAISE(IGNORE); END",
		"AFTER INSERT ON charge BEGIN DELETE FROM charge; END",
		"AFTER INSERT ON charge BEGIN UPDATE charge SET epsilon = '0.0001'; END",
	} {
		path := create(t, budget("1", "1e-6", Auto))
		l := open(t, path)
		must.Get(l.Charge(context.Background(), laplace("0.1")))(t)
		must.Do(t, meddle(t, path, "DROP TRIGGER cost_stays; DROP TRIGGER charge_is_kept; CREATE TRIGGER planted "+trigger))
		for _, parts := range [][]Charge{{laplace("0.1")}, {laplace("0.1"), gaussian(t, "0.1", "1e-7")}} {
			if n, err := l.Charge(context.Background(), parts...); n != 0 || !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), "did not keep") {
				t.Errorf("%s: number %d, error %v", trigger, n, err)
			}
		}
	}
}

// The parts of a release are charged together or not at all, and count as if they
// were charged one by one.
func TestChargeOfParts(t *testing.T) {
	ctx := context.Background()
	for _, filter := range []Filter{Sum, Auto} {
		path := create(t, budget("1", "1e-6", filter))
		l := open(t, path)
		first, second := laplace("0.1"), gaussian(t, "0.4", "4e-7")
		if n, err := l.Charge(ctx, first, second); err != nil || n != 2 {
			t.Fatal(n, err)
		}
		var exhausted *ExhaustedError
		_, err := l.Charge(ctx, laplace("0.3"), gaussian(t, "0.7", "4e-7"))
		if !errors.As(err, &exhausted) || len(exhausted.History.Entries) != 2 ||
			exhausted.Charge.Epsilon.Cmp(rat("1")) != 0 || exhausted.Charge.Delta.Cmp(rat("4e-7")) != 0 {
			t.Errorf("error %v", err)
		}
		stranger := second
		stranger.Neighbours = "add-remove"
		if err := l.Check(ctx, nil, first, stranger); !errors.Is(err, ErrUnusable) {
			t.Errorf("error %v", err)
		}
		h := history(t, l)
		if len(h.Entries) != 2 || h.Entries[0].Noise != Laplace || h.Entries[1].Noise != Gaussian {
			t.Errorf("charged %+v", h.Entries)
		}
		one := &History{Budget: h.Budget, Entries: []Entry{{Charge: first}, {Charge: second}}}
		for _, c := range []Charge{laplace("0.5"), laplace("0.500001"), gaussian(t, "0.5", "5e-7"), gaussian(t, "0.5", "7e-7")} {
			want := must.Get(one.Fits(c))(t)
			if got, err := h.Fits(c); got != want || err != nil {
				t.Errorf("%s: ε = %v: %v, %v, want %v", filter, c.Epsilon, got, err, want)
			}
		}
	}
}

// A process that ends waits until what it writes is written, and no longer than it is told to.
func TestAtRest(t *testing.T) {
	l := open(t, create(t, budget("1", "0", Auto)))
	began := make(chan bool)
	var written atomic.Bool
	go l.change(context.Background(), func(tx *sql.Conn, h *History) error {
		close(began)
		time.Sleep(200 * time.Millisecond)
		_, err := chain(context.Background(), tx, h.Head(), dataEvent)
		written.Store(err == nil)
		return err
	})
	<-began
	if AtRest(time.Millisecond); written.Load() {
		t.Error("it waited for longer than it was told to")
	}
	AtRest(time.Minute)
	defer writing.Unlock() // for other tests: a process would be over
	if _, err := os.Stat(l.path + "-journal"); !written.Load() || err == nil {
		t.Errorf("it did not wait, or a journal is there: %v", err)
	}
}
