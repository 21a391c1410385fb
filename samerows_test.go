package dpreg_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/check"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/ssp"
)

// releaseOnce is a release of an example's rows, with noise of its own.
func (e example) releaseOnce(t *testing.T, p release.Privacy, seed uint64) dpreg.Custodian {
	t.Helper()
	r := must.Get(ssp.Publish(context.Background(), e.statistics, e.design, p, ssp.Auto, ssp.Exact, mechanisms.Simulated(mcmc.Stream(seed, 0))))(t)
	return dpreg.Custodian{Name: fmt.Sprintf("release%d.json", seed), Release: r}
}

// TestSameRows: two engines have one posterior of releases of the same rows, of which each of
// the bounds has a false-alarm rate of 4e-8, and what cannot be such is refused.
func TestSameRows(t *testing.T) {
	e := open(t, "cirrhosis", "cirrhosis ~ wine", nil)
	both := []dpreg.Custodian{
		e.releaseOnce(t, release.Privacy{Epsilon: 8, Neighbours: release.ReplaceOne}, 1),
		e.releaseOnce(t, release.Privacy{Epsilon: 5, Neighbours: release.ReplaceOne}, 2),
	}
	o := dpreg.Options{Method: "mcmc-exact", SameRows: true, Plan: mcmc.Plan{Chains: 2, Warmup: testsize.Of(300, 600), Draws: testsize.Of(800, 3000), Seed: 1}}
	fit := must.Get(dpreg.Infer(context.Background(), both, o))(t)
	want := fit.Draws(dpreg.Scaled)
	if total := fit.TotalPrivacy(); fit.N != e.statistics.N || total.Epsilon != 13 {
		t.Errorf("n = %d of %d, epsilon %g in all", fit.N, e.statistics.N, total.Epsilon)
	}
	o.Method = "mcmc-ind"
	other := must.Get(dpreg.Infer(context.Background(), both, o))(t)
	scores(t, other.Draws(dpreg.Scaled), want, func(name string, zMean, zSD, _, _ float64) {
		if !(math.Abs(zMean) < 5.5 && math.Abs(zSD) < 5.5) {
			t.Errorf("%s: means %.1f Monte Carlo errors apart, sds %.1f", name, zMean, zSD)
		}
	})
	if price := fit.PriceOfPrivacy(); !(len(price) == 2 && price[1] > 1) {
		t.Errorf("price of privacy %v", price)
	}
	for _, c := range []struct {
		custodians []dpreg.Custodian
		o          dpreg.Options
		want       string
	}{
		{both, dpreg.Options{Method: "gibbs-ss-update"}, "one measurement of each sum"},
		{both, dpreg.Options{Pooling: dpreg.PartialPooling}, "partial pooling"},
		{append(slices.Clone(both), e.releaseOnce(t, release.Privacy{Epsilon: 5, Neighbours: release.AddRemove}, 3)), dpreg.Options{}, "release3.json: of it and the first"},
		{open(t, "pums", "income ~ educ", nil).parts(t, []int{300, 300}, 2), dpreg.Options{}, "part2.json: it has other bounds"},
	} {
		c.o.SameRows, c.o.Plan = true, brief(1)
		must.Fail(t, must.Err(dpreg.Infer(context.Background(), c.custodians, c.o)), c.want)
	}
	if _, err := check.Fit(context.Background(), fit, check.Options{}); err == nil {
		t.Error("a check of releases of the same rows is made, of what is not")
	}
}

// TestLookAlike: two releases of one table are said to look like it; those of other rows are
// not, as many as they may be.
func TestLookAlike(t *testing.T) {
	alike := func(custodians []dpreg.Custodian) bool {
		fit := must.Get(dpreg.Infer(context.Background(), custodians, dpreg.Options{Method: "naive", Plan: brief(1)}))(t)
		return strings.Contains(strings.Join(fit.Summary(dpreg.Original, 0.9).Warnings, ""), "--same-rows")
	}
	e := open(t, "pums10000", "income ~ educ + age", nil)
	e.keep(t, 9876)
	for name, p := range map[string]release.Privacy{
		"Laplace": {Epsilon: 1, Neighbours: release.ReplaceOne}, "normal": {Epsilon: 1, Delta: 1e-6, Neighbours: release.ReplaceOne},
		"a noisy number of rows": {Epsilon: 1, Neighbours: release.AddRemove},
	} {
		q := p
		q.Epsilon = 0.5
		if !alike([]dpreg.Custodian{e.releaseOnce(t, p, 1), e.releaseOnce(t, q, 2)}) {
			t.Errorf("%s: two releases of one table go unnoticed", name)
		}
	}
	round, privacy := open(t, "pums", "income ~ educ", nil), release.Privacy{Epsilon: 1, Neighbours: release.ReplaceOne}
	if !alike([]dpreg.Custodian{round.releaseOnce(t, privacy, 1), round.releaseOnce(t, privacy, 2)}) {
		t.Error("two releases of a table of 1000 rows, behind whose noise other rows could stand, go unnoticed")
	}
	privacy.Epsilon = 20
	low, high := open(t, "pums10000", "income ~ educ", nil), open(t, "pums10000", "income ~ educ", nil)
	low.keep(t, 2000)
	high.rows = high.rows[5000:]
	high.keep(t, 2000)
	if alike([]dpreg.Custodian{low.releaseOnce(t, privacy, 1), high.releaseOnce(t, privacy, 2)}) {
		t.Error("two custodians of as many rows look like one, though their sums differ")
	}
	for seed := range uint64(testsize.Of(20, 50)) {
		if alike(publishAreas(t, equalAreas, 1, seed)) {
			t.Error("seven areas of one law, and of as many rows, look like one")
		}
	}
	table := open(t, "pums10000", "income ~ educ", nil)
	var clinics []dpreg.Custodian
	for j := range 8 {
		own := example{design: table.design, rows: table.rows[1234*j:]}
		clinics = append(clinics, dpreg.Custodian{Name: fmt.Sprintf("clinic%d.json", j), Release: own.parts(t, []int{1234}, 1)[0].Release})
	}
	if alike(clinics) {
		t.Error("clinics of as many rows look like one")
	}
}
