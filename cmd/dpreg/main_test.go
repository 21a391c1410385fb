package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testdir"
)

// The exit codes.
const (
	done        = custody.Done
	failed      = custody.Failed
	misused     = custody.Misused
	refused     = custody.Refused
	unconverged = custody.Unconverged
	interrupted = custody.Interrupted
)

func TestMain(m *testing.M) { os.Exit(testdir.Run(m)) }

// result is what a run left behind.
type result struct {
	args           []string
	code           int
	stdout, stderr string
}

// command runs the program.
func command(args ...string) result { return commandContext(context.Background(), args...) }

func commandContext(ctx context.Context, args ...string) result {
	var stdout, stderr bytes.Buffer
	code := run(ctx, &stdout, &stderr, args)
	return result{args, code, stdout.String(), stderr.String()}
}

// silent is a command that is called, and shows nothing.
func silent(t *testing.T) *cobra.Command {
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	return cmd
}

// called is one of the program's commands.
func called(t *testing.T, name string) *cobra.Command {
	t.Helper()
	cmd, _, err := newRoot(nil).Find([]string{name})
	must.Do(t, err)
	return cmd
}

// quick keeps inference short: the least warm-up that there can be.
var quick = []string{"--chains", "2", "--warmup", "100", "--draws", "30"}

func fit(args ...string) result {
	return command(append(append([]string{"fit", "pums.csv"}, quick...), args...)...)
}

// finished fails unless a run was done. So few draws of a release whose noise
// nobody seeded may miss R-hat's limit, which is no fault here.
func (r result) finished(t *testing.T) result {
	t.Helper()
	if r.code != done && r.code != unconverged {
		t.Fatalf("exit code %d, stderr:\n%s", r.code, r.stderr)
	}
	return r
}

// ends fails unless a run ended with the code. One that did not do what it was asked for prints nothing.
func (r result) ends(t *testing.T, code int) result {
	t.Helper()
	if r.code != code || r.stdout != "" && (code == misused || code == refused || code == interrupted) {
		t.Fatalf("%q: exit code %d, want %d, stdout:\n%s\nstderr:\n%s", r.args, r.code, code, r.stdout, r.stderr)
	}
	return r
}

// says fails unless stderr holds the text.
func (r result) says(t *testing.T, text string) result {
	t.Helper()
	must.Say(t, r.stderr, text)
	return r
}

// workspace goes to a new directory with the example data.
func workspace(t *testing.T) {
	t.Helper()
	files := make(map[string]string)
	for _, name := range []string{"pums.csv", "pums.schema.json"} {
		files[name] = read(t, filepath.Join("../../testdata", name))
	}
	files["good.json"] = read(t, "../../testdata/pums-eps1.release.json")
	t.Chdir(t.TempDir())
	for name, text := range files {
		write(t, name, text)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	return string(must.Get(os.ReadFile(path))(t))
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(t, os.WriteFile(path, []byte(text), 0o644))
}

// tree is the content of every file of the working directory.
func tree(t *testing.T) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			files[path] = ""
			return err
		}
		files[path] = read(t, path)
		return nil
	})
	must.Do(t, err)
	return files
}

// refusals fails unless runs with these arguments end with the codes and the messages behind them, print
// nothing else and write nothing.
func refusals(t *testing.T, of map[string]string, run func(args string) result) {
	t.Helper()
	before := tree(t)
	for args, want := range of {
		code, text, _ := strings.Cut(want, " ")
		r := run(args)
		if fmt.Sprint(r.code) != code || !strings.Contains(r.stderr, text) || r.stdout != "" {
			t.Errorf("%q: exit code %d, want %s, stdout %q, stderr:\n%s", args, r.code, want, r.stdout, r.stderr)
		}
	}
	unchanged(t, before)
}

// unchanged fails where files were written, changed or removed since before.
func unchanged(t *testing.T, before map[string]string) {
	t.Helper()
	if after := tree(t); !maps.Equal(before, after) {
		for name := range after {
			if text, ok := before[name]; !ok || text != after[name] {
				t.Errorf("%s was written", name)
			}
		}
		for name := range before {
			if _, ok := after[name]; !ok {
				t.Errorf("%s was removed", name)
			}
		}
	}
}
