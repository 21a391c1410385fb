package dpreg_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

var areaTrials = flag.Int("areas", 0, "data sets of TestAreasCoverage")

// area is a law of income given years of education, in thousands.
type area struct{ slope, sigma float64 }

// unequalAreas differ in their residual sds as real ones do, equalAreas do not.
var (
	unequalAreas = []area{{2.5, 21}, {3.5, 24}, {4.5, 29}, {6, 38}, {9.4, 52}, {9.5, 64}, {9.6, 76}}
	equalAreas   = slices.Repeat([]area{{7, 45}}, 7)
)

// publishAreas are releases of 1000 rows of each area: Laplace noise at ε, on a box beyond
// which hardly any income lies.
func publishAreas(t *testing.T, areas []area, epsilon float64, seed uint64) (custodians []dpreg.Custodian) {
	t.Helper()
	d := schema.Design{Response: schema.Column{Name: "income", Lower: -200, Upper: 320}, Intercept: true,
		Covariates: []schema.Column{{Name: "educ", Lower: 0, Upper: 20}}}
	for j, law := range areas {
		rng := mcmc.Stream(seed, j)
		sums, v := ssp.NewAccumulator(2), make([]float64, 2)
		for range 1000 {
			x := 10 + 3*rng.NormFloat64()
			d.Frame().Scale(v, []float64{x, 60 + law.slope*(x-10) + law.sigma*rng.NormFloat64()})
			for i := range v {
				v[i] = min(1, max(-1, v[i]))
			}
			must.Do(t, sums.AddRows(v))
		}
		r := noisy(d, sums.Statistics().Vector(), 1000, 6/epsilon, rng)
		custodians = append(custodians, dpreg.Custodian{Name: fmt.Sprintf("area%d.json", j+1), Release: r})
	}
	return custodians
}

// areaPlan is that of mcmc-exact in TestAreasHaveTheirOwnSigma.
func areaPlan() mcmc.Plan {
	return mcmc.Plan{Chains: 2, Warmup: testsize.Of(200, 500), Draws: testsize.Of(150, 500), Seed: 1}
}

// TestAreasHaveTheirOwnSigma: custodians with different residual sds keep their slopes, as
// near to the truth as to what each says alone. A slope is off by 5 sds of its posterior with
// probability 6e-7; where all had one σ, that of the last was off by ten of each one's own.
func TestAreasHaveTheirOwnSigma(t *testing.T) {
	testsize.Full(t, "TestAgesHaveTheirOwnSigma has two releases")
	custodians := publishAreas(t, unequalAreas, 3, 103)
	type moments struct{ mean, sd float64 }
	alone := make(map[int]moments)
	for j := range unequalAreas {
		one := must.Get(dpreg.Infer(context.Background(), dpreg.One(custodians[j].Release), dpreg.Options{Method: "mcmc-exact", Plan: areaPlan()}))(t)
		var m moments
		m.mean, m.sd = meanSD(parameter(t, one.Draws(dpreg.Original), "theta[1]"))
		alone[j] = m
	}
	for method, plan := range map[string]mcmc.Plan{
		"mcmc-exact": areaPlan(), "gibbs-ss-update": {Chains: 2, Warmup: 1000, Draws: 1500, Seed: 1}} {
		fit := must.Get(dpreg.Infer(context.Background(), custodians, dpreg.Options{Pooling: dpreg.PartialPooling, Method: method, Plan: plan}))(t)
		d := fit.Draws(dpreg.Original)
		for j, one := range alone {
			law := unequalAreas[j]
			slope, sd := meanSD(parameter(t, d, fmt.Sprintf("theta_at[%d,1]", j+1)))
			if !(math.Abs(slope-law.slope) < 5*sd && math.Abs(slope-one.mean) < 1.5*one.sd && sd < 1.3*one.sd) {
				t.Errorf("%s: the slope of area %d is %.2f ± %.2f, of its rows' law %g, alone %.2f ± %.2f", method, j+1, slope, sd, law.slope, one.mean, one.sd)
			}
		}
	}
}

// TestAgesHaveTheirOwnSigma: of real rows, the young and the old of a census, whose residual
// sds are 20,600 and 49,500 dollars, slopes and sigma lie within 4 sds of the least squares of
// the rows.
func TestAgesHaveTheirOwnSigma(t *testing.T) {
	e, ages := open(t, "pums10000", "income ~ educ", nil), open(t, "pums10000", "income ~ age", nil).rows
	var custodians []dpreg.Custodian
	var truth [][2]float64
	for _, group := range [][2]float64{{0, 30}, {40, 200}} {
		own := example{design: e.design}
		for i, row := range e.rows {
			if age := ages[i][0]; age >= group[0] && age < group[1] {
				own.rows = append(own.rows, row)
			}
		}
		custodians = append(custodians, dpreg.Custodian{Name: fmt.Sprintf("from%g.json", group[0]), Release: own.parts(t, []int{len(own.rows)}, 2)[0].Release})
		truth = append(truth, simpleRegression(own.rows))
	}
	o := dpreg.Options{Pooling: dpreg.PartialPooling, Plan: mcmc.Plan{Chains: 2, Warmup: testsize.Of(300, 1000), Draws: testsize.Of(400, 2000), Seed: 1}}
	fit := must.Get(dpreg.Infer(context.Background(), custodians, o))(t)
	for j, want := range truth {
		for k, name := range []string{"theta_at[%d,1]", "sigma_at[%d]"} {
			mean, sd := meanSD(parameter(t, fit.Draws(dpreg.Original), fmt.Sprintf(name, j+1)))
			if !(math.Abs(mean-want[k]) < 4*sd && sd < 0.25*want[k]) {
				t.Errorf("%s of %s: %.0f ± %.0f, of its rows %.0f", name, custodians[j].Name, mean, sd, want[k])
			}
		}
	}
}

