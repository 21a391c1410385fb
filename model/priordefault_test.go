package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/variate"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// factorDesign has a factor of four levels, another of two, and a number.
func factorDesign(intercept bool) *schema.Design {
	d := &schema.Design{
		Response:  schema.Column{Name: "y", Lower: -100, Upper: 300},
		Factors:   []schema.Factor{{Name: "f", Levels: []string{"a", "b", "c", "d"}}, {Name: "g", Levels: []string{"u", "v"}}},
		Intercept: intercept,
	}
	for _, level := range []string{"a", "b", "c", "d"} {
		if level != "a" || !intercept {
			d.Covariates = append(d.Covariates, schema.Column{Name: "f" + level, Upper: 1, Factor: "f", Level: level})
		}
	}
	d.Covariates = append(d.Covariates, schema.Column{Name: "gv", Upper: 1, Factor: "g", Level: "v"}, schema.Column{Name: "x", Lower: 10, Upper: 30})
	return d
}

// noisy is a release of a design with these means and variances in its scaled units.
func noisy(d *schema.Design, n int64, scale float64, mean, variance []float64) *release.Release {
	m := len(mean)
	v := make([]float64, release.Length(m))
	for j := range m {
		v[j] = float64(n) * mean[j]
		v[release.Index(m, j, j)] = float64(n) * (variance[j] + mean[j]*mean[j])
	}
	return &release.Release{Schema: *d, N: n, Noise: release.Noise{Kind: release.Gaussian, Scale: scale}, Statistics: release.StatisticsFromVector(m, v)}
}

func near(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
	for i, w := range want {
		if !(math.Abs(got[i]-w) <= tolerance*(1+math.Abs(w))) {
			t.Errorf("%s: %v, want %v", what, got, want)
			return
		}
	}
}

func nearPrior(t *testing.T, got, want *Prior, tolerance float64) {
	t.Helper()
	near(t, "theta.mean", got.Theta.Mean, want.Theta.Mean, tolerance)
	near(t, "theta.precision", got.Theta.Precision, want.Theta.Precision, tolerance)
	near(t, "sigma2", []float64{got.Theta.Shape, got.Theta.Scale}, []float64{want.Theta.Shape, want.Theta.Scale}, tolerance)
	near(t, "covariates.mean", got.Covariates.Mean, want.Covariates.Mean, tolerance)
	near(t, "covariates.scale", got.Covariates.Scale, want.Covariates.Scale, tolerance)
	near(t, "mean_sd", got.MeanSD, want.MeanSD, tolerance)
	near(t, "kappa, dof", []float64{got.Covariates.Kappa, got.Covariates.Dof}, []float64{want.Covariates.Kappa, want.Covariates.Dof}, tolerance)
	if got.Unscaled != want.Unscaled || len(got.Scales) != len(want.Scales) {
		t.Fatalf("unscaled %v with %d free scales, want %v with %d", got.Unscaled, len(got.Scales), want.Unscaled, len(want.Scales))
	}
	for i, w := range want.Scales {
		g := got.Scales[i]
		if g.Sigma != w.Sigma || !slices.Equal(g.Covariates, w.Covariates) || !slices.Equal(g.Coefficients, w.Coefficients) {
			t.Fatalf("free scale %d is of %+v, want %+v", i, g, w)
		}
		near(t, "sd of a free scale", []float64{g.SD}, []float64{w.SD}, tolerance)
		near(t, "degrees of freedom of a free scale", []float64{g.Dof}, []float64{w.Dof}, tolerance)
		near(t, "precision of a free scale", g.Precision, w.Precision, tolerance)
	}
}

// TestDefaultPriorWithoutRelease: without a release, or with one that is all noise, the box
// stands; numbers have the law that DefaultPrior gives them.
func TestDefaultPriorWithoutRelease(t *testing.T) {
	d := testDesign()
	shape := Shape{P: 2, Intercept: true}
	for what, releases := range map[string][]*release.Release{
		"none": nil, "all noise": {noisy(d, 10, 1e6, []float64{0, 0, 0}, []float64{0.1, 0.2, 0.3})},
	} {
		p, err := Normal.DefaultPrior(d, releases...)
		if err != nil {
			t.Fatal(what, err)
		}
		nearPrior(t, p, DefaultPrior(shape), 1e-12)
	}
}

// TestDefaultPriorFactors: a factor's levels are exchangeable, the reference among them:
// given τ, differences of any two have the variance 2τ² in data units, with and without
// an intercept; the other coefficients stay out of the free scale.
func TestDefaultPriorFactors(t *testing.T) {
	for _, intercept := range []bool{true, false} {
		d := factorDesign(intercept)
		p := must.Get(Normal.DefaultPrior(d))(t)
		free := p.Scales[len(p.Scales)-1]
		n := len(free.Coefficients)
		if want := len(d.Covariates) - 2; n != want || len(p.Scales) != 2+len(d.Covariates) {
			t.Fatalf("intercept %v: the last of %d free scales has %d coefficients, want %d", intercept, len(p.Scales), n, want)
		}
		root, cov := slices.Clone(free.Precision), make([]float64, n*n)
		if !dense.Cholesky(root, n) {
			t.Fatal("precision not positive definite")
		}
		dense.InverseFromCholesky(cov, root, n)
		frame := d.Frame()
		effect := frame.Half[n+2] / frame.Half[0] // in data units, by a scaled coefficient
		tau := factorScale * frame.Half[n+2]
		for r := range n {
			for c := range n {
				want := 0.0
				if r == c {
					want++
				}
				if intercept {
					want++ // u_ref
				}
				near(t, "covariance of effects", []float64{cov[r*n+c] * effect * effect / (tau * tau)}, []float64{want}, 1e-9)
			}
		}
		near(t, "precision of the block", []float64{p.apart().precision[1]}, []float64{free.Precision[1]}, 1e-12)
	}
}

