package ledger

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dpreg/dpreg/internal/must"
)

var kills = flag.Int("kills", 12, "how many processes that charge are killed, at random moments; docs/ledger.md has 500")

// The ledger of these tests has room for so many charges of 0.01.
const (
	cost = "0.01"
	room = 40
)

// released is where a process notes each charge of which it then drew the noise.
func released(path string) string { return path + ".released" }

// TestChargingProcess is no test but a process of the tests below: it charges until
// nothing is left.
func TestChargingProcess(t *testing.T) {
	path := os.Getenv("DPREG_TEST_LEDGER")
	if path == "" {
		t.Skip("a process of other tests")
	}
	notes := must.Get(os.OpenFile(released(path), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644))(t)
	for {
		l := must.Get(Open(context.Background(), path))(t)
		number, err := l.Charge(context.Background(), laplace(cost))
		var exhausted *ExhaustedError
		if errors.As(err, &exhausted) {
			return
		}
		must.Do(t, err)
		must.Get(fmt.Fprintln(notes, number))(t)
		must.Do(t, errors.Join(l.SetWritten(context.Background(), number), l.Close()))
	}
}

// charging starts such a process.
func charging(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	program := must.Get(os.Executable())(t)
	command := exec.Command(program, "-test.run=^TestChargingProcess$")
	command.Stdout = new(bytes.Buffer)
	command.Env = append(os.Environ(), "DPREG_TEST_LEDGER="+path)
	must.Do(t, command.Start())
	return command
}

// audit compares what a ledger shows with the charges whose noise was drawn.
func audit(h *History, drawn []int64) error {
	shown := make(map[int64]bool)
	for _, e := range h.Entries {
		shown[e.Number] = true
	}
	for _, number := range drawn {
		if !shown[number] {
			return fmt.Errorf("noise was drawn for charge %d, which the ledger does not show", number)
		}
		delete(shown, number)
	}
	if len(h.Entries) > room {
		return fmt.Errorf("%d charges, and there was room for %d", len(h.Entries), room)
	}
	return nil
}

// notes reads what processes noted; a line that was cut off is no release yet.
func notes(t *testing.T, path string) (drawn []int64) {
	t.Helper()
	text, err := os.ReadFile(released(path))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if number, err := strconv.ParseInt(strings.TrimSuffix(line, "\n"), 10, 64); err == nil && strings.HasSuffix(line, "\n") {
			drawn = append(drawn, number)
		}
	}
	return drawn
}

// Processes that are killed at any moment leave a ledger that opens, and that shows
// no less than was released.
func TestKilled(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 84)) // when to kill; what the processes do then is not repeatable
	dir := t.TempDir()
	for done, round := 0, 0; done < *kills; round++ {
		path := filepath.Join(dir, fmt.Sprintf("%d.db", round))
		must.Do(t, Create(context.Background(), path, budget("0.4", "0", Auto)))
		for full := false; done < *kills && !full; {
			var running []*exec.Cmd
			for range 3 {
				running = append(running, charging(t, path))
			}
			for _, command := range running {
				time.Sleep(time.Duration(rng.IntN(60)) * time.Millisecond)
				if err := errors.Join(command.Process.Kill(), command.Wait()); err != nil {
					done++ // else it had come to its end
				}
				if command.ProcessState.ExitCode() > 0 && runtime.GOOS != "windows" {
					t.Fatalf("a process failed:\n%s", command.Stdout)
				}
				drawn := notes(t, path) // before the ledger: others are at work
				h := history(t, open(t, path))
				must.Do(t, audit(h, drawn))
				full = len(h.Entries) == room
			}
		}
		t.Logf("%d kills, %d charges, %d with noise", done, len(history(t, open(t, path)).Entries), len(notes(t, path)))
	}
}

// Many processes at once charge all that there is, and not a charge more.
func TestManyProcesses(t *testing.T) {
	path := create(t, budget("0.4", "0", Auto))
	var running []*exec.Cmd
	for range 5 {
		running = append(running, charging(t, path))
	}
	for _, command := range running {
		if err := command.Wait(); err != nil {
			t.Errorf("%v:\n%s", err, command.Stdout)
		}
	}
	h := history(t, open(t, path))
	if err := audit(h, notes(t, path)); err != nil || len(h.Entries) != room || len(notes(t, path)) != room {
		t.Errorf("%d charges, %d with noise (%v)", len(h.Entries), len(notes(t, path)), err)
	}
}

// The audit can fail.
func TestAudit(t *testing.T) {
	h := &History{}
	for n := range int64(room) {
		h.Entries = append(h.Entries, Entry{Number: n + 1})
	}
	if err := audit(h, []int64{1, 7}); err != nil {
		t.Error(err)
	}
	over := &History{Entries: append(h.Entries, Entry{Number: room + 1})}
	for i, err := range []error{audit(h, []int64{room + 1}), audit(h, []int64{7, 7}), audit(over, []int64{1})} {
		if err == nil {
			t.Errorf("audit %d finds nothing", i)
		}
	}
}
