// Package modeltest is what tests of methods share: reference posteriors that
// other software computed, data simulated from the model, and the comparison of
// draws with either.
package modeltest

import (
	"embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
)

// Golden is a reference posterior; testdata/golden/SOURCE.md says whose.
type Golden struct {
	Name      string
	Problem   *model.Problem
	Reference map[string]Reference // by the names of the draws
}

// Levels are those of a Reference's quantiles.
var Levels = [5]float64{0.025, 0.25, 0.5, 0.75, 0.975}

// Reference is what is known of one parameter's posterior: "mean", "sd", the quantiles at
// Levels, "q2.5" for one, and the Monte Carlo error of each, "mcse_mean". Importance sampling
// states the error of the mean alone, and "ess" for the others.
type Reference map[string]float64

// file is a golden as it is written.
type file struct {
	Name      string
	N         float64
	Mechanism struct {
		Kind  release.Kind
		Scale float64
	}
	Priors struct {
		Mu0     []float64
		Lambda0 [][]float64
		A0, B0  float64
		M0x     []float64
		Kappa0  float64 `json:"lambda0x"`
		Psi0    [][]float64
		Nu0     float64
	}
	Z         release.Statistics
	Reference struct {
		Params struct {
			Theta  []Reference
			Sigma2 Reference
			MuX    []Reference `json:"mu_x"`
			Tau    [][]Reference
		}
	}
	Crosscheck struct {
		ESS    float64
		Params struct{ Theta0, Sigma2 Reference }
	} `json:"crosscheck_is"`
}

//go:embed testdata/golden/*.json
var files embed.FS

// Goldens returns all twelve.
func Goldens(t testing.TB) []*Golden {
	t.Helper()
	entries, err := files.ReadDir("testdata/golden")
	if err != nil || len(entries) != 12 {
		t.Fatalf("golden files: %d, %v", len(entries), err)
	}
	var all []*Golden
	for _, e := range entries {
		text, err := files.ReadFile("testdata/golden/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		f := new(file)
		if err := json.Unmarshal(text, f); err != nil {
			t.Fatal(e.Name(), err)
		}
		all = append(all, &Golden{f.Name, f.problem(t), f.reference()})
	}
	return all
}

func (f *file) problem(t testing.TB) *model.Problem {
	t.Helper()
	p, q := f.Priors, len(f.Priors.Mu0)
	nig, err := conjugate.NewNIG(p.Mu0, slices.Concat(p.Lambda0...), p.A0, p.B0)
	if err != nil {
		t.Fatal(err)
	}
	niw, err := conjugate.NewNIW(p.M0x, p.Kappa0, slices.Concat(p.Psi0...), p.Nu0)
	if err != nil {
		t.Fatal(err)
	}
	obs := &model.Observation{Shape: model.Shape{P: q - 1, Intercept: true}, N: f.N, Kind: f.Mechanism.Kind, Scale: []float64{f.Mechanism.Scale}, Z: f.Z.Vector()}
	return Problem(obs, &model.Prior{Theta: nig, Covariates: niw})
}

// reference sorts Stan's numbers by name, but for two parameters where importance
// sampling of more than 100,000 effective draws knows better: θ₀ of lap1_n30_eps1
// has two modes between which Stan moved too rarely, and σ² of lap1_n100_eps0.1 a
// 2.5 % quantile that Stan has wrong by 3.4 of its errors.
func (f *file) reference() map[string]Reference {
	p := f.Reference.Params
	all := slices.Concat(p.Theta, []Reference{p.Sigma2}, p.MuX)
	for j, row := range p.Tau {
		all = append(all, row[j:]...)
	}
	ref := map[string]Reference{}
	for i, name := range (model.Shape{P: len(p.MuX), Intercept: true}).Names() {
		ref[name] = all[i]
	}
	switch c := f.Crosscheck; f.Name {
	case "lap1_n30_eps1":
		c.Params.Theta0["ess"] = c.ESS
		ref["theta[0]"] = c.Params.Theta0
	case "lap1_n100_eps0.1":
		c.Params.Sigma2["ess"] = c.ESS
		ref["sigma2"] = c.Params.Sigma2
	}
	return ref
}

// Compare reports where draws differ from the reference: means and quantiles by
// slack reference sds and four combined Monte Carlo errors, sds by 3 % and four
// errors. Each of the 6 comparisons without tolerance beside the errors has a
// false-alarm rate of 6e-5.
func (g *Golden) Compare(t *testing.T, d *posterior.Draws, slack float64) {
	t.Helper()
	for j, name := range d.Names {
		x, r := d.Column(j), g.Reference[name]
		mean, sd := Pooled(x)
		differ := func(what string, got, mcse, ess, tolerance float64) {
			t.Helper()
			want, wantMCSE := r[what], r["mcse_"+what]
			if wantMCSE == 0 { // the law's, at the reference's effective size
				wantMCSE = mcse * math.Sqrt(ess/r["ess"])
			}
			if errors := math.Hypot(mcse, wantMCSE); !(math.Abs(got-want) < tolerance+4*errors) {
				t.Errorf("%s: %s %g, reference %g, %.2f combined errors apart, tolerance beside them %g", name, what, got, want, (got-want)/errors, tolerance)
			}
		}
		differ("mean", mean, posterior.Of(x).MCSEMean(), posterior.Of(x).ESSMean(), slack*r["sd"])
		differ("sd", sd, posterior.Of(x).MCSESD(), posterior.Of(x).ESSSD(), 0.03*r["sd"])
		sorted := slices.Sorted(slices.Values(slices.Concat(x...)))
		for _, level := range Levels {
			differ(fmt.Sprintf("q%g", 100*level), posterior.Quantile(sorted, level), posterior.Of(x).MCSEQuantile(level), posterior.Of(x).ESSQuantile(level), slack*r["sd"])
		}
	}
}

// Pooled returns mean and sd over the draws of all chains.
func Pooled(chains [][]float64) (mean, sd float64) {
	return stat.MeanStdDev(slices.Concat(chains...), nil)
}

// Agree reports where two runs of the same posterior differ, in means and sds, by
// more than bound combined Monte Carlo errors.
func Agree(t *testing.T, a, b *posterior.Draws, bound float64) {
	t.Helper()
	if !slices.Equal(a.Names, b.Names) {
		t.Fatalf("parameters %v and %v", a.Names, b.Names)
	}
	for j, name := range a.Names {
		x, y := a.Column(j), b.Column(j)
		meanX, sdX := Pooled(x)
		meanY, sdY := Pooled(y)
		if z := (meanX - meanY) / math.Hypot(posterior.Of(x).MCSEMean(), posterior.Of(y).MCSEMean()); !(math.Abs(z) < bound) {
			t.Errorf("%s: means %g and %g, %.2f combined errors apart", name, meanX, meanY, z)
		}
		if z := (sdX - sdY) / math.Hypot(posterior.Of(x).MCSESD(), posterior.Of(y).MCSESD()); !(math.Abs(z) < bound) {
			t.Errorf("%s: sds %g and %g, %.2f combined errors apart", name, sdX, sdY, z)
		}
	}
}
