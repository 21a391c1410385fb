//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"

	"github.com/dpreg/dpreg/beam/sums"
	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/persons"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

// visits are rows in five files, of persons of whom each has rows in several of them, up to forty.
func visits(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	rng := rand.New(rand.NewPCG(8, 8))
	var files [5]strings.Builder
	for i := range files {
		files[i].WriteString("x,who,y\n")
	}
	for person := range 300 {
		for range 1 + person%41 {
			x := 2*rng.Float64() - 1
			fmt.Fprintf(&files[rng.IntN(len(files))], "%.4f,p%d,%.4f\n", x, person, 0.3*x+0.2*rng.NormFloat64())
		}
	}
	must.Do(t, os.Mkdir(filepath.Join(folder, "rows"), 0o700))
	for i := range files {
		must.Do(t, os.WriteFile(filepath.Join(folder, "rows", fmt.Sprint(i, ".csv")), []byte(files[i].String()), 0o600))
	}
	return folder
}

// By each rule, and in several looks, the release of persons is, to the byte, that of files that one process reads.
func TestPersonsAreIdentical(t *testing.T) {
	folder := visits(t)
	for name, c := range map[string]releaseFlags{
		"mean":   {neighbours: "replace-one", steps: "3", personRows: "mean"},
		"weight": {neighbours: "add-remove", steps: "1", personRows: "weight"},
		"one":    {neighbours: "replace-one", steps: "1", personRows: "1"},
		"three":  {neighbours: "add-remove", steps: "2", personRows: "3", rows: 500},
	} {
		t.Run(name, func(t *testing.T) {
			*jobopts.Endpoint, *jobopts.EnvironmentType = "", "" // which a launch sets
			t.Setenv("TMPDIR", t.TempDir())
			cmd := newRelease()
			cmd.SetContext(t.Context())
			cmd.SetErr(io.Discard)
			f := c
			f.epsilon, f.mechanism, f.formula, f.output, f.person, f.bounds, f.engineFlags = "4", "auto", "y ~ x", "r.json", "who", []string{"x=-1:1,y=-1:1"}, engineFlags{attempts: 1}
			cluster := must.Get(f.launch(cmd))(t)
			defer cluster.end()
			o := must.Get(f.order(cmd, cluster, filepath.Join(folder, "rows")))(t)
			o.Ledger, o.MakeLedger = "", false
			sameRelease(t, o, filepath.Join(folder, "rows"), `"persons"`)
		})
	}
}

// On every engine the sums of persons are those of one process, and the program makes their release; what is wrong
// with a row is told as where rows stand alone.
func TestPersonsOnEngines(t *testing.T) {
	folder := visits(t)
	paths := must.Get(sums.Find(t.Context(), filepath.Join(folder, "rows")))(t)
	d := xy(t)
	options := table.Options{Person: "who", PersonKey: [32]byte{7}}
	how := persons.Grouping{Rule: persons.Rule{Kind: persons.Rows, Most: 2}, Key: [32]byte{9}}
	pass := ssp.Pass{Columns: 2}
	source := must.Get(table.Find(filepath.Join(folder, "rows")))(t)
	group := persons.NewGroup(how, 2, 1)
	defer group.Close()
	must.Do(t, options.Scan(t.Context(), source, d, group.Adds()[0]))
	var told persons.Told
	want := must.Get(pass.Gather(1, func(sinks ...func([]float64) error) (err error) {
		told, err = group.Each(context.Background(), sinks...)
		return err
	}))(t)
	for _, e := range engines(t) {
		_, j, dir := e.start(t)
		got, gotTold, err := sums.Persons(t.Context(), j, dir, paths, options, d, how, pass)
		if err != nil {
			t.Fatalf("%s: %v", e.name, err)
		}
		if encoded(t, got) != encoded(t, want) || gotTold != told {
			t.Errorf("%s: other sums, or %+v, not %+v", e.name, gotTold, told)
		}
	}
	args := []string{"release", "--eps", "1", "--bounds", "x=-1:1,y=-1:1", "--formula", "y ~ x", "--person", "who", "--person-rows", "mean", "rows"}
	r := program(t, folder, append(args, "-o", "r.json")...)
	r.ends(t, custody.Done, "for each person")
	if !strings.Contains(r.stdout, "n = 300 persons") {
		t.Errorf("stdout:\n%s", r.stdout)
	}
	bad := filepath.Join(folder, "rows", "3.csv")
	text := must.Get(os.ReadFile(bad))(t)
	must.Do(t, os.WriteFile(bad, append(text, "0.1,,secret\n"...), 0o600))
	r = program(t, folder, append(args, "-o", "b.json", "--no-ledger")...)
	r.ends(t, custody.Misused, "3.csv")
	if strings.Contains(r.stderr, "secret") {
		t.Errorf("a cell is told: %s", r.stderr)
	}
}

func xy(t *testing.T) *schema.Design {
	t.Helper()
	return design(t, &schema.Schema{Columns: []schema.Column{{Name: "x", Lower: -1, Upper: 1}, {Name: "y", Lower: -1, Upper: 1}}})
}