// TestDefaultPriorAutoscale: in the units of what a release tells, the prior is always the
// same; noise in place of a variance that it hides, and for slopes less than that.
func TestDefaultPriorAutoscale(t *testing.T) {
	d := testDesign()
	mean, variance := []float64{0.9, -0.5, -0.8}, []float64{1e-4, 0.09, 0.04}
	least := func(j int, noise float64) float64 { return variance[j] - noise*math.Sqrt(1+4*mean[j]*mean[j]) }
	p := must.Get(Normal.DefaultPrior(d, noisy(d, 1000, 1e-6, mean, variance)))(t)
	a := p.apart()
	near(t, "α", []float64{a.alpha, a.variance}, []float64{-0.8, 25 * 0.04}, 1e-6)
	near(t, "centre", a.centre, mean[:2], 1e-9)
	near(t, "sd of slopes", []float64{1 / math.Sqrt(a.precision[0]), 1 / math.Sqrt(a.precision[3])}, []float64{2.5 * math.Sqrt(least(2, 1e-6)/least(0, 1e-6)), 2.5 * 0.2 / 0.3}, 1e-9)
	near(t, "A of σ and sds", []float64{p.Theta.Scale / 3, p.Covariates.Scale[0] / 4, p.Covariates.Scale[3] / 4}, []float64{0.04, 1e-4, 0.09}, 1e-6)

	// 1000 rows and noise of sd 10 on each sum: 0.01 on a mean square, and √(1 + 4·0.9²)
	// times that on a variance about a mean of 0.9.
	p = must.Get(Normal.DefaultPrior(d, noisy(d, 1000, 10, mean, variance)))(t)
	near(t, "A² of a hidden sd", []float64{p.Covariates.Scale[0] / 4, p.Covariates.Scale[3] / 4}, []float64{0.01 * math.Sqrt(1+4*0.81), 0.09}, 1e-9)
	if w := HiddenWarnings(d, []*release.Release{noisy(d, 1000, 10, mean, variance)}); len(w) != 1 || !strings.Contains(w[0], `values of "`+d.Covariates[0].Name+`" spread`) {
		t.Errorf("warnings: %q", w)
	}
	if w := HiddenWarnings(d, []*release.Release{noisy(d, 1000, 1e-3, mean, variance)}); w != nil {
		t.Errorf("warnings where noise hides nothing: %q", w)
	}
	noise := 0.01 * math.Sqrt(1+4*0.81)
	hidden := 1 - 0.9 + 0.01 // from the end, by the mean, which has noise of 0.01
	near(t, "slopes of a hidden column", []float64{1 / p.apart().precision[0]}, []float64{6.25 * least(2, 0.01) / (hidden * hidden / (1 + 15*(1-noise*noise)))}, 1e-9)
	d.Covariates[0].Factor = "f" // of 0 and 1, whose mean tells the variance
	p = must.Get(Normal.DefaultPrior(d, noisy(d, 1000, 10, mean, variance)))(t)
	near(t, "slopes of a hidden 0/1 column", []float64{1 / p.apart().precision[0]}, []float64{6.25 * 0.04 / noise}, 1e-9)
	d.Covariates[0].Factor = ""

	without := noisy(d, 1000, 1e-6, mean, variance)
	without.Statistics.SumYY = nil
	p = must.Get(Normal.DefaultPrior(d, without))(t)
	near(t, "A of σ, Σy² withheld", []float64{p.Theta.Scale / 3}, []float64{1}, 1e-9)

	d.Intercept = false // columns about 0: mean squares
	p = must.Get(Normal.DefaultPrior(d, noisy(d, 1000, 1e-6, mean, variance)))(t)
	square := func(j int) float64 { return variance[j] + mean[j]*mean[j] }
	near(t, "slopes about 0", []float64{1 / p.Theta.Precision[0]}, []float64{6.25 * square(2) / square(0)}, 1e-6)
	near(t, "mean of x", p.Covariates.Mean, mean[:2], 1e-9)
}

