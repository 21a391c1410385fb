package ledger

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dpreg/dpreg/internal/must"
)

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
