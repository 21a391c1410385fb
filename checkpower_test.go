package dpreg_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
)

// docs/checks.md has the table that
//
//	go test . -run TestCheckPower -power 40 -v
//
// prints.
var power = flag.Int("power", 0, "number of releases in each line of TestCheckPower")

// misfit is a law of rows on [-1, 1]², and the model fitted to them.
type misfit struct {
	name      string
	law       func(*rand.Rand) (x, y float64)
	intercept bool
	prior     *model.Prior // nil: the default
}

func misfits(t *testing.T) []misfit {
	line := func(x, intercept, sd float64, rng *rand.Rand) float64 {
		return intercept + 0.5*x + sd*rng.NormFloat64()
	}
	normal := func(rng *rand.Rand) (x, y float64) { x = 0.3 * rng.NormFloat64(); return x, line(x, 0.2, 0.2, rng) }
	// σ² near 0.004, where it is 0.04.
	theta := must.Get(conjugate.NewNIG([]float64{0, 0}, []float64{1, 0, 0, 1}, 2000, 8))(t)
	wrong := model.DefaultPrior(model.Shape{P: 1, Intercept: true})
	wrong.Theta = theta
	return []misfit{
		{"the model: normal rows inside the bounds", normal, true, nil},
		{"x = ±1", func(rng *rand.Rand) (x, y float64) { x = float64(2*rng.IntN(2) - 1); return x, line(x, 0, 0.2, rng) }, true, nil},
		{"x = 1 for one row in ten, else -1", func(rng *rand.Rand) (x, y float64) {
			x = math.Copysign(1, rng.Float64()-0.9)
			return x, line(x, 0.3, 0.2, rng)
		}, true, nil},
		{"x and y exponential, clamped", func(rng *rand.Rand) (x, y float64) {
			x = -1 + 0.5*rng.ExpFloat64()
			return x, -0.8 + 0.3*(x+1) + 0.4*rng.ExpFloat64()
		}, true, nil},
		{"half of y clamped at 1", func(rng *rand.Rand) (x, y float64) {
			x = 0.3 * rng.NormFloat64()
			return x, 1 + line(x, 0, 0.4, rng)
		}, true, nil},
		{"no intercept in the model, 0.2 in the rows", normal, false, nil},
		{"a prior that has σ a third of what it is", normal, true, wrong},
	}
}

func TestCheckPower(t *testing.T) {
	if *power == 0 {
		t.Skip("asked for by -power")
	}
	const rows, refits = 1000, 19
	fmt.Println("| rows | noise b | median p | p ≤ 0.05 | calibrated ≤ 0.05 | x outside | y outside |\n|---|---|---|---|---|---|---|")
	for _, m := range misfits(t) {
		for _, scale := range []float64{0.05, 16. / 3} {
			var p []float64
			small, calibrated, outside := 0, 0, [2]float64{}
			for k := range *power {
				rng := mcmc.Stream(11, k)
				r := noisy(simple(m.intercept), rowsOf(rows, rng, m.law), rows, scale, rng)
				c := checked(t, r, m.prior, refits, uint64(k))
				all := c.Blocks[len(c.Blocks)-1]
				p = append(p, all.P)
				if all.P <= 0.05 {
					small++
				}
				if *all.Calibrated <= 0.05 {
					calibrated++
				}
				for j := range outside {
					outside[j] += 100 * c.Columns[j].Outside / float64(*power)
				}
			}
			slices.Sort(p)
			percent := func(n int) float64 { return 100 * float64(n) / float64(*power) }
			fmt.Printf("| %s | %.3g | %.2f | %.0f %% | %.0f %% | %.1f %% | %.1f %% |\n",
				m.name, scale, p[len(p)/2], percent(small), percent(calibrated), outside[0], outside[1])
		}
	}
}
