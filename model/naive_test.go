package model_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// naiveProblem has 100 rows of one covariate, and this Σy².
func naiveProblem(intercept bool, yy float64) *model.Problem {
	shape := model.Shape{P: 1, Intercept: intercept}
	return &model.Problem{Prior: model.DefaultPrior(shape), Releases: []*release.Release{{
		Format: release.Format,
		Schema: schema.Design{
			Response:   schema.Column{Name: "y", Lower: -1, Upper: 1},
			Covariates: []schema.Column{{Name: "x", Lower: -1, Upper: 1}}, Intercept: intercept,
		},
		N:          100,
		Noise:      release.Noise{Kind: release.Laplace, Scale: 5},
		Statistics: release.StatisticsFromVector(2, []float64{10, -20, 30, 15, yy}),
	}}}
}

func naiveDraws(t *testing.T, p *model.Problem) *posterior.Draws {
	t.Helper()
	return must.Get(model.Naive{}.Sample(context.Background(), p, mcmc.Plan{Chains: 2, Warmup: 100, Draws: 5000, Seed: 3}))(t)
}

// The draws are those of the NIG posterior given z. The mean of 10000 independent
// draws has the standard error sd/100; five of them are missed by chance once in
// 1.7 million comparisons, of which there are five.
func TestNaiveIsConjugate(t *testing.T) {
	for _, intercept := range []bool{true, false} {
		p := naiveProblem(intercept, 25)
		p.Prior = &model.Prior{Theta: &conjugate.NIG{Mean: []float64{0.1}, Precision: []float64{0.2}, Shape: 3, Scale: 0.2}}
		if intercept {
			p.Prior.Theta.Mean, p.Prior.Theta.Precision = []float64{0.1, -0.2}, []float64{0.2, 0.1, 0.1, 0.3}
		}
		p.Prior.Covariates = model.DefaultPrior(model.Shape{P: 1}).Covariates
		d := naiveDraws(t, p)
		xx, xy := []float64{30}, []float64{15}
		if intercept {
			xx, xy = []float64{100, 10, 10, 30}, []float64{-20, 15}
		}
		q := len(xy)
		want := p.Prior.Theta.Clone()
		if !conjugate.NewNIGSampler(q).Update(want, p.Prior.Theta, xx, xy, 25, 100) {
			t.Fatal("the posterior is not proper")
		}
		sigma2, variances := distuv.InverseGamma{Alpha: want.Shape, Beta: want.Scale}, make([]float64, q)
		want.VarTheta(variances)
		means := append(want.Mean, sigma2.Mean())
		variances = append(variances, sigma2.Variance())
		for j, name := range d.Names {
			mean := 0.0
			for _, v := range slices.Concat(d.Column(j)...) {
				mean += v / 10000
			}
			if !(math.Abs(mean-means[j]) <= 5*math.Sqrt(variances[j])/100) {
				t.Errorf("intercept %v: mean of %s is %v, want %v", intercept, name, mean, means[j])
			}
		}
		if d.Warmup != 0 || len(d.Warnings) != 1 || len(d.Names) != q+1 {
			t.Errorf("warm-up %d, warnings %q, names %v", d.Warmup, d.Warnings, d.Names)
		}
	}
}

// Under the default prior p(θ, log σ | z) ∝ N(θ; 0, 2.5²) (1 + σ²/3)⁻² σ^{1−n} e^{−RSS(θ)/2σ²},
// of which sums over a grid give the moments: its steps are an eighth of the sds, where the error of
// such a sum, exp(−2π²(sd/step)²), is none. Of the mean of 10000 nearly independent draws,
// and of their squares, 5.5 errors are missed by chance in 4e-8 cases each.
func TestNaiveDefaultPrior(t *testing.T) {
	p := naiveProblem(false, 0)
	p.Releases[0].N = 6 // few rows, so that the prior tells
	p.Releases[0].Statistics = release.StatisticsFromVector(2, []float64{1, -1, 3, 1.5, 2})
	d := naiveDraws(t, p)
	var total float64
	want := make([]float64, 4)
	functions := func(theta, sigma2 float64) []float64 {
		l := math.Log(sigma2)
		return []float64{theta, theta * theta, l, l * l}
	}
	for theta := -8.0; theta < 9; theta += 0.05 {
		rss := 2 - 3*theta + 3*theta*theta
		for l := -4.0; l < 5; l += 0.05 {
			sigma2 := math.Exp(2 * l)
			w := math.Exp(-theta*theta/12.5 - 2*math.Log1p(sigma2/3) - 5*l - rss/(2*sigma2))
			total += w
			for i, v := range functions(theta, sigma2) {
				want[i] += w * v
			}
		}
	}
	thetas, sigmas := d.Column(0), d.Column(1)
	for i := range want {
		var chains [][]float64
		for c := range d.Chains {
			var x []float64
			for k, theta := range thetas[c] {
				x = append(x, functions(theta, sigmas[c][k])[i])
			}
			chains = append(chains, x)
		}
		got := 0.0
		for _, v := range slices.Concat(chains...) {
			got += v / 10000
		}
		if !(math.Abs(got-want[i]/total) <= 5.5*posterior.Of(chains).MCSEMean()) {
			t.Errorf("mean of function %d is %v, want %v, with an error of %v", i, got, want[i]/total, posterior.Of(chains).MCSEMean())
		}
		if ess := posterior.Of(chains).ESSMean(); ess < 2500 {
			t.Errorf("function %d: %.0f effective draws of 10000", i, ess)
		}
	}
}

// Σy² = 1 is below (Σy)²/n = 4: no data could have these statistics.
func TestNaiveProjects(t *testing.T) {
	d := naiveDraws(t, naiveProblem(true, 1))
	if len(d.Warnings) != 2 {
		t.Errorf("warnings %q", d.Warnings)
	}
	for _, chain := range d.Chains {
		for _, v := range chain {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("a draw is %v", v)
			}
		}
	}
}

func TestNaiveRefuses(t *testing.T) {
	p := naiveProblem(true, 25)
	p.Prior = model.DefaultPrior(model.Shape{P: 2, Intercept: true})
	if _, err := (model.Naive{}).Sample(context.Background(), p, mcmc.Plan{Chains: 1, Draws: 10}); err == nil {
		t.Error("a prior of another size is accepted")
	}
}

// TestNaivePooled: where pooling is partial, draws are of a chain that warms up, named as by
// Joint.Names, and nearly independent.
func TestNaivePooled(t *testing.T) {
	p := naiveProblem(true, 25)
	p.Releases = []*release.Release{p.Releases[0], p.Releases[0], p.Releases[0]}
	p.PartialPooling = true
	d := naiveDraws(t, p)
	want := []string{"theta[0]", "theta[1]", "sigma2", "omega[0,0]", "omega[0,1]", "omega[1,1]", "spread_log_sigma",
		"theta_at[1,0]", "theta_at[1,1]", "sigma_at[1]", "theta_at[2,0]", "theta_at[2,1]", "sigma_at[2]", "theta_at[3,0]", "theta_at[3,1]", "sigma_at[3]"}
	if !slices.Equal(d.Names, want) || d.Warmup != 100 || len(d.Warnings) != 1 {
		t.Errorf("names %v, warm-up %d, warnings %q", d.Names, d.Warmup, d.Warnings)
	}
	for j, name := range d.Names {
		if ess := posterior.Of(d.Column(j)).ESSBulk(); !(ess > 1000) {
			t.Errorf("%s: %.0f effective draws of 10000", name, ess)
		}
	}
}