// TestDefaultPriorOfFamily: slopes, of which those of a factor's levels, whose spread is free, are none, are
// t₃ and have together the same scale whatever their number.
func TestDefaultPriorOfFamily(t *testing.T) {
	sds := []float64{0.01, 0.3, 0.5, 0.5, 0.2}
	for _, number := range []int{1, 2, 4} {
		d := &schema.Design{Intercept: true, Response: schema.Column{Name: "y", Upper: 1}}
		for j := range number {
			d.Covariates = append(d.Covariates, schema.Column{Name: string(rune('a' + j)), Lower: -1, Upper: 1})
		}
		slopes := number
		if number == 4 {
			d.Factors = []schema.Factor{{Name: "f", Levels: []string{"u", "v", "w"}}}
			d.Covariates[2].Factor, d.Covariates[3].Factor = "f", "f"
			slopes = 2
		}
		variance := make([]float64, number+1)
		for j := range variance {
			variance[j] = sds[j] * sds[j]
		}
		p := must.Get(Binomial.DefaultPrior(d, noisy(d, 1000, 1e-6, make([]float64, number+1), variance)))(t)
		total, a := 0.0, p.apart()
		for j := range slopes {
			total += (variance[j] - 1e-6) / a.precision[j*number+j]
		}
		near(t, "squared scales", []float64{total}, []float64{1.75 * 1.75}, 1e-6)
		tails := 0
		for _, s := range p.Scales {
			if len(s.Coefficients) == 1 && s.Dof == 3 && math.Abs(s.SD*s.SD-2.0/3) < 1e-12 && s.Precision[0] == a.precision[(s.Coefficients[0]-1)*(number+1)] {
				tails++
			}
		}
		if spread := number - slopes; tails != slopes || len(p.Scales) != number+slopes+spread/2 {
			t.Errorf("%d columns: free scales %v", number, p.Scales)
		}
	}
}

// TestDefaultPriorBox: the same noisy sums read in a box ten times as wide, elsewhere, make
// the same prior in data units; and of two releases of equal noise each counts.
func TestDefaultPriorBox(t *testing.T) {
	d, wide := testDesign(), testDesign()
	wide.Response.Lower, wide.Response.Upper = -50, 150
	wide.Covariates[0].Lower, wide.Covariates[0].Upper = -30, 20
	wide.Covariates[1].Lower, wide.Covariates[1].Upper = -3, 37
	for _, scale := range []float64{0.5, 40} { // the second hides the variance of a
		r := noisy(d, 500, scale, []float64{0.3, -0.5, 0.2}, []float64{0.01, 0.2, 0.15})
		for what, build := range map[string]func(*schema.Design, ...*release.Release) (*Prior, error){"default": Normal.DefaultPrior, "shrinking": Normal.ShrinkingPrior} {
			own, err := build(d, r)
			if err != nil {
				t.Fatal(what, err)
			}
			other, err := build(wide, r)
			if err != nil {
				t.Fatal(what, err)
			}
			want := must.Get(own.Original(d.Frame()))(t)
			got := must.Get(other.Original(wide.Frame()))(t)
			nearPrior(t, got, want, 1e-9)
		}
	}
	a, b := noisy(d, 500, 1e-3, []float64{0, 0, 0.1}, []float64{0.1, 0.1, 0.1}), noisy(d, 500, 1e-3, []float64{0, 0, 0.3}, []float64{0.1, 0.1, 0.1})
	p := must.Get(Normal.DefaultPrior(d, a, b))(t)
	near(t, "pooled mean and variance", []float64{p.apart().alpha, p.Theta.Scale / 3}, []float64{0.2, 0.1 + 0.01}, 1e-3)
	if _, err := Normal.DefaultPrior(factorDesign(true), a); err == nil {
		t.Error("a release of other columns is taken")
	}
}

// TestDefaultPriorScales: σ is half-t of 3 degrees of freedom, sds of covariates half-t of 2,
// the spread of a factor's levels s/|Z|, in units of the box: their medians, of 10⁵ draws.
func TestDefaultPriorScales(t *testing.T) {
	const draws = 100_000
	rng := rand.New(rand.NewPCG(7, 1))
	d := factorDesign(true)
	p := must.Get(Normal.DefaultPrior(d))(t)
	for i, want := range map[int]float64{
		0:                 0.7649, // the quartile of t(3)
		1:                 0.8165, // of t(2)
		len(p.Scales) - 1: 1.25,   // by choice
	} {
		x, s := make([]float64, draws), p.Scales[i]
		for k := range x {
			a := variate.InverseGamma(0.5, 1/(s.SD*s.SD), rng)
			switch {
			case s.Sigma:
				x[k] = math.Sqrt(variate.InverseGamma(p.Theta.Shape, p.Theta.Scale/a, rng))
			case s.Covariates != nil: // one of p variances: ν₀ − p + 1 degrees of freedom
				free := p.Covariates.Dof - float64(p.Covariates.Dim()) + 1
				x[k] = math.Sqrt(variate.InverseGamma(free/2, p.Covariates.Scale[0]/2/a, rng))
			default: // K has 1 − 1/4 = ¾ over the square of s, by the scaled coefficient, half an effect
				x[k] = math.Sqrt(a*0.75/s.Precision[0]) * 2
			}
		}
		slices.Sort(x)
		// The sd of a median is 1/(2f√n): about 0.005 here.
		if median := x[draws/2]; math.Abs(median-want) > 0.025 {
			t.Errorf("free scale %d: a median of %.3f, want %.3f", i, median, want)
		}
	}
}
