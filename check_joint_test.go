package dpreg_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/check"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// hospital is the law of one custodian's rows, y = 0.1 + slope x + 0.2 e, or of a family with η = slope x.
type hospital struct {
	mean, slope float64
	of          model.Family
}

// publish releases 2000 rows of each in a box of its own, with Laplace noise of scale 4,
// the second with a noisy number of rows.
func publish(t *testing.T, hospitals ...hospital) (custodians []dpreg.Custodian) {
	return publishRows(t, 2000, 4, 21, hospitals...)
}

func publishRows(t *testing.T, n int, scale float64, seed uint64, hospitals ...hospital) (custodians []dpreg.Custodian) {
	t.Helper()
	for j, h := range hospitals {
		rng := mcmc.Stream(seed, j)
		d := simple(true)
		d.Covariates = []schema.Column{{Name: "x", Lower: -1.5 - 0.4*float64(j), Upper: 1.5}}
		d.Response.Upper = 1.5 + 0.3*float64(j)
		if h.of != model.Normal {
			d.Response.Lower, d.Response.Upper = 0, 1
		}
		frame, s := d.Frame(), make([]float64, 5)
		for range n {
			x := h.mean + 0.3*rng.NormFloat64()
			v := []float64{x, 0.1 + h.slope*x + 0.2*rng.NormFloat64()}
			if h.of != model.Normal {
				v[1] = h.of.Draw(h.slope*x, 1, rng)
			}
			frame.Scale(v, v)
			for i, u := range []float64{v[0], v[1], v[0] * v[0], v[0] * v[1], v[1] * v[1]} {
				s[i] += u
			}
		}
		r := noisy(d, s, int64(n), scale, rng)
		if j == 1 {
			r.Privacy = &release.Privacy{Epsilon: 6 / scale, Neighbours: release.AddRemove}
			r.Noise.Sensitivity, r.NNoise = 6, scale
			r.N += 3
		}
		custodians = append(custodians, dpreg.Custodian{Name: fmt.Sprintf("h%d.json", j+1), Release: r})
	}
	return custodians
}

// TestCheckJointlyFinds: what hospitals do not share is found, at the one that differs,
// unless the model lets it differ. Each p-value of a model that holds is at most 0.01 with
// probability 0.02 at most (Meng 1994); in the others hardly one of 3200 replicates is
// as far as the release.
func TestCheckJointlyFinds(t *testing.T) {
	testsize.Full(t, "TestCheckFinds has one release")
	plan := mcmc.Plan{Chains: 2, Warmup: 300, Draws: 400, Seed: 1}
	const x, all = 0, 5 // blocks
	alike, other, steep := hospital{slope: 0.3}, hospital{mean: 0.5, slope: 0.3}, hospital{slope: 0.8}
	likely := hospital{slope: 3, of: model.Binomial} // 0.3 in the others
	for _, c := range []struct {
		third               hospital
		covariates, pooling string
		block               int // of the third, that is small; -1: none is
	}{
		{other, "separate", "complete", -1}, {other, "shared", "complete", x}, {likely, "separate", "complete", all},
		{steep, "separate", "complete", all}, {steep, "separate", "partial", -1},
		{hospital{slope: 0.3, of: model.Binomial}, "separate", "complete", -1}, {likely, "shared", "complete", all},
		{alike, "shared", "complete", -1},
	} {
		of := c.third.of
		alike.of = of
		custodians := publish(t, alike, alike, c.third)
		fit := must.Get(dpreg.Infer(context.Background(), custodians, dpreg.Options{Method: "mcmc-exact", Family: of, Covariates: c.covariates, Pooling: c.pooling, Plan: plan, Prior: of.BoxPrior(model.Shape{P: 1, Intercept: true})}))(t)
		check := must.Get(check.Fit(context.Background(), fit, check.Options{Seed: 1}))(t)
		if c.block >= 0 {
			if p := check.Releases[2].Blocks[c.block].P; !(p < 0.001) || !(check.All.P < 0.001) {
				t.Errorf("%+v: p = %v at the third, %v of all", c, p, check.All.P)
			}
			continue
		}
		if !(check.All.P > 0.01) {
			t.Errorf("%+v: p of all = %v", c, check.All.P)
		}
		for _, r := range check.Releases {
			for _, b := range r.Blocks {
				if !(b.P > 0.01) {
					t.Errorf("%+v, %s: p of %s = %v", c, r.Name, b.Name, b.P)
				}
			}
			if e := r.Entries[0]; !(math.Abs(e.Z-e.Mean) < 5*e.SD) {
				t.Errorf("%+v, %s: Σx = %v, expected %v ± %v", c, r.Name, e.Z, e.Mean, e.SD)
			}
		}
		if check.Covariates != c.covariates || check.Pooling != c.pooling {
			t.Errorf("%+v: %s, %s", c, check.Covariates, check.Pooling)
		}
	}
}

// TestCheckJointlyCalibrates: p-values are ranked among those of releases of all
// custodians, whatever the number of workers; all sums of one release are all.
func TestCheckJointlyCalibrates(t *testing.T) {
	testsize.Full(t, "refits take seconds; TestCheckFinds has some")
	custodians := publish(t, hospital{slope: 0.3}, hospital{mean: 0.2, slope: 0.3})
	fit := must.Get(dpreg.Infer(context.Background(), custodians, dpreg.Options{Plan: brief(1)}))(t)
	var texts []string
	for _, workers := range []int{1, 2} {
		check := must.Get(check.Fit(context.Background(), fit, check.Options{Calibrate: 3, Workers: workers}))(t)
		for _, p := range append(ps(check.Releases[0]), append(ps(check.Releases[1]), check.All)...) {
			if p.Calibrated == nil || !(*p.Calibrated >= 0.25 && *p.Calibrated <= 1) {
				t.Errorf("calibrated %v", p)
			}
		}
		var b bytes.Buffer
		must.Do(t, check.WriteJSON(&b))
		must.Do(t, check.WriteCSV(&b))
		texts = append(texts, b.String())
	}
	if texts[0] != texts[1] || !strings.Contains(texts[0], `"format": "dpreg-joint-check/1"`) || !strings.Contains(texts[0], "h2.json,block,all sums") {
		t.Errorf("1 worker gives\n%s2 give\n%s", texts[0], texts[1])
	}
	alone := must.Get(dpreg.Infer(context.Background(), custodians[:1], dpreg.Options{Plan: brief(1)}))(t)
	one := must.Get(check.Fit(context.Background(), alone, check.Options{Calibrate: 2}))(t)
	if all := one.Releases[0].Blocks[5]; all.P != one.All.P || *all.Calibrated != *one.All.Calibrated {
		t.Errorf("of one release: %v, of all %v", all.PValue, one.All)
	}
}
