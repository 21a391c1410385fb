package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/signature"
)

const educ = "income ~ educ"

func TestFitSpendsOnce(t *testing.T) {
	workspace(t)
	first := fit("--eps", "1", "--formula", educ).finished(t).says(t, "release written to pums.release.json")
	must.Say(t, first.stdout, "epsilon = 1", "income ~ educ", "(Intercept)", "R-hat", "Price of privacy")
	made := tree(t)

	second := fit("--eps", "1.0", "--formula", educ).finished(t).says(t, "no further cost")
	if second.stdout != first.stdout {
		t.Errorf("the same release and seed gave another result:\n%s\n%s", first.stdout, second.stdout)
	}
	for _, args := range [][]string{
		{"--eps", "2", "--formula", educ},
		{"--eps", "1", "--formula", "income ~ educ + age"},
		{"--eps", "1", "--formula", educ, "--bounds", "income=0:100000"},
		{"--eps", "1", "--formula", educ + " - 1"},
	} {
		fit(args...).says(t, "spend ε again").ends(t, refused)
	}
	fit("--eps", "1", "--formula", "educ ~ income").says(t, "dpreg infer pums.release.json --formula 'educ ~ income'").ends(t, refused)
	unchanged(t, made)
}

func TestFitOfNewerData(t *testing.T) {
	workspace(t)
	fit("--eps", "1", "--formula", educ).finished(t)
	later := time.Now().Add(time.Hour)
	must.Do(t, os.Chtimes("pums.csv", later, later))
	made := tree(t)
	fit("--eps", "1", "--formula", educ).says(t, "newer").ends(t, refused)
	unchanged(t, made)
	fit("--eps", "0.5", "--formula", educ, "--spend-again").finished(t).says(t, "adds up to 1.5")
	r := must.Get(release.ReadFile("pums.release.json"))(t)
	if r.Privacy.Epsilon != 0.5 {
		t.Errorf("the release has ε = %v", r.Privacy.Epsilon)
	}
}

