package dpreg_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/check"
	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// simple is a design of x and y on [-1, 1].
func simple(intercept bool) schema.Design {
	return schema.Design{
		Response:   schema.Column{Name: "y", Lower: -1, Upper: 1},
		Covariates: []schema.Column{{Name: "x", Lower: -1, Upper: 1}},
		Intercept:  intercept,
	}
}

// noisy is a release of statistics with Laplace noise.
func noisy(d schema.Design, s []float64, n int64, scale float64, rng *rand.Rand) *release.Release {
	for i := range s {
		s[i] += scale * math.Copysign(rng.ExpFloat64(), rng.Float64()-0.5)
	}
	return &release.Release{
		Format: release.Format, Simulated: true, Schema: d, N: n,
		Noise:      release.Noise{Kind: release.Laplace, Scale: scale},
		Statistics: release.StatisticsFromVector(2, s),
	}
}

// checked fits a release and checks it.
func checked(t *testing.T, r *release.Release, prior *model.Prior, refits int, seed uint64) *check.Release {
	t.Helper()
	plan := mcmc.Plan{Chains: 2, Warmup: 250, Draws: 250, Seed: seed}
	if *power > 0 {
		plan.Warmup, plan.Draws = 500, 500
	}
	return checkedBy(t, plan, r, prior, refits)
}

func checkedBy(t *testing.T, plan mcmc.Plan, r *release.Release, prior *model.Prior, refits int) *check.Release {
	t.Helper()
	fit := must.Get(dpreg.Infer(context.Background(), dpreg.One(r), dpreg.Options{Plan: plan, Prior: prior}))(t)
	c := must.Get(check.Fit(context.Background(), fit, check.Options{Calibrate: refits, Seed: plan.Seed}))(t)
	return c.Releases[0]
}

// boxed is a prior under which rows lie inside the box: releases drawn from it are
// such as releases are.
func boxed(t *testing.T, shape model.Shape) *model.Prior {
	t.Helper()
	mean, precision := make([]float64, shape.Q()), make([]float64, shape.Q()*shape.Q())
	for j := range mean {
		mean[j], precision[j*shape.Q()+j] = 0.3, 4
	}
	theta := must.Get(conjugate.NewNIG(mean, precision, 20, 0.5))(t)
	x := must.Get(conjugate.NewNIW([]float64{0.1}, 4, []float64{2}, 20))(t)
	return &model.Prior{Theta: theta, Covariates: x}
}

// drawn is a release that follows the model under a prior.
func drawn(t *testing.T, d schema.Design, prior *model.Prior, n int64, scale float64, rng *rand.Rand) *release.Release {
	t.Helper()
	shape := model.Shape{P: 1, Intercept: d.Intercept}
	x, moments := model.NewParams(shape), model.NewMoments(shape)
	nig, niw := conjugate.NewNIGSampler(shape.Q()), conjugate.NewNIWSampler(1)
	nig.Set(prior.Theta)
	niw.Set(prior.Covariates)
	x.Sigma2 = nig.Rand(x.Theta, rng)
	niw.Rand(x.MuX, x.Tau, rng)
	moments.Set(x)
	if !moments.Factor() {
		t.Fatal("not definite")
	}
	s := make([]float64, shape.Statistics())
	moments.RandExact(s, float64(n), rng)
	return noisy(d, s, n, scale, rng)
}

// Under the model the calibrated p-values are uniform on {1/(K+1), …, 1}: mean
// (K+2)/(2K+2), variance (K²+2K)/(12(K+1)²). By the normal approximation the
// mean of 36 lies within 4.6 standard errors but with probability 4e-6, for each of
// the 11 p-values 5e-5 in all. The mean of squares, which a law that is too narrow
// or too wide would change, is held likewise.
func TestCheckIsCalibrated(t *testing.T) {
	testsize.Full(t, "180 fits, of which fewer show little")
	const trials, refits = 36, 4
	sums, squares := make([]float64, 11), make([]float64, 11)
	for k := range trials {
		rng := mcmc.Stream(2026, k)
		d := simple(k%2 == 0)
		prior := boxed(t, model.Shape{P: 1, Intercept: d.Intercept})
		// Refits have chains as short, so that ranks of p-values are as uniform.
		c := checkedBy(t, mcmc.Plan{Chains: 2, Warmup: 150, Draws: 100, Seed: uint64(k)}, drawn(t, d, prior, 300, 3, rng), prior, refits)
		for i, p := range ps(c) {
			sums[i] += *p.Calibrated / float64(trials)
			squares[i] += *p.Calibrated * *p.Calibrated / float64(trials)
		}
	}
	mean, meanSquare, fourth := 0.0, 0.0, 0.0
	for k := 1; k <= refits+1; k++ {
		u := float64(k) / float64(refits+1)
		mean, meanSquare, fourth = mean+u/float64(refits+1), meanSquare+u*u/float64(refits+1), fourth+u*u*u*u/float64(refits+1)
	}
	for i := range sums {
		must.Near(t, "mean of calibrated p-values", sums[i], mean, 4.6*math.Sqrt((meanSquare-mean*mean)/float64(trials)))
		must.Near(t, "their mean square", squares[i], meanSquare, 4.6*math.Sqrt((fourth-meanSquare*meanSquare)/float64(trials)))
	}
}

