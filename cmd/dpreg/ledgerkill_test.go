package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
)

var kills = flag.Int("kills", 6, "how many runs of dpreg release are killed, at random moments; docs/ledger.md has 500")

// TestReleasingProcess is no test but a process of the next one: it makes releases
// until the ledger has no room.
func TestReleasingProcess(t *testing.T) {
	dir := os.Getenv("DPREG_TEST_RELEASES")
	if dir == "" {
		t.Skip("a process of another test")
	}
	t.Chdir(dir)
	for i := 0; ; i++ {
		var stderr bytes.Buffer
		args := []string{"release", "pums.csv", "--eps", "0.01", "--steps", []string{"1", "3"}[i%2], "--ledger", "b.db", "-o", fmt.Sprintf("%d-%d.json", os.Getpid(), i)}
		switch code := run(context.Background(), io.Discard, &stderr, args); code {
		case done:
		case refused:
			return
		default:
			t.Fatalf("exit code %d: %s", code, stderr.String())
		}
	}
}

// However runs are killed, there are never more releases on the disk, the unfinished
// ones that a killed run leaves among them, than the ledger shows.
func TestKilledReleases(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 84)) // when to kill; what the runs do then is not repeatable
	most := testsize.Of(3, *kills)
	for done, ok := 0, true; ok && done < most; {
		ok = t.Run("ledger", func(t *testing.T) { done += killReleases(t, rng, most-done) })
	}
}

// killReleases kills so many runs, or as many as can be killed before a ledger that
// has room for 40 releases is exhausted, and says how many.
func killReleases(t *testing.T, rng *rand.Rand, most int) (killed int) {
	withLedger(t, "--eps", "0.4")
	dir := must.Get(os.Getwd())(t)
	program := must.Get(os.Executable())(t)
	for full := false; killed < most && !full; {
		var running []*exec.Cmd
		for range 3 {
			command := exec.Command(program, "-test.run=^TestReleasingProcess$")
			command.Stdout, command.Env = new(bytes.Buffer), append(os.Environ(), "DPREG_TEST_RELEASES="+dir)
			must.Do(t, command.Start())
			running = append(running, command)
		}
		for _, command := range running {
			time.Sleep(time.Duration(20+rng.IntN(150)) * time.Millisecond)
			if err := errors.Join(command.Process.Kill(), command.Wait()); err != nil {
				killed++ // else it had come to its end
			}
			if command.ProcessState.ExitCode() > 0 && runtime.GOOS != "windows" {
				t.Fatalf("a process failed:\n%s", command.Stdout)
			}
			made := countReleases(t) // before the ledger: others are at work
			charged := len(charges(t, "b.db"))
			if made > charged || charged > 40 {
				t.Fatalf("%d releases, %d charges of at most 40", made, charged)
			}
			full = charged == 40
		}
	}
	t.Logf("%d killed, %d charges, %d releases", killed, len(charges(t, "b.db")), countReleases(t))
	return killed
}

// countReleases counts those of the working directory, by the names that they were to
// have: between linking and removing one has two. A file .new-* only tried whether one
// can be written.
func countReleases(t *testing.T) int {
	t.Helper()
	entries := must.Get(os.ReadDir("."))(t)
	made := make(map[string]bool)
	for _, e := range entries {
		name, rest, isRelease := strings.Cut(strings.TrimPrefix(e.Name(), "."), ".json")
		if isRelease && strings.Contains(name, "-") && !strings.HasPrefix(rest, ".new-") {
			made[name] = true
		}
	}
	return len(made)
}
