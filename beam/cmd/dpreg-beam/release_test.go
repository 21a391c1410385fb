//go:build unix

package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/cryptotest"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"

	"github.com/dpreg/dpreg/beam/sums"
	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/mechanisms/ledger"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/table"
)

// ran is what the program did.
type ran struct {
	code           int
	stdout, stderr string
}

// program runs the program in a folder, and looks that nothing of it stays but there.
func program(t *testing.T, folder string, args ...string) ran {
	t.Helper()
	temporary := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), asProgram+"=1", "TMPDIR="+temporary)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(temporary); len(left) > 0 {
		t.Errorf("%q left %v", args, left)
	}
	return ran{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// ends looks how it ended, and for words on stderr.
func (r ran) ends(t *testing.T, code int, says string) {
	t.Helper()
	if r.code != code || !strings.Contains(r.stderr, says) {
		t.Errorf("it ended with %d, not %d, or without %q:\n%s", r.code, code, says, r.stderr)
	}
}

// workspace is a folder with rows/, of several files, and rows.schema.json.
func workspace(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	s := people(t)
	must.Do(t, os.Mkdir(filepath.Join(folder, "rows"), 0o700))
	for _, path := range s.paths {
		must.Do(t, os.Rename(path, filepath.Join(folder, "rows", filepath.Base(path))))
	}
	text := must.Get(os.ReadFile("../../../testdata/pums.schema.json"))(t)
	must.Do(t, os.WriteFile(filepath.Join(folder, "rows.schema.json"), text, 0o600))
	return folder
}

func TestRelease(t *testing.T) {
	folder := workspace(t)
	in := func(name string) string { return filepath.Join(folder, name) }
	budget := ledger.Budget{Data: "rows", Epsilon: big.NewRat(3, 2), Delta: new(big.Rat), Neighbours: "replace-one", Filter: ledger.Auto}
	must.Do(t, ledger.Create(t.Context(), in("budget"), budget))
	args := []string{"release", "--eps", "1", "--formula", "income ~ age + educ", "--ledger", "budget", "rows", "-o"}
	r := program(t, folder, append(args, "r.json")...)
	r.ends(t, custody.Done, "it spent ε = 1")
	if !strings.Contains(r.stdout, "n = 1000") {
		t.Errorf("stdout:\n%s", r.stdout)
	}
	made := must.Get(release.ReadFile(in("r.json")))(t)
	if made.N != 1000 || made.Simulated || made.Schema.Response.Name != "income" || len(made.Schema.Covariates) != 2 {
		t.Errorf("the release is of %d rows of %v", made.N, made.Schema)
	}
	program(t, folder, append(args, "r.json")...).ends(t, custody.Refused, "r.json is there already")
	program(t, folder, append(args, "again.json")...).ends(t, custody.Refused, "budget, the ledger of rows, has no room")
	program(t, folder, "release", "--eps", "1", "--missing", "drop", "rows", "-o", "x.json").ends(t, custody.Refused, "--neighbours")
	program(t, folder, "release", "--eps", "1", "--delta", "0.01", "--mechanism", "gaussian", "rows", "-o", "d.json").ends(t, custody.Done, "δ = 0.01 is not below 1/n")
	must.Do(t, os.WriteFile(in(".l.json.1.tmp"), nil, 0o600))
	program(t, folder, "release", "--eps", "1", "rows", "-o", "l.json").ends(t, custody.Refused, "was left by a run that was killed")
	if _, err := os.Stat(in("again.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a release that was not paid for")
	}
}

// noised is stderr that seeds the randomness of noise once the charge is told.
type noised struct {
	t    *testing.T
	said strings.Builder
}

func (n *noised) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "charged to") {
		cryptotest.SetGlobalRandom(n.t, 1)
	}
	return n.said.Write(p)
}

// Under seeded noise the release is, to the byte, that of dpreg.
func TestReleaseIsIdentical(t *testing.T) {
	folder := workspace(t)
	in := func(name string) string { return filepath.Join(folder, name) }
	budget := ledger.Budget{Data: "rows", Epsilon: big.NewRat(1, 1), Delta: new(big.Rat), Neighbours: "replace-one", Filter: ledger.Auto}
	must.Do(t, ledger.Create(t.Context(), in("budget"), budget))
	*jobopts.Endpoint, *jobopts.EnvironmentType = "", "" // in this process, whatever other tests asked for
	t.Setenv("TMPDIR", t.TempDir())
	stderr := noised{t: t}
	args := []string{"release", "--eps", "1", "--steps", "1", "--formula", "income ~ age + educ", "--ledger", in("budget"), in("rows"), "-o", in("r.json")}
	if code := run(t.Context(), new(bytes.Buffer), &stderr, args); code != custody.Done {
		t.Fatalf("exit code %d:\n%s", code, &stderr.said)
	}
	made := must.Get(os.ReadFile(in("r.json")))(t)
	golden := must.Get(os.ReadFile("../../../cmd/dpreg/testdata/releases.golden"))(t)
	if !strings.Contains(string(golden), fmt.Sprintf("%x formula\n", sha256.Sum256(made))) {
		t.Errorf("another release than dpreg's:\n%s", made)
	}
}