// simpleRegression returns the slope and the residual sd of rows (x, y).
func simpleRegression(rows [][]float64) [2]float64 {
	var n, x, y, xx, xy, yy float64
	for _, v := range rows {
		n, x, y, xx, xy, yy = n+1, x+v[0], y+v[1], xx+v[0]*v[0], xy+v[0]*v[1], yy+v[1]*v[1]
	}
	sxx, sxy, syy := xx-x*x/n, xy-x*y/n, yy-y*y/n
	return [2]float64{sxy / sxx, math.Sqrt((syy - sxy*sxy/sxx) / (n - 2))}
}

// docs/custodians.md says in short what
//
//	go test . -run TestAreasCoverage -areas 200 -v -timeout 1h
//
// prints: of each area the mean estimate of the slope, how often its 95 % interval holds
// the truth, and the interval's mean width, by partial pooling and from its release alone.
func TestAreasCoverage(t *testing.T) {
	if *areaTrials == 0 {
		t.Skip("asked for by -areas")
	}
	var results [7][2]struct{ mean, held, width float64 }
	for k := range *areaTrials {
		custodians, plan := publishAreas(t, unequalAreas, 3, uint64(1000+k)), mcmc.Plan{Chains: 2, Warmup: 1000, Draws: 2000, Seed: uint64(k)}
		fit := must.Get(dpreg.Infer(context.Background(), custodians, dpreg.Options{Pooling: dpreg.PartialPooling, Plan: plan}))(t)
		for j, law := range unequalAreas {
			alone := must.Get(dpreg.Infer(context.Background(), dpreg.One(custodians[j].Release), dpreg.Options{Plan: plan}))(t)
			for way, slopes := range [][]float64{parameter(t, fit.Draws(dpreg.Original), fmt.Sprintf("theta_at[%d,1]", j+1)), parameter(t, alone.Draws(dpreg.Original), "theta[1]")} {
				mean, _ := meanSD(slopes)
				slices.Sort(slopes)
				low, high := posterior.Quantile(slopes, 0.025), posterior.Quantile(slopes, 0.975)
				r := &results[j][way]
				r.mean, r.width = r.mean+mean, r.width+high-low
				if low < law.slope && law.slope < high {
					r.held++
				}
			}
		}
	}
	n := float64(*areaTrials)
	fmt.Println("| sigma | slope | pooled: mean | held | width | alone: mean | held | width |\n|---|---|---|---|---|---|---|---|")
	for j, law := range unequalAreas {
		p, a := results[j][0], results[j][1]
		fmt.Printf("| %g | %g | %.2f | %.0f %% | %.1f | %.2f | %.0f %% | %.1f |\n", law.sigma, law.slope,
			p.mean/n, 100*p.held/n, p.width/n, a.mean/n, 100*a.held/n, a.width/n)
	}
}

// TestContradictions: the releases that complete pooling does not fit are named, and none of
// custodians of one law.
func TestContradictions(t *testing.T) {
	testsize.Full(t, "package agree has the test")
	plan := mcmc.Plan{Chains: 2, Warmup: 250, Draws: 250, Seed: 1}
	contradicting := func(custodians []dpreg.Custodian, o dpreg.Options) (warnings string) {
		o.Plan = plan
		fit := must.Get(dpreg.Infer(context.Background(), custodians, o))(t)
		s := fit.Summary(dpreg.Original, 0.9)
		for _, w := range s.Warnings {
			if strings.Contains(w, "complete pooling does not hold") {
				warnings += w
			}
		}
		for _, r := range s.Releases {
			if r.Contradicts != strings.Contains(warnings, *r.Name) {
				t.Errorf("%s contradicts: %t, and the warning is %q", *r.Name, r.Contradicts, warnings)
			}
		}
		return warnings
	}
	unequal := publishAreas(t, unequalAreas, 3, 103)
	for _, method := range []string{"mcmc-exact", "gibbs-ss-update"} {
		got := contradicting(unequal, dpreg.Options{Method: method})
		if !strings.Contains(got, "area1.json") || !strings.Contains(got, "area7.json") || !strings.Contains(got, "--pooling partial") {
			t.Errorf("%s, areas of other residual sds and slopes: %q", method, got)
		}
	}
	if got := contradicting(unequal, dpreg.Options{Pooling: dpreg.PartialPooling}); got != "" {
		t.Errorf("partial pooling: %q", got)
	}
	for seed := range uint64(max(5, *areaTrials)) {
		if got := contradicting(publishAreas(t, equalAreas, 3, seed), dpreg.Options{}); got != "" {
			t.Errorf("areas of one law: %q", got)
		}
	}
	// Real rows, whose residuals have a kurtosis of 32 and a variance that grows with x, in
	// parts as they come, which is at random.
	e := open(t, "pums10000", "income ~ educ", nil)
	for _, sizes := range [][]int{{500, 4500, 3000, 2000}, {5000, 5000}, slices.Repeat([]int{1000}, 10)} {
		for _, scale := range []float64{0.2, 10} {
			if got := contradicting(e.parts(t, sizes, scale), dpreg.Options{}); got != "" {
				t.Errorf("parts of one table, noise %g: %q", scale, got)
			}
		}
	}
}