// ps are the p-values of entries and blocks.
func ps(c *check.Release) []check.PValue {
	var all []check.PValue
	for _, e := range c.Entries {
		all = append(all, e.PValue)
	}
	for _, b := range c.Blocks {
		all = append(all, b.PValue)
	}
	return all
}

// rowsOf sums n rows of a law, clamped.
func rowsOf(n int, rng *rand.Rand, law func(*rand.Rand) (x, y float64)) []float64 {
	s := make([]float64, 5)
	for range n {
		x, y := law(rng)
		x, y = max(-1, min(1, x)), max(-1, min(1, y))
		for i, v := range []float64{x, y, x * x, x * y, y * y} {
			s[i] += v
		}
	}
	return s
}

// A line that the model forces through the origin, and does not go there, is found;
// so is the ±1 covariate, by what a normal law would put outside the bounds.
func TestCheckFinds(t *testing.T) {
	rng := mcmc.Stream(7, 0)
	binary := func(rng *rand.Rand) (x, y float64) {
		x = float64(2*rng.IntN(2) - 1)
		return x, 0.5 + 0.2*x + 0.1*rng.NormFloat64()
	}
	s := rowsOf(1000, rng, binary)
	origin := checked(t, noisy(simple(false), s, 1000, 0.1, rng), nil, testsize.Of(0, 19), 1)
	if p := origin.Blocks[2]; p.P > 0.01 || !testing.Short() && *p.Calibrated > 0.05 {
		t.Errorf("sum of y without an intercept: %+v", p)
	}
	line := checked(t, noisy(simple(true), s, 1000, 0.1, rng), nil, 0, 1)
	if out := line.Columns[0].Outside; out < 0.25 || out > 0.4 { // 2Φ(−1) = 0.317
		t.Errorf("x outside its bounds: %v", out)
	}
	if line.Blocks[0].Calibrated != nil || line.Refits != 0 {
		t.Error("calibrated unasked")
	}
}

// The mean and sd of replicates, which come from the laws of total expectation and
// variance, agree with the quantiles, which come from the replicates.
func TestCheckReplicates(t *testing.T) {
	rng := mcmc.Stream(10, 0)
	d := simple(true)
	c := checked(t, drawn(t, d, boxed(t, model.Shape{P: 1, Intercept: true}), 1000, 5, rng), nil, 0, 1)
	for _, e := range c.Entries {
		if !(e.Q2_5 < e.Q25 && e.Q25 < e.Q50 && e.Q50 < e.Q75 && e.Q75 < e.Q97_5) {
			t.Errorf("%s: quantiles %+v", e.Label, e.Replicated)
		}
		// 95 % of a law near the normal.
		must.Near(t, e.Label+": width of the interval in sd", (e.Q97_5-e.Q2_5)/e.SD, 3.92, 0.25)
		must.Near(t, e.Label+": median", (e.Q50-e.Mean)/e.SD, 0, 0.15)
		if !(e.SD > 5*math.Sqrt2) {
			t.Errorf("%s: sd %v is below that of the noise", e.Label, e.SD)
		}
	}
}

// The result depends on the seed, not on the workers.
func TestCheckWorkers(t *testing.T) {
	r := drawn(t, simple(true), boxed(t, model.Shape{P: 1, Intercept: true}), 300, 3, mcmc.Stream(9, 0))
	fit := must.Get(dpreg.Infer(context.Background(), dpreg.One(r), dpreg.Options{Plan: brief(1)}))(t)
	var texts []string
	for _, workers := range []int{1, 3} {
		done := 0
		c := must.Get(check.Fit(context.Background(), fit, check.Options{Calibrate: 2, Workers: workers, Progress: func(d, total int) { done += total - d }}))(t)
		if done != 2+1 {
			t.Errorf("progress adds up to %d", done)
		}
		var b bytes.Buffer
		must.Do(t, c.WriteJSON(&b))
		if !json.Valid(b.Bytes()) || !strings.Contains(b.String(), `"format": "dpreg-check/1"`) || !strings.Contains(b.String(), `"q97.5"`) {
			t.Errorf("JSON %s", b.String())
		}
		must.Do(t, c.WriteCSV(&b))
		texts = append(texts, b.String())
	}
	if texts[0] != texts[1] {
		t.Errorf("1 worker gives\n%s3 give\n%s", texts[0], texts[1])
	}
}

func TestCheckRefuses(t *testing.T) {
	r := drawn(t, simple(true), boxed(t, model.Shape{P: 1, Intercept: true}), 300, 3, mcmc.Stream(9, 0))
	naive := must.Get(dpreg.Infer(context.Background(), dpreg.One(r), dpreg.Options{Method: "naive", Plan: brief(1)}))(t)
	if _, err := check.Fit(context.Background(), naive, check.Options{}); err == nil {
		t.Error("naive was checked")
	}
	fit := must.Get(dpreg.Infer(context.Background(), dpreg.One(r), dpreg.Options{Plan: brief(1)}))(t)
	if _, err := check.Fit(context.Background(), fit, check.Options{Calibrate: -1}); err == nil {
		t.Error("-1 refits")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, refits := range []int{0, 3} {
		if _, err := check.Fit(ctx, fit, check.Options{Calibrate: refits}); err != context.Canceled {
			t.Errorf("%v", err)
		}
	}
}