// So is one of three looks at the rows, each a job or two.
func TestLooksAreIdentical(t *testing.T) {
	folder := workspace(t)
	t.Setenv("TMPDIR", t.TempDir())
	*jobopts.Endpoint, *jobopts.EnvironmentType = "", ""
	cmd := newRelease()
	cmd.SetContext(t.Context())
	cmd.SetErr(io.Discard)
	f := releaseFlags{epsilon: "4", steps: "3", mechanism: "auto", neighbours: "replace-one", formula: "income~age+educ+sex", output: "r.json", engineFlags: engineFlags{attempts: 1}}
	c := must.Get(f.launch(cmd))(t)
	defer c.end()
	o := must.Get(f.order(cmd, c, filepath.Join(folder, "rows")))(t)
	sameRelease(t, o, filepath.Join(folder, "rows"), "dpreg-release/2")
}

// sameRelease asks that an order makes, with the same noise, the release that one process makes of the rows, which says
// something.
func sameRelease(t *testing.T, o custody.Order, data, says string) {
	t.Helper()
	var made [2][]byte
	for i, rows := range []custody.Source{o.Rows, custody.Files{Source: must.Get(table.Find(data))(t)}} {
		o.Rows, o.Path = rows, filepath.Join(t.TempDir(), fmt.Sprint(i, ".json"))
		o.Entropy = mechanisms.Simulated(rand.New(rand.NewPCG(1, 1)))
		must.Get(custody.Publish(t.Context(), o))(t)
		made[i] = must.Get(os.ReadFile(o.Path))(t)
	}
	if !bytes.Equal(made[0], made[1]) || !bytes.Contains(made[0], []byte(says)) {
		t.Errorf("another release than of one process:\n%s\n%s", made[0], made[1])
	}
}

// The first row that is wrong is told, in the order of the files, in one line that holds
// nothing of it, and nothing is spent.
func TestBadRows(t *testing.T) {
	folder := workspace(t)
	for name, line := range map[string]string{"07.csv": "59,1,secret,1,0,1\n", "03.csv": "59,1,,1,0,1\n"} {
		path := filepath.Join(folder, "rows", name)
		text := must.Get(os.ReadFile(path))(t)
		lines := strings.SplitAfter(string(text), "\n")
		lines[40] = line
		must.Do(t, os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600))
	}
	args := []string{"release", "--eps", "1", "-o", "r.json", "--staging", ".", "rows"}
	r := program(t, folder, args...)
	r.ends(t, custody.Misused, `03.csv:41: column "educ": missing value`)
	if strings.Count(r.stderr, "\n") != 2 { // where bounds are from is the other
		t.Errorf("stderr:\n%s", r.stderr)
	}
	r = program(t, folder, append(args, "--missing", "midpoint")...)
	r.ends(t, custody.Misused, `07.csv:41: column "educ"`)
	if strings.Contains(r.stderr, "secret") {
		t.Errorf("a cell is told: %s", r.stderr)
	}
	if _, err := os.Stat(filepath.Join(folder, "r.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("there is a release")
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "dpreg-*")); left != nil {
		t.Errorf("left in the staging directory: %v", left)
	}
}

func TestWrongUsage(t *testing.T) {
	folder := workspace(t)
	for _, c := range []struct{ args, says string }{
		{"release rows -o r.json", "--eps is missing"},
		{"release --eps 0 rows -o r.json", "ε must be above 0"},
		{"release --eps 1 rows", "-o FILE"},
		{"release --eps 1 -o r.json nothing", "nothing"},
		{"release --eps 1 -o no/r.json rows", "no/r.json: no such file or directory"},
		{"release --eps 1 -o r.json -", "standard input"},
		{"release --eps 1 -o r.json https://user:secret@host/rows", "https://user:…@host/rows"},
		{"release --eps 1 -o r.json --mechanism gaussian rows", "delta"},
		{"release --eps 1 -o r.json --formula income~height rows", "height"},
		{"release --eps 1 -o r.json --environment_type process rows", "--endpoint"},
		{"release --eps 1 -o r.json --runner prism rows", "--endpoint"},
		{"release --eps 1 -o r.json --runner PrismRunner --environment_type loopback rows", "--endpoint"},
		{"release --eps 1 -o r.json --runner flink --endpoint localhost:1 rows", "--staging"},
		{"release --eps 1 -o r.json --attempts 0 rows", "--attempts"},
		{"release --eps 1 -o r.json --person id --person-rows mean rows", "no such column"},
		{"release --eps 1 -o r.json --person age rows", "--person-rows is missing"},
		{"release --epsilon 1 rows", "--help"},
	} {
		program(t, folder, strings.Fields(c.args)...).ends(t, custody.Misused, c.says)
	}
}

// Where a worker's command is none, a job does not wait for ever.
func TestNoWorker(t *testing.T) {
	e := engines(t)[2]
	_, j, dir := e.start(t)
	*jobopts.EnvironmentConfig = `{"command": "/bin/false"}`
	j.Attempts, j.Patience = 1, 2*time.Second
	s := people(t)
	must.Fail(t, must.Err(sums.Sum(t.Context(), j, dir, s.paths, table.Options{}, s.design, s.kinds()[0])), "no worker")
}
