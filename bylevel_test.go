package dpreg_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/check"
	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// groupedRows are rows of three levels, the second rare, x and y, in scaled units, and their release by
// levels, in one look or more.
func groupedRows(t *testing.T, n, steps int, pr release.Privacy) (rows [][]float64, r *release.Release) {
	t.Helper()
	d := &schema.Design{Response: schema.Column{Name: "y", Lower: -1, Upper: 1}, Intercept: true,
		Covariates: []schema.Column{{Name: "x", Lower: -1, Upper: 1}}, Factors: []schema.Factor{{Name: "f", Levels: []string{"a", "b", "c"}}}}
	for _, level := range []string{"b", "c"} {
		d.Covariates = append(d.Covariates, schema.Column{Name: "f" + level, Upper: 1, Factor: "f", Level: level})
	}
	d, _, err := release.LevelsFirst(d, "f")
	must.Do(t, err)
	rng := rand.New(rand.NewPCG(6, 7))
	var flat []float64
	for i := range n {
		row := []float64{-1, -1, 0, 0}
		switch {
		case i%20 == 0:
			row[0] = 1
		case i%3 == 0:
			row[1] = 1
		}
		row[2] = max(-1, min(1, 0.2*row[1]+0.3*rng.NormFloat64()))
		row[3] = max(-1, min(1, 0.1+0.3*row[2]+0.2*row[1]+0.1*row[0]+0.15*rng.NormFloat64()))
		rows, flat = append(rows, row), append(flat, row...)
	}
	return rows, publishGrouped(t, d, flat, "f", steps, pr, rng)
}

// replaced is a privacy to replace-one neighbours.
func replaced(epsilon float64) release.Privacy {
	return release.Privacy{Epsilon: epsilon, Neighbours: release.ReplaceOne}
}

func publishGrouped(t *testing.T, d *schema.Design, flat []float64, factor string, steps int, pr release.Privacy, rng *rand.Rand) *release.Release {
	t.Helper()
	stated := int64(0)
	if pr.Neighbours == release.AddRemove && steps > 1 {
		stated = int64(len(flat) / 4)
	}
	r, err := custody.Publish(context.Background(), custody.Order{Rows: custody.Scaled{Name: "rows", Rows: flat}, Design: d, ByLevel: factor, Steps: steps,
		Privacy: pr, StatedRows: stated, Entropy: mechanisms.Simulated(rng), NoLedger: true})
	must.Do(t, err)
	return r
}

// TestByLevelOfHalves: releases of two parts of the rows, of one look and of several and of which one lacks a level,
// tell with little noise what one of all rows does; of a model without the factor so does one that is not by levels.
func TestByLevelOfHalves(t *testing.T) {
	testsize.Full(t, "TestJointLevelsSBC of nuts/exact has the law of several releases")
	rows, all := groupedRows(t, 600, 1, replaced(1000))
	rng := rand.New(rand.NewPCG(6, 8))
	var parts [2][]float64
	for i, row := range rows {
		part := i % 2
		if row[0] > 0 { // level b
			part = 1
		}
		parts[part] = append(parts[part], row...)
	}
	var custodians []dpreg.Custodian
	for i, flat := range parts {
		custodians = append(custodians, dpreg.Custodian{Name: string(rune('a' + i)), Release: publishGrouped(t, &all.Schema, flat, "f", 1+2*i, replaced(1000), rng)})
	}
	tellAlike(t, all, custodians)
	custodians[1].Release = publishGrouped(t, &all.Schema, parts[1], "", 1, replaced(1000), rng)
	for _, r := range []**release.Release{&all, &custodians[0].Release, &custodians[1].Release} {
		*r = must.Get((*r).Select("y ~ x"))(t)
	}
	tellAlike(t, all, custodians)
}

// tellAlike: releases of two custodians tell what one of all rows does.
func tellAlike(t *testing.T, all *release.Release, custodians []dpreg.Custodian) {
	t.Helper()
	o := dpreg.Options{Plan: mcmc.Plan{Chains: 2, Warmup: 500, Draws: 1000, Seed: 1}}
	one := must.Get(dpreg.Infer(context.Background(), dpreg.One(all), o))(t)
	two := must.Get(dpreg.Infer(context.Background(), custodians, o))(t)
	if two.Method != "mcmc-exact" || len(two.Custodians) != 2 {
		t.Fatalf("method %s", two.Method)
	}
	want := one.Summary(dpreg.Original, 0.95).Parameters
	for k, p := range two.Summary(dpreg.Original, 0.95).Parameters[:all.Dim()+1] { // θ and σ
		w := want[k]
		if p.Name != w.Name || math.Abs(p.Mean-w.Mean) > 0.25*w.SD || math.Abs(p.SD/w.SD-1) > 0.15 {
			t.Errorf("%s: %v ± %v, and of all rows %s: %v ± %v", p.Name, p.Mean, p.SD, w.Name, w.Mean, w.SD)
		}
	}
}

