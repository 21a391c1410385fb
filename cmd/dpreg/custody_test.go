package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/internal/must"
)

// What a custodian paid for is not paid for twice, and not lost.

func TestTwoRunsAtOnce(t *testing.T) {
	workspace(t)
	for round := range 10 {
		path := fmt.Sprintf("r%d.json", round)
		results := make(chan result)
		for range 3 {
			go func() { results <- command("release", "pums.csv", "--eps", "1", "-o", path) }()
		}
		written := 0
		for range 3 {
			r := <-results
			switch {
			case r.code == done:
				written++
			case r.code != refused || r.stdout != "" || strings.Contains(r.stderr, "spent ε ="):
				t.Errorf("exit code %d, stdout %q, stderr:\n%s", r.code, r.stdout, r.stderr)
			}
		}
		if written != 1 {
			t.Errorf("%d runs at once made a release", written)
		}
		if left, err := files.Leftovers(path); err != nil || left != nil {
			t.Errorf("left behind: %v (%v)", left, err)
		}
	}
}

// A run that was killed after it drew its noise left a release under another name.
func TestLeftoverOfKilledRun(t *testing.T) {
	workspace(t)
	command("release", "pums.csv", "--eps", "1").ends(t, done)
	const left = ".pums.release.json.123456.tmp"
	must.Do(t, os.Rename("pums.release.json", left))
	write(t, ".r.json.1.tmp", read(t, left)[:100])
	write(t, ".good.json.1.tmp", read(t, left))
	before := tree(t)
	for args, mv := range map[string]bool{
		"release pums.csv --eps 1":                            true,
		"release pums.csv --eps 1 --spend-again":              true,
		"fit pums.csv --eps 1":                                true,
		"fit pums.csv --eps 1 --release r.json":               false, // it is not complete
		"release pums.csv --eps 1 --spend-again -o good.json": false, // it would be lost
	} {
		r := command(strings.Fields(args)...).says(t, "killed").says(t, "rm ")
		if r.code != refused || strings.Contains(r.stderr, "mv "+left+" pums.release.json") != mv {
			t.Errorf("%v: exit code %d, stderr:\n%s", args, r.code, r.stderr)
		}
	}
	unchanged(t, before)
	must.Do(t, os.Rename(left, "pums.release.json"))
	fit("--eps", "1", "--method", "gibbs-ss-update").finished(t).says(t, "no further cost")
}

func TestReleaseOnUnmountedDisk(t *testing.T) {
	workspace(t)
	if err := os.Symlink("vault/pums.release.json", "pums.release.json"); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{"release", "fit"} {
		for _, more := range []string{"--eps=1", "--spend-again"} {
			command(name, "pums.csv", "--eps", "1", more).says(t, "pums.release.json: it is a link").ends(t, misused)
		}
	}
	if target, err := os.Readlink("pums.release.json"); err != nil || target != "vault/pums.release.json" {
		t.Errorf("the link was replaced (%v)", err)
	}
}

// meddle changes the data while the rows are summed: the sum looks at its context.
type meddle struct {
	context.Context
	change func()
}

func (m meddle) Err() error {
	m.change()
	return m.Context.Err()
}

func TestDataThatChangeWhileRead(t *testing.T) {
	for name, change := range map[string]func() error{
		"appended": func() error {
			f, err := os.OpenFile("pums.csv", os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = io.WriteString(f, "1,1,1,1,1,1\n")
			return err
		},
		"replaced": func() error { return os.Rename("other.csv", "pums.csv") },
		"removed":  func() error { return os.Remove("pums.csv") },
	} {
		t.Run(name, func(t *testing.T) {
			workspace(t)
			write(t, "other.csv", read(t, "pums.csv"))
			once := false
			ctx := meddle{context.Background(), func() {
				if once {
					return
				}
				once = true
				if err := change(); err != nil {
					t.Error(err)
				}
			}}
			if r := commandContext(ctx, "release", "pums.csv", "--eps", "1").says(t, "pums.csv changed while it was read"); r.code == done {
				t.Error("it is done")
			}
			if _, err := os.Stat("pums.release.json"); err == nil {
				t.Error("a release was made")
			}
		})
	}
}

// --save must not write over the data, the release or the prior.
func TestSaveSparesInputs(t *testing.T) {
	for name, args := range map[string]string{
		"the data":                "fit s/draws-1.csv --eps 1 --release r.json --save s",
		"a release to be made":    "fit pums.csv --eps 1 --release s/summary.json --save s",
		"the same, other words":   "fit pums.csv --eps 1 --release ./s/../s/summary.json --save s/",
		"a directory to be made":  "fit pums.csv --eps 1 --release s2 --save s2",
		"a prior":                 "fit pums.csv --eps 1 --prior s/draws-2.csv --save s --chains 4",
		"a schema":                "fit pums.csv --eps 1 --schema s/draws-3.csv --save s --chains 4",
		"a release":               "infer s/draws-4.csv --save s --chains 4",
		"non-private, the data":   "fit s/draws-1.csv --method non-private --i-hold-the-data --save s",
		"a release, by a symlink": "infer link.json --save s --chains 4",
	} {
		t.Run(name, func(t *testing.T) {
			workspace(t)
			must.Do(t, os.Mkdir("s", 0o755))
			write(t, "s/draws-1.csv", read(t, "pums.csv"))
			write(t, "s/draws-1.schema.json", read(t, "pums.schema.json"))
			write(t, "s/draws-2.csv", "{}")
			write(t, "s/draws-3.csv", read(t, "pums.schema.json"))
			write(t, "s/draws-4.csv", read(t, "good.json"))
			if err := os.Symlink("s/draws-4.csv", "link.json"); err != nil {
				t.Skip(err)
			}
			before := tree(t)
			command(append(append([]string{strings.Fields(args)[0]}, quick...), strings.Fields(args)[1:]...)...).says(t, "would be overwritten").ends(t, misused)
			unchanged(t, before)
		})
	}
}

// Draws of another run are found whatever the directory is called.
func TestSaveInDirectoryWithBrackets(t *testing.T) {
	workspace(t)
	must.Do(t, os.Mkdir("s[1]", 0o755))
	write(t, "s[1]/draws-9.csv", "")
	command("infer", "good.json", "--save", "s[1]").says(t, "s[1]/draws-9.csv").ends(t, misused)
}

// What was computed from the rows without noise, only its owner may read.
func TestNonPrivateIsSavedForOwner(t *testing.T) {
	workspace(t)
	fit("--method", "non-private", "--i-hold-the-data", "--formula", educ, "--save", "s").finished(t)
	fit("--eps", "1", "--formula", educ, "--save", "p").finished(t)
	for path, want := range map[string]os.FileMode{
		"s": 0o700, "s/summary.json": 0o600, "s/draws-1.csv": 0o600, "p/summary.json": 0o644, "pums.release.json": 0o644,
	} {
		info := must.Get(os.Stat(filepath.FromSlash(path)))(t)
		if info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, want %v", path, info.Mode().Perm(), want)
		}
	}
}

// A release in steps says how far it is; another number of steps is another release.
func TestReleaseInSteps(t *testing.T) {
	workspace(t)
	command("release", "pums.csv", "--eps", "1", "--steps", "3", "--formula", "income~educ").finished(t).says(t, "step 1 of 3: radii").says(t, "step 3 of 3: sums")
	command("fit", "pums.csv", "--eps", "1", "--steps", "1", "--formula", "income~educ").says(t, "looks at the rows: 3, not 1").ends(t, refused)
}
