package models_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/models"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// leveled are rows of a formula's columns, where f has the levels a, b, c, g is a truth value, and x is a number; and their release.
func leveled(t *testing.T, formula string, n int, epsilon float64, o custody.Order) (rows [][]float64, r *release.Release) {
	s := schema.Schema{Columns: []schema.Column{{Name: "f", Type: "string", Levels: []string{"a", "b", "c"}}, {Name: "g", Upper: 1, Type: "boolean"},
		{Name: "x", Lower: -1, Upper: 1}, {Name: "y", Lower: -1, Upper: 1}}}
	rng := rand.New(rand.NewPCG(8, 1))
	o.Design = must.Get(s.Design(formula))(t)
	for range n {
		f, g, x := rng.IntN(3), rng.IntN(2), max(-1, min(1, 0.4*rng.NormFloat64()))
		is := map[bool]float64{false: -1, true: 1}
		of := map[string]float64{"fb": is[f == 1], "fc": is[f == 2], "g": is[g == 1], "x": x}
		row := make([]float64, 0, 4)
		for _, c := range o.Design.Covariates {
			v := of[c.Name]
			if len(c.Term) == 2 { // of a dummy and another
				v = (of[c.Term[0]] + 1) / 2 * of[c.Term[1]]
			}
			row = append(row, v)
		}
		row = append(row, max(-1, min(1, 0.1*of["fb"]+0.2*x+0.3*rng.NormFloat64())))
		rows = append(rows, row)
	}
	o.Rows, o.NoLedger, o.Steps = custody.Scaled{Name: "rows", Rows: slices.Concat(rows...)}, true, 1
	o.Privacy, o.Entropy = release.Privacy{Epsilon: epsilon, Neighbours: release.ReplaceOne}, mechanisms.Simulated(rng)
	r = must.Get(custody.Publish(t.Context(), o))(t)
	return rows, must.Get(r.Select(""))(t)
}

// TestFactorIsWhole: the weights of models with a factor of three levels and without it are those of the rows.
func TestFactorIsWhole(t *testing.T) {
	rows, r := leveled(t, "y ~ f + x", 40, 3000, custody.Order{})
	numbers := *r // whose slopes have no spread in common
	numbers.Schema = *dpreg.UnitDesign(3)
	prior := must.Get(dpreg.Options{}.Family.DefaultPrior(&numbers.Schema, &numbers))(t)
	mean, centre, sds, sigma := priorOf(t, &numbers)
	c := must.Get(models.Compare(t.Context(), dpreg.One(r), dpreg.Options{Prior: prior, Plan: mcmc.Plan{Chains: testsize.Of(2, 4), Seed: 2, ESS: float64(testsize.Of(400, 1000))}}, nil))(t)
	whole := marginal(rows, 7, mean, centre, sds, sigma)
	for _, m := range c.Models {
		set, ok := map[string]uint{"y ~ f + x": 7, "y ~ f": 3, "y ~ x": 4, "y ~ 1": 0}[m.Formula]
		want := marginal(rows, set, mean, centre, sds, sigma) - whole
		if off := math.Abs(m.LogBayes - want); !ok || !(off <= 4*m.MCSE+0.1) {
			t.Errorf("%s: log Bayes factor %.3f ± %.3f, want %.3f", m.Formula, m.LogBayes, m.MCSE, want)
		}
	}
	if len(c.Models) != 4 || c.Unweighed+c.Unsettled > 0 || c.Covariates[0].Name != "f" {
		t.Errorf("%+v", c)
	}
}

// TestModelsAreSelected: each model is one that the release selects, products with a factor as a whole.
func TestModelsAreSelected(t *testing.T) {
	for _, each := range []struct {
		formula string
		order   custody.Order
		want    []string
	}{
		{"y ~ f * x", custody.Order{}, []string{"y ~ f + x + f:x", "y ~ f + x", "y ~ x + f:x", "y ~ f", "y ~ x", "y ~ 1"}},
		{"y ~ f + x", custody.Order{ByLevel: "f", PerLevel: true}, []string{"y ~ f + x + f:x", "y ~ f + x", "y ~ f", "y ~ x", "y ~ 1"}},
		{"y ~ f + g", custody.Order{ByLevel: "f:g"}, []string{"y ~ f + g", "y ~ f", "y ~ g", "y ~ 1"}},
		{"y ~ f + x - 1", custody.Order{}, []string{"y ~ f + x - 1", "y ~ f - 1", "y ~ x - 1"}},
	} {
		_, r := leveled(t, each.formula, 200, 1, each.order)
		if got := must.Get(models.Selected(r))(t); !slices.Equal(got, each.want) {
			t.Errorf("%s: %q, want %q", each.formula, got, each.want)
		}
	}
	_, r := leveled(t, "y ~ f + x", 200, 1, custody.Order{})
	r = must.Get(r.Select("y ~ fb + x"))(t)
	if got := must.Get(models.Selected(r))(t); !slices.Equal(got, []string{"y ~ fb + x", "y ~ fb", "y ~ x", "y ~ 1"}) {
		t.Errorf("of a dummy alone: %q", got)
	}
}
