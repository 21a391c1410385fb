package check

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// TestReplicatesAreRead: a replicated release, of rows that were clipped, is read as what the model made. Inference puts
// back what clipping took, which replicates have.
func TestReplicatesAreRead(t *testing.T) {
	for _, factor := range []string{"", "f"} {
		d := &schema.Design{Response: schema.Column{Name: "y", Lower: -1, Upper: 1}, Intercept: true, Covariates: []schema.Column{{Name: "x", Lower: -1, Upper: 1}}}
		if factor != "" {
			d.Factors = []schema.Factor{{Name: factor, Levels: []string{"a", "b"}}}
			d.Covariates = append([]schema.Column{{Name: "fb", Upper: 1, Factor: factor, Level: "b"}}, d.Covariates...)
		}
		rng := rand.New(rand.NewPCG(8, 1))
		var rows []float64
		for i := range 600 {
			x := 0.1 * rng.ExpFloat64()
			row := []float64{float64(2*(i%2) - 1), x, 0.3*x + 0.05*rng.ExpFloat64()}
			for _, v := range row[3-len(d.Columns()):] {
				rows = append(rows, min(1, v))
			}
		}
		r := must.Get(custody.Publish(t.Context(), custody.Order{Rows: custody.Scaled{Name: "rows", Rows: rows}, Design: d, ByLevel: factor, Steps: 3,
			Privacy: release.Privacy{Epsilon: 5, Neighbours: release.ReplaceOne}, Entropy: mechanisms.Simulated(rng), NoLedger: true}))(t)
		f := must.Get(dpreg.Infer(t.Context(), dpreg.One(r), dpreg.Options{Method: "mcmc-exact", Plan: mcmc.Plan{Chains: 1, Warmup: 150, Draws: 4, Seed: 1}}))(t)
		draws, _, err := drawsOf(t.Context(), f)
		must.Do(t, err)
		made, err := newCheckers(f.Custodians, f.Family, f.Kurtosis())
		if err != nil || !made.given(draws[0]) {
			t.Fatal(err)
		}
		made.draw(mcmc.Stream(1, 1))
		again := must.Get(simulated(f, draws[0], mcmc.Stream(1, 1)))(t)
		read := must.Get(newCheckers(again, f.Family, f.Kurtosis()))(t)
		if !(r.Frame.Lost > 1) {
			t.Errorf("clipping took %v", r.Frame.Lost)
		}
		for e, want := range made.sites[0].rep {
			if got := read.sites[0].z[e]; math.Abs(got-want) > 1e-9*(1+math.Abs(want)) {
				t.Errorf("by level %q: sum %d is read as %v, made as %v", factor, e, got, want)
			}
		}
	}
}
