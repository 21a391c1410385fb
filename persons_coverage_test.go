package dpreg_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/persons"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/table"
)

// panel is a law of rows of persons. Person i has 1 to 8 rows of
//
//	x = a + w,   y = within·w + between·a + u + e,
//
// a of sd 0.2, w of sd 0.2, u and e of sd 0.15 and 0.1, all normal, u the person's.
type panel struct{ between, within float64 }

// slopes are those of the least-squares line through persons' means, through rows that weigh so
// that each person weighs 1, or one or more rows at random of each, which are the same.
func (p panel) slopes() (mean, row float64) {
	const a, w = 0.04, 0.04
	inverse := 0. // E 1/T, T the number of rows
	for n := 1; n <= 8; n++ {
		inverse += 1 / float64(8*n)
	}
	return (p.between*a + p.within*w*inverse) / (a + w*inverse), (p.between*a + p.within*w) / (a + w)
}

func (p panel) write(t *testing.T, path string, count int, rng *rand.Rand) {
	t.Helper()
	var text strings.Builder
	text.WriteString("id,x,y\n")
	for i := range count {
		a, u := 0.2*rng.NormFloat64(), 0.15*rng.NormFloat64()
		for range 1 + rng.IntN(8) {
			w := 0.2 * rng.NormFloat64()
			fmt.Fprintf(&text, "%d,%.5f,%.5f\n", i, a+w, p.within*w+p.between*a+u+0.1*rng.NormFloat64())
		}
	}
	must(t, os.WriteFile(path, []byte(text.String()), 0o600))
}

// Intervals at 90 % of slopes from releases of persons hold that slope which docs/persons.md says, as
// often as it says: those of a mean or one row of each are right; weights are on the safe side; and
// several rows of each are not where persons differ. With -v it prints what is there.
//
// The share of 200 trials has an sd of 0.021. A chain of 400 draws puts an end of the interval off by
// a tenth of a posterior sd at random, which takes 0.002 from the share: more draws would not
// make the test sharper.
func TestPersonsCoverage(t *testing.T) {
	trials := testsize.Of(1, 200)
	d := &schema.Design{Response: schema.Column{Name: "y", Lower: -1, Upper: 1}, Covariates: []schema.Column{{Name: "x", Lower: -1, Upper: 1}}, Intercept: true}
	path := filepath.Join(t.TempDir(), "panel.csv")
	for _, p := range []panel{{0.3, 0.3}, {0.6, 0.1}} {
		mean, row := p.slopes()
		rules := []struct {
			rule        persons.Rule
			truth       float64
			least, most float64
		}{
			{persons.Rule{Kind: persons.Mean}, mean, 0.83, 0.97}, {persons.Rule{Kind: persons.Rows, Most: 1}, row, 0.83, 0.97},
			{persons.Rule{Kind: persons.Weight}, row, 0.86, 1}, {persons.Rule{Kind: persons.Rows, Most: 4}, row, 0.3, 0.95},
		}
		held, width := make([]int, len(rules)), make([]float64, len(rules))
		for trial := range trials {
			p.write(t, path, 2000, rand.New(rand.NewPCG(61, uint64(trial))))
			for i, c := range rules {
				source, err := table.Find(path)
				must(t, err)
				o := custody.Order{Rows: custody.Files{Source: source}, Design: d, Privacy: release.Privacy{Epsilon: 20, Neighbours: release.ReplaceOne}, Steps: 1,
					Persons: custody.Persons{Column: "id", Rule: c.rule}, Entropy: mechanisms.Simulated(rand.New(rand.NewPCG(62, uint64(trial))))}
				if c.rule.Most > 1 {
					o.Privacy.Neighbours = release.AddRemove
				}
				r, err := custody.Publish(t.Context(), o)
				must(t, err)
				fit, err := dpreg.Infer(t.Context(), dpreg.One(r), dpreg.Options{Plan: mcmc.Plan{Seed: 7, Chains: 1, Warmup: 200, Draws: 400}})
				must(t, err)
				slope := fit.Draws(dpreg.Original).Column(1)[0]
				slices.Sort(slope)
				low, high := stat.Quantile(0.05, stat.Empirical, slope, nil), stat.Quantile(0.95, stat.Empirical, slope, nil)
				width[i] += high - low
				if low <= c.truth && c.truth <= high {
					held[i]++
				}
			}
		}
		for i, c := range rules {
			share := float64(held[i]) / float64(trials)
			t.Logf("between %v, within %v, %v: %.3f of %d hold %.4f, mean width %.4f", p.between, p.within, c.rule, share, trials, c.truth, width[i]/float64(trials))
			if !testing.Short() && (share < c.least || share > c.most) {
				t.Errorf("between %v, within %v, %v: %.3f hold the slope", p.between, p.within, c.rule, share)
			}
		}
	}
}
