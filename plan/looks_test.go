package plan

import (
	"math"
	"slices"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
)

// Median widths of releases in three steps that custody makes of normal rows are those that
// Foresee has, within a factor of 1.3: where frames are found, and where they are not.
func TestForeseeSteps(t *testing.T) {
	testsize.Full(t, "infers from releases for some twenty seconds")
	const releases = 15
	for _, c := range []struct {
		p              int
		n              int64
		epsilon, delta float64
		neighbours     release.Neighbours
	}{
		{1, 1000, 1, 1e-6, release.ReplaceOne},
		{1, 1000, 3, 0, release.AddRemove},
		{1, 10_000, 0.3, 0, release.ReplaceOne},
		{3, 1000, 0.3, 0, release.ReplaceOne},
		{3, 1000, 3, 1e-6, release.AddRemove},
		{3, 10_000, 1, 1e-6, release.ReplaceOne},
	} {
		o := Options{Design: dpreg.UnitDesign(c.p), Pool: true, Ns: []int64{c.n}, Epsilons: []float64{c.epsilon}, Delta: c.delta, Steps: 3, Releases: releases, Neighbours: c.neighbours}
		f := must.Get(Foresee(t.Context(), o))(t)
		widths := make([]float64, releases)
		for k := range widths {
			widths[k] = realWidth(t, o, f.Assumed, k)
		}
		slices.Sort(widths)
		got, want := f.Points[0].Slopes[0].Median, posterior.Quantile(widths, 0.5)
		t.Logf("%+v: %.3g foreseen, %.3g found", c, got, want)
		if ratio := got / want; ratio < 1/1.3 || ratio > 1.3 {
			t.Errorf("%+v: %.3g foreseen, %.3g found, a factor of %.2f", c, got, want, ratio)
		}
	}
}

// realWidth is the mean width over slopes of a release by custody of clamped normal rows.
func realWidth(t *testing.T, o Options, a *Assumption, k int) (mean float64) {
	t.Helper()
	shape, rng := model.DesignShape(o.Design), mcmc.Stream(77, k)
	m, law := shape.M(), model.NewMoments(shape)
	law.Set(a.draw(shape, o.Design.Frame(), slices.Repeat([]float64{math.NaN()}, shape.P), rng))
	law.Factor()
	rows := make([]float64, int(o.Ns[0])*m)
	for i := 0; i < len(rows); i += m {
		row := rows[i : i+m]
		for j := range row {
			row[j] = rng.NormFloat64()
		}
		dense.MulLowerVec(row, law.Chol, m, row)
		for j := range row {
			row[j] = min(max(row[j]+law.Mean[j], -1), 1)
		}
	}
	r := must.Get(custody.Publish(t.Context(), custody.Order{Rows: custody.Scaled{Name: "rows", Rows: rows}, Design: o.Design, Privacy: o.privacy(o.Epsilons[0]), Steps: o.Steps, Entropy: mechanisms.Simulated(rng)}))(t)
	fit := must.Get(dpreg.Infer(t.Context(), dpreg.One(r), dpreg.Options{Plan: mcmc.Plan{Chains: 1, Warmup: 300, Draws: 400, Seed: 1}}))(t)
	for _, q := range fit.Summary(dpreg.Original, 0.95).Parameters[1 : 1+shape.P] {
		mean += (q.Upper - q.Lower) / float64(shape.P)
	}
	return mean
}
