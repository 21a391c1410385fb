package dpreg_test

import (
	"bytes"
	"context"
	"math"
	"os"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

// example is a file of testdata, as rows in the data's units and as statistics.
type example struct {
	design     *schema.Design
	rows       [][]float64 // order of v
	statistics *ssp.Statistics
}

// open reads testdata/name.csv with its schema; change, where not nil, changes
// the design's bounds before rows are scaled.
func open(t *testing.T, name, formula string, change func(*schema.Design)) example {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name + ".schema.json")
	must(t, err)
	s, err := schema.ReadSchema(bytes.NewReader(text), name)
	must(t, err)
	d, err := s.Design(formula)
	must(t, err)
	if change != nil {
		change(d)
	}
	csv, err := os.ReadFile("testdata/" + name + ".csv")
	must(t, err)
	e := example{design: d}
	for row, err := range table.CSV(bytes.NewReader(csv), name, d) {
		must(t, err)
		v := make([]float64, len(row))
		d.Frame().Unscale(v, row)
		e.rows = append(e.rows, v)
	}
	e.statistics, err = dpreg.Accumulate(context.Background(), table.CSV(bytes.NewReader(csv), name, d), d)
	must(t, err)
	return e
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// written is a release by hand of the exact statistics, with Laplace noise of
// a scale said to be on them.
func (e example) written(scale float64) *release.Release {
	return &release.Release{
		Format:     release.Format,
		Schema:     *e.design,
		N:          e.statistics.N,
		Noise:      release.Noise{Kind: release.Laplace, Scale: scale},
		Statistics: release.StatisticsFromVector(e.statistics.Dim(), e.statistics.Vector()),
	}
}

// brief is a plan for tests of what does not depend on convergence.
func brief(seed uint64) mcmc.Plan { return mcmc.Plan{Chains: 2, Warmup: 200, Draws: 100, Seed: seed} }

// parameter returns a parameter's draws, all chains together.
func parameter(t *testing.T, d *posterior.Draws, name string) []float64 {
	t.Helper()
	i := d.Index(name)
	if i < 0 {
		t.Fatalf("no parameter %s among %v", name, d.Names)
	}
	var all []float64
	for _, chain := range d.Column(i) {
		all = append(all, chain...)
	}
	return all
}

func meanSD(x []float64) (mean, sd float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		sd += (v - mean) * (v - mean) / float64(len(x)-1)
	}
	return mean, math.Sqrt(sd)
}

func wantClose(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: got %v, want %v (difference %.3g, tolerance %.3g)", what, got, want, got-want, tolerance)
	}
}