// TestByLevelIsLeastSquaresWithoutNoise compares posterior means with gonum's least squares, and so of models without the
// factor, whose sums are those of all levels.
func TestByLevelIsLeastSquaresWithoutNoise(t *testing.T) {
	for _, steps := range []int{1, 3}[:testsize.Of(1, 2)] {
		for _, nb := range []release.Neighbours{release.AddRemove, release.ReplaceOne}[:testsize.Of(1, 2)] {
			isLeastSquares(t, steps, nb)
		}
	}
}

func isLeastSquares(t *testing.T, steps int, nb release.Neighbours) {
	t.Helper()
	rows, all := groupedRows(t, 600, steps, release.Privacy{Epsilon: 1e5, Neighbours: nb})
	for formula, columns := range map[string][]int{"": {0, 1, 2}, "y ~ x": {2}, "y ~ 1": {}} {
		r := must.Get(all.Select(formula))(t)
		f := must.Get(dpreg.Infer(context.Background(), dpreg.One(r), dpreg.Options{Plan: mcmc.Plan{Chains: 2, Warmup: testsize.Of(300, 500), Draws: testsize.Of(500, 1500), Seed: 1}}))(t)
		if f.Method != "mcmc-exact" {
			t.Fatalf("method %s", f.Method)
		}
		var x, y []float64
		for _, row := range rows {
			x, y = append(x, 1), append(y, row[3])
			for _, j := range columns {
				x = append(x, row[j])
			}
		}
		theta, se := ordinary(t, x, y)
		for k, p := range f.Summary(dpreg.Scaled, 0.95).Parameters[:len(theta)] {
			if off := (p.Mean - theta[k]) / se[k]; math.Abs(off) > 0.2 || math.Abs(p.SD/se[k]-1) > 0.15 {
				t.Errorf("%d looks, %s, %q, %s: mean %v ± %v, least squares %v ± %v", steps, nb, formula, p.Name, p.Mean, p.SD, theta[k], se[k])
			}
		}
		for _, w := range f.Summary(dpreg.Original, 0.95).Warnings {
			if strings.Contains(w, "modelled as normal") {
				t.Error(w)
			}
		}
	}
}

// TestByLevelRefused: what has no law of a factor says so.
func TestByLevelRefused(t *testing.T) {
	rows, r := groupedRows(t, 200, 1, replaced(1))
	plan := mcmc.Plan{Chains: 1, Warmup: 100, Draws: 10, Seed: 1}
	says := func(what string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "level") {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, method := range []string{"gibbs-ss-update", "mcmc-ind", "naive"} {
		_, err := dpreg.Infer(context.Background(), dpreg.One(r), dpreg.Options{Method: method, Plan: plan})
		says(method, err)
	}
	both := func(second *release.Release, o dpreg.Options) error {
		o.Plan = plan
		_, err := dpreg.Infer(context.Background(), []dpreg.Custodian{{Name: "a", Release: r}, {Name: "b", Release: second}}, o)
		return err
	}
	says("covariates shared", both(r, dpreg.Options{Covariates: dpreg.SharedCovariates}))
	says("the same rows", both(r, dpreg.Options{SameRows: true}))
	says("another method", both(r, dpreg.Options{Method: "gibbs-ss-update"}))
	rng := rand.New(rand.NewPCG(6, 9))
	says("no levels", both(publishGrouped(t, &r.Schema, slices.Concat(rows[:100]...), "", 1, replaced(1), rng), dpreg.Options{}))
}

// TestByLevelChecked: a release by levels, of one look or several, is such as the model makes; one of which products are too
// small for any rows is not.
func TestByLevelChecked(t *testing.T) {
	testsize.Full(t, "TestLevelLaw of package check has what is replicated")
	plan := mcmc.Plan{Chains: 2, Warmup: 200, Draws: 150, Seed: 1}
	for i, steps := range []int{1, 3, 3} {
		refits, pr := 0, replaced(5)
		if steps == 1 { // refits of several looks, which take three times as long, are as those
			refits = 9
		}
		if i > 1 {
			pr.Neighbours = release.AddRemove
		}
		_, r := groupedRows(t, 600, steps, pr)
		p := func(r *release.Release) check.PValue {
			t.Helper()
			f := must.Get(dpreg.Infer(context.Background(), dpreg.One(r), dpreg.Options{Plan: plan}))(t)
			c := must.Get(check.Fit(context.Background(), f, check.Options{Calibrate: refits, Seed: 2}))(t)
			of := c.Releases[0]
			if len(of.Entries) != len(r.Measured()) || len(of.Columns) != 2 || of.Entries[len(r.Levels.Counts)-1].Label != "1 in c" {
				t.Errorf("%d entries, %d columns, %+v", len(of.Entries), len(of.Columns), of.Entries[:3])
			}
			return c.All
		}
		if all := p(r); all.P < 0.05 || all.Calibrated != nil && *all.Calibrated <= 0.1 {
			t.Errorf("%d looks: %+v", steps, all)
		}
		told := r.Measured()
		for i := len(told) - 3; i < len(told); i++ {
			told[i] -= 30 * r.Noise.SD()
		}
		r.TakeLevels(r.Levels, told)
		if all := p(r); all.P > 0.02 || all.Calibrated != nil && *all.Calibrated > 0.1 {
			t.Errorf("%d looks, products that no rows have: %+v", steps, all)
		}
	}
}