func TestReleaseThenInfer(t *testing.T) {
	workspace(t)
	r := command("release", "pums.csv", "--eps", "1", "-o", "all.json")
	if r.code != done || !strings.Contains(r.stdout, "27 sums") {
		t.Fatalf("exit code %d, stdout:\n%s\nstderr:\n%s", r.code, r.stdout, r.stderr)
	}
	command("release", "pums.csv", "--eps", "1", "-o", "all.json", "--spend-again").ends(t, done)
	made := tree(t)
	for _, formula := range []string{"income ~ age + educ", "age ~ married"} {
		args := append([]string{"infer", "all.json", "--formula", formula}, quick...)
		if r := command(args...).finished(t); !strings.Contains(r.stdout, formula) {
			t.Errorf("%s: %s", formula, r.stdout)
		}
	}
	if r := command("show", "all.json"); r.code != done || r.stderr != "" || !strings.Contains(r.stdout, "educ × income") {
		t.Errorf("show: exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	unchanged(t, made)
}

func TestSubModelOfRelease(t *testing.T) {
	workspace(t)
	command("release", "pums.csv", "--eps", "1").ends(t, done)
	fit("--eps", "1", "--formula", educ).says(t, "dpreg infer pums.release.json --formula 'income ~ educ'").ends(t, refused)
}

func TestUndescribedColumnsAreLeftOut(t *testing.T) {
	workspace(t)
	write(t, "pums.schema.json", `{"fields":[{"name":"educ","constraints":{"minimum":1,"maximum":16}},{"name":"age","constraints":{"minimum":0,"maximum":100}}]}`)
	command("release", "pums.csv", "--eps", "1", "--bounds", "income=0:500000").says(t, `"sex", "race", "married"`).ends(t, done)
	// The order is the data's, not the schema's.
	if r := command("show", "pums.release.json"); !strings.Contains(r.stdout, "income ~ age + educ") {
		t.Error(r.stdout)
	}
}

func TestFormats(t *testing.T) {
	workspace(t)
	infer := func(args ...string) result {
		return command(append(append([]string{"infer", "good.json", "--formula", educ}, quick...), args...)...).finished(t)
	}
	type summary struct {
		Format, Version, Method, Kernel, Formula, Units string
		Level                                           float64
		Seed                                            uint64
		Converged                                       bool
		Prior                                           json.RawMessage
		Warnings                                        []string
		Releases                                        []struct {
			Name    string
			Privacy release.Privacy
		}
		Parameters []struct {
			Lower, Upper float64
			Price        float64 `json:"price_of_privacy"`
		}
	}
	parse := func(r result) (s summary) {
		t.Helper()
		must.Do(t, json.Unmarshal([]byte(r.stdout), &s))
		return s
	}
	s := parse(infer("--format", "json", "--units", "scaled", "--draws", "800", "--seed", "5"))
	if s.Format != "dpreg-summary/3" || s.Version != signature.Version() || s.Method != "mcmc-exact" || s.Kernel != "" || s.Formula != educ || s.Units != "scaled" ||
		s.Level != 0.95 || s.Seed != 5 || !s.Converged || len(s.Warnings) > 0 || len(s.Parameters) != 6 || len(s.Releases) != 1 ||
		s.Releases[0].Name != "good.json" || s.Releases[0].Privacy != (release.Privacy{Epsilon: 1, Neighbours: release.ReplaceOne}) {
		t.Errorf("%+v", s)
	}
	if p := s.Parameters[1]; !(p.Lower < p.Upper && p.Price > 1) {
		t.Errorf("interval %v:%v, price of privacy %v", p.Lower, p.Upper, p.Price)
	}
	// The prior that it states is a prior file, and gives the same posterior.
	write(t, "prior.json", string(s.Prior))
	if again := parse(infer("--format", "json", "--units", "scaled", "--draws", "800", "--seed", "5", "--prior", "prior.json")); !reflect.DeepEqual(again.Parameters, s.Parameters) {
		t.Errorf("with the prior of the summary the posterior is %+v, not %+v", again.Parameters, s.Parameters)
	}
	if s := parse(infer("--format", "json", "--method", "gibbs-ss-update")); s.Kernel != "exact" {
		t.Errorf("gibbs-ss-update has run the kernel %q", s.Kernel)
	}
	// What failed stands in the summary as it does on stderr and in the table.
	few := []string{"infer", "good.json", "--formula", educ, "--draws", "20", "--chains", "2", "--warmup", "100"}
	r := command(append(few, "--format", "json")...)
	bad := parse(r)
	last := bad.Warnings[len(bad.Warnings)-1]
	if r.code != unconverged || bad.Converged || !strings.HasPrefix(last, "not converged: R-hat of ") || !strings.Contains(last, "1.01, Vehtari et al. 2021") {
		t.Errorf("exit code %d, converged %v, warnings %q", r.code, bad.Converged, bad.Warnings)
	}
	r.says(t, last)
	if text := strings.Join(strings.Fields(command(few...).stdout), " "); !strings.Contains(text, last) {
		t.Errorf("the table does not say %q:\n%s", last, text)
	}
	table := infer("--format", "csv", "--seed", "7")
	if lines := strings.Count(table.stdout, "\n"); lines != 7 || !strings.HasPrefix(table.stdout, "name,label,") {
		t.Errorf("%d lines of CSV:\n%s", lines, table.stdout)
	}
	if again := infer("--format", "csv", "--seed", "7"); again.stdout != table.stdout {
		t.Error("the same seed gave another result")
	}
	if other := infer("--format", "csv", "--seed", "8"); other.stdout == table.stdout {
		t.Error("another seed gave the same result")
	}
}

func TestNonPrivate(t *testing.T) {
	workspace(t)
	before := tree(t)
	r := fit("--method", "non-private", "--i-hold-the-data", "--formula", educ).finished(t).says(t, "NOT private")
	must.Say(t, r.stdout, "non-private")
	unchanged(t, before)
}

func TestUnconverged(t *testing.T) {
	workspace(t)
	for _, draws := range []string{"1", "5"} {
		const why = " does not exist: the chains are too short, R-hat needs 4 draws of each and ESS 6"
		r := command("infer", "good.json", "--draws", draws).says(t, "not converged: R-hat or ESS of (Intercept)"+why)
		if r.code != unconverged || !strings.Contains(strings.Join(strings.Fields(r.stdout), " "), "R-hat or ESS of all parameters"+why) || strings.Contains(r.stdout, "at least NA") {
			t.Errorf("exit code %d, stdout:\n%s", r.code, r.stdout)
		}
	}
}

func TestInterruptedBefore(t *testing.T) {
	workspace(t)
	before := tree(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, args := range [][]string{
		{"fit", "pums.csv", "--eps", "1", "--save", "s"},
		{"release", "pums.csv", "--eps", "1"},
		{"infer", "good.json", "--save", "s"},
		{"schema", "pums.csv", "-o", "s.json"},
	} {
		commandContext(ctx, args...).says(t, "interrupted").ends(t, interrupted)
	}
	unchanged(t, before)
}

// cancelOn cancels once a text is written, as a user might press Ctrl-C.
type cancelOn struct {
	text   string
	cancel context.CancelFunc
	all    strings.Builder
}

func (c *cancelOn) Write(p []byte) (int, error) {
	if strings.Contains(string(p), c.text) {
		c.cancel()
	}
	return c.all.Write(p)
}

func TestInterruptedAfterRelease(t *testing.T) {
	workspace(t)
	ctx, cancel := context.WithCancel(context.Background())
	stderr := &cancelOn{text: "release written", cancel: cancel}
	code := run(ctx, io.Discard, stderr, []string{"fit", "pums.csv", "--eps", "1", "--formula", educ, "--save", "s"})
	if code != interrupted || !strings.Contains(stderr.all.String(), "pums.release.json is complete") {
		t.Errorf("exit code %d, stderr:\n%s", code, stderr.all.String())
	}
	for name := range tree(t) {
		switch name {
		case ".", "good.json", "pums.csv", "pums.schema.json", "pums.release.json", "pums.ledger.db":
		default:
			t.Errorf("%s was left behind", name)
		}
	}
	fit("--eps", "1", "--formula", educ).finished(t).says(t, "no further cost")
}

// Without a formula it is said which column is the response, before anything is spent.
func TestSaysResponse(t *testing.T) {
	workspace(t)
	command("release", "pums.csv", "--eps", "1", "--steps", "1", "--bounds", "age=0:100", "--ledger", "nowhere.db").says(t, "the last column is the response: ")
	if r := command("release", "pums.csv", "--eps", "1", "--steps", "1", "--formula", "income ~ educ").finished(t); strings.Contains(r.stderr, "last column") {
		t.Errorf("stderr speaks of the last column: %s", r.stderr)
	}
}
