package dpreg_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/plan"
	"github.com/dpreg/dpreg/release"
)

// Widths of real tables' releases are those that Foresee has for the same n and ε, where it is
// told the columns' means, sds and R²: within a factor of 1.3 in one step, and of 2.2 in three, as
// radii depend on tails. Medians over five releases.
func TestForeseeRealTables(t *testing.T) {
	testsize.Full(t, "simulates releases for some ten seconds")
	for _, c := range []struct {
		file, formula string
		epsilon       float64
	}{
		{"pums", "income ~ educ", 3},
		{"pums10000", "income ~ age + educ + married", 1},
		{"abalone", "rings ~ diameter", 3},
		{"adult", "hours ~ age + education", 1},
		{"wine-red", "quality ~ alcohol + `volatile acidity` + sulphates", 10},
		{"diabetes", "progression ~ bmi + bp + s5", 30},
	} {
		e := open(t, c.file, c.formula, nil)
		columns := e.design.Columns()
		means, sds := make(map[string]float64), make(map[string]float64)
		for j, column := range columns {
			x := make([]float64, len(e.rows))
			for i, row := range e.rows {
				x[i] = row[j]
			}
			means[column.Name], sds[column.Name] = meanSD(x)
		}
		exact := must.Get(dpreg.NonPrivate(t.Context(), e.statistics, e.design, dpreg.Options{Plan: mcmc.Plan{Chains: 1, Draws: 2000, Seed: 1}}))(t)
		sigma, _ := meanSD(parameter(t, exact.Draws(dpreg.Original), "sigma"))
		sd := sds[e.design.Response.Name]
		for steps, factor := range map[int]float64{1: 1.3, 3: 2.2} {
			o := plan.Options{Design: e.design, Ns: []int64{e.statistics.N}, Epsilons: []float64{c.epsilon}, Steps: steps, Releases: 7, Means: means, SDs: sds, R2: max(0.01, 1-sigma*sigma/(sd*sd))}
			forecast := must.Get(plan.Foresee(t.Context(), o))(t)
			for j, width := range e.widths(t, c.epsilon, steps) {
				told := forecast.Points[0].Slopes[j]
				foreseen := cmp.Or(told.Median, told.Width)
				if ratio := foreseen / width; ratio < 1/factor || ratio > factor {
					t.Errorf("%s, ε = %v, %d steps, %s: %.4g foreseen, %.4g found, a factor of %.2f", c.file, c.epsilon, steps, told.Name, foreseen, width, ratio)
				}
			}
		}
	}
}

// widths are the medians, over five releases, of the widths of the slopes' intervals.
func (e *example) widths(t *testing.T, epsilon float64, steps int) []float64 {
	t.Helper()
	all := make([][]float64, len(e.design.Covariates))
	for k := range uint64(5) {
		r := must.Get(e.publish(t.Context(), release.Privacy{Epsilon: epsilon, Neighbours: release.ReplaceOne}, steps, rand.NewPCG(17, k)))(t)
		fit := must.Get(dpreg.Infer(t.Context(), dpreg.One(r), dpreg.Options{Plan: mcmc.Plan{Chains: 1, Warmup: 200, Draws: 500, Seed: 1}}))(t)
		for j := range all {
			p := fit.Summary(dpreg.Original, 0.95).Parameters[1+j]
			all[j] = append(all[j], p.Upper-p.Lower)
		}
	}
	medians := make([]float64, len(all))
	for j, widths := range all {
		slices.Sort(widths)
		medians[j] = widths[2]
	}
	return medians
}
