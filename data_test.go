package dpreg_test

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/mechanisms"
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
	text := must.Get(os.ReadFile("testdata/" + name + ".schema.json"))(t)
	s := must.Get(schema.ReadSchema(bytes.NewReader(text), name))(t)
	d := must.Get(s.Design(formula))(t)
	if change != nil {
		change(d)
	}
	csv := must.Get(os.ReadFile("testdata/" + name + ".csv"))(t)
	e, scaled := example{design: d}, []float64(nil)
	for row, err := range (table.Options{}).CSV(bytes.NewReader(csv), name, d) {
		must.Do(t, err)
		v := make([]float64, len(row))
		for j, f := 0, d.Frame(); j < len(v); j++ {
			v[j] = f.Centre[j] + float64(f.Half[j]*row[j])
		}
		e.rows, scaled = append(e.rows, v), append(scaled, row...)
	}
	e.statistics = summed(t, d, scaled)
	return e
}

// publish releases the rows, clamped, with simulated noise.
func (e *example) publish(ctx context.Context, pr release.Privacy, steps int, noise rand.Source) (*release.Release, error) {
	rows := custody.Scaled{Name: "rows"}
	for _, row := range e.rows {
		v := make([]float64, len(row))
		e.design.Frame().Scale(v, row)
		for _, x := range v {
			rows.Rows = append(rows.Rows, min(max(x, -1), 1))
		}
	}
	return custody.Publish(ctx, custody.Order{Rows: rows, Design: e.design, Privacy: pr, Steps: steps, Entropy: mechanisms.Simulated(rand.New(noise))})
}

// summed are the exact sums of rows in scaled units.
func summed(t *testing.T, d *schema.Design, rows []float64) *ssp.Statistics {
	t.Helper()
	return must.Get(custody.Exact(t.Context(), custody.Order{Rows: custody.Scaled{Name: "rows", Rows: rows}, Design: d}))(t)
}

// released is a release of rows in scaled units with ε = 1 and simulated noise.
func released(t *testing.T, d *schema.Design, rows ...[]float64) *release.Release {
	t.Helper()
	return must.Get(ssp.Publish(t.Context(), summed(t, d, slices.Concat(rows...)), d, release.Privacy{Epsilon: 1, Neighbours: release.ReplaceOne}, ssp.Auto, ssp.Exact, mechanisms.Simulated(mcmc.Stream(1, 0))))(t)
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
