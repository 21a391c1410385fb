package dpreg_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

// uniformRows are n rows with x uniform on the box and y inside it: the law that
// gibbs-ss-prior is told to be the covariates'.
func uniformRows(t *testing.T, p, n int) example {
	t.Helper()
	box := func(name string) schema.Column { return schema.Column{Name: name, Lower: -1, Upper: 1} }
	e := example{design: &schema.Design{Response: box("y"), Intercept: true}}
	for j := range p {
		e.design.Covariates = append(e.design.Covariates, box(string(rune('a'+j))))
	}
	a, rng := ssp.NewAccumulator(p+1), rand.New(rand.NewPCG(41, 1))
	row := make([]float64, p+1)
	for range n {
		y := 0.1 + 0.1*rng.NormFloat64()
		for j := range p {
			row[j] = 2*rng.Float64() - 1
			y += 0.2 * row[j]
		}
		row[p] = y // at most 0.7 + 5 sd: as good as never clamped
		must.Do(t, a.AddRows(row))
		e.rows = append(e.rows, slices.Clone(row))
	}
	e.statistics = a.Statistics()
	return e
}

// withMoments adds moments of degree 3 and 4 of the covariates' rows to a release.
func (e example) withMoments(r *release.Release) *release.Release {
	p := len(e.design.Covariates)
	r.Moments = &release.Moments{Noise: r.Noise, Exponents: release.MomentExponents(p, 3)}
	for _, exponents := range r.Moments.Exponents {
		sum := 0.0
		for _, row := range e.rows {
			v := 1.0
			for j, k := range exponents {
				v *= math.Pow(row[j], float64(k))
			}
			sum += v
		}
		r.Moments.Sums = append(r.Moments.Sums, sum)
	}
	return r
}

// TestFixedMomentsAtLargeN: as the noise vanishes and n grows, gibbs-ss-prior told
// the right law of x, and gibbs-ss-noisy, have the posterior given the exact
// statistics. gibbs-ss-prior divides by
// n times the moments of x, and non-private by their sums: at n = 10⁵ they differ by
// some 1/√n = 0.3 %, and the posterior's sd with them. The bound of 2 % on sds and
// of 0.05 sd on means leaves room for 5.5 Monte Carlo errors.
func TestFixedMomentsAtLargeN(t *testing.T) {
	testsize.Full(t, "package gibbs has the kernel")
	for _, p := range []int{1, 3} {
		e := uniformRows(t, p, 100_000)
		prior := model.DefaultPrior(model.Shape{P: p, Intercept: true})
		prior.X = model.UniformX{}
		exact := must.Get(dpreg.NonPrivate(context.Background(), e.statistics, e.design, dpreg.Options{Prior: prior, Plan: mcmc.Plan{Chains: 4, Draws: 20_000, Seed: 2}}))(t)
		for _, method := range []string{"gibbs-ss-prior", "gibbs-ss-noisy"} {
			fit := must.Get(dpreg.Infer(context.Background(), dpreg.One(e.withMoments(e.written(1e-3))), dpreg.Options{
				Method: method, Prior: prior, Plan: mcmc.Plan{Chains: 4, Warmup: 1000, Draws: 10_000, Seed: 1}}))(t)
			scores(t, exact.Draws(dpreg.Scaled), fit.Draws(dpreg.Scaled), func(name string, zMean, zSD, dMean, ratio float64) {
				if !(math.Abs(dMean) < 0.05 || math.Abs(zMean) < 5.5) || !(math.Abs(ratio-1) < 0.02 || math.Abs(zSD) < 5.5) {
					t.Errorf("%s, p = %d, %s: the means are %.3f sd apart (%.1f errors), the sds %.2f %% (%.1f errors)", method, p, name, dMean, zMean, 100*(ratio-1), zSD)
				}
			})
		}
	}
}

// TestPriorMomentsOfCount: a latent n is among the draws of a method that has no
// model of x, and every θ has a price.
func TestPriorMomentsOfCount(t *testing.T) {
	e := open(t, "pums", "income ~ educ", nil)
	r, s := e.written(5), e.statistics.Vector() // Σx, Σy, Σx², …
	prior, mean := model.DefaultPrior(model.Shape{P: 1, Intercept: true}), s[0]/1000
	prior.X = model.NormalX{Mean: []float64{mean}, Covariance: []float64{s[2]/1000 - mean*mean}}
	r.N, r.NNoise = 1003, 6
	r.Privacy = &release.Privacy{Epsilon: 2, Neighbours: release.AddRemove}
	fit := must.Get(dpreg.Infer(context.Background(), dpreg.One(r), dpreg.Options{Method: "gibbs-ss-prior", Prior: prior, Plan: mcmc.Plan{Chains: 2, Warmup: 500, Draws: 4000, Seed: 1}}))(t)
	all := fit.Summary(dpreg.Original, 0.95).Parameters
	n := all[len(all)-1]
	if len(all) != 5 || n.Name != "n" || n.Label != "n" || n.Contraction != nil {
		t.Fatalf("%d parameters, of which the last is %+v", len(all), n)
	}
	if math.Abs(n.Mean-1003) > 35 || n.SD < 2 || n.SD > 10 { // as in TestInferCount
		t.Errorf("n is %g (sd %g)", n.Mean, n.SD)
	}
	price := fit.PriceOfPrivacy()
	if len(price) != 2 {
		t.Fatalf("the price is %v", price)
	}
	for i, v := range price {
		if !(v >= 1) {
			t.Errorf("price of theta[%d] is %g", i, v)
		}
	}
}
