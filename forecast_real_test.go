package dpreg_test

import (
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/plan"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/ssp"
)

// Widths of real tables' releases are those that Foresee has for the same n and ε, within a
// factor of 1.3, where it is told the columns' means, sds and R²: the mean over three releases.
func TestForeseeRealTables(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates releases for some ten seconds")
	}
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
		exact, err := dpreg.NonPrivate(t.Context(), e.statistics, e.design, dpreg.Options{Plan: mcmc.Plan{Chains: 1, Draws: 2000, Seed: 1}})
		must(t, err)
		sigma, _ := meanSD(parameter(t, exact.Draws(dpreg.Original), "sigma"))
		sd := sds[e.design.Response.Name]
		o := plan.Options{Design: e.design, Ns: []int64{e.statistics.N}, Epsilons: []float64{c.epsilon}, Releases: 10, Means: means, SDs: sds, R2: max(0.01, 1-sigma*sigma/(sd*sd))}
		forecast, err := plan.Foresee(t.Context(), o)
		must(t, err)
		told := forecast.Points[0].Slopes
		real := make([]float64, len(told))
		const releases = 3
		for k := range releases {
			r, err := ssp.Publish(t.Context(), e.statistics, e.design, release.Privacy{Epsilon: c.epsilon, Neighbours: release.ReplaceOne},
				release.Laplace, ssp.Exact, mechanisms.Simulated(rand.New(rand.NewPCG(17, uint64(k)))))
			must(t, err)
			fit, err := dpreg.Infer(t.Context(), dpreg.One(r), dpreg.Options{Plan: mcmc.Plan{Chains: 2, Warmup: 500, Draws: 1000, Seed: 1}})
			must(t, err)
			s := fit.Summary(dpreg.Original, 0.95)
			for j := range real {
				p := s.Parameters[1+j]
				real[j] += (p.Upper - p.Lower) / releases
			}
		}
		for j, width := range real {
			if ratio := told[j].Width / width; ratio < 1/1.3 || ratio > 1.3 {
				t.Errorf("%s, ε = %v, %s: %.4g foreseen, %.4g found, a factor of %.2f", c.file, c.epsilon, e.design.Covariates[j].Name, told[j].Width, width, ratio)
			}
		}
	}
}
