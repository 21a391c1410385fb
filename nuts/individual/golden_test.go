package individual

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

// golden is a reference posterior that Stan computed; testdata/golden/SOURCE.md.
type golden struct {
	Name      string
	N         int64
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
	Z         json.RawMessage
	Reference struct {
		Params struct {
			Theta  []moments
			Sigma2 moments
			MuX    []moments `json:"mu_x"`
			Tau    [][]moments
		}
	}
	Crosscheck struct {
		Params struct{ Theta0 moments }
	} `json:"crosscheck_is"`
}

type moments struct {
	Mean, SD float64
	MCSEMean float64 `json:"mcse_mean"`
	MCSESD   float64 `json:"mcse_sd"`
}

func goldens(t testing.TB) []*golden {
	t.Helper()
	files, err := filepath.Glob("../../gibbs/testdata/golden/*.json")
	if err != nil || len(files) != 12 {
		t.Fatalf("golden files: %d, %v", len(files), err)
	}
	var all []*golden
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		g := new(golden)
		if err := json.Unmarshal(b, g); err != nil {
			t.Fatal(f, err)
		}
		all = append(all, g)
	}
	return all
}

// problem writes the case as a hand-written release, and reads that.
func (g *golden) problem(t testing.TB) *model.Problem {
	t.Helper()
	var columns []string
	for j := range g.Priors.M0x {
		columns = append(columns, fmt.Sprintf(`{"name":"x%d","lower":-1,"upper":1}`, j+1))
	}
	text := fmt.Sprintf(`{"format":"dpreg-release/1",
		"schema":{"response":{"name":"y","lower":-1,"upper":1},"covariates":[%s],"intercept":true},
		"n":%d,"noise":{"kind":%q,"scale":%g},"statistics":%s}`,
		strings.Join(columns, ","), g.N, g.Mechanism.Kind, g.Mechanism.Scale, g.Z)
	r, err := release.Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	p := g.Priors
	nig, err := conjugate.NewNIG(p.Mu0, flat(p.Lambda0), p.A0, p.B0)
	if err != nil {
		t.Fatal(err)
	}
	niw, err := conjugate.NewNIW(p.M0x, p.Kappa0, flat(p.Psi0), p.Nu0)
	if err != nil {
		t.Fatal(err)
	}
	return &model.Problem{Releases: []*release.Release{r}, Prior: &model.Prior{Theta: nig, Covariates: niw}}
}

func flat(rows [][]float64) []float64 {
	var a []float64
	for _, r := range rows {
		a = append(a, r...)
	}
	return a
}

// reference returns Stan's moments by the names of the draws. θ₀ of
// lap1_n30_eps1 has two modes between which Stan moved too rarely: importance
// sampling stands in for it there.
func (g *golden) reference(s model.Shape) map[string]moments {
	p := g.Reference.Params
	var all []moments
	all = append(all, p.Theta...)
	all = append(all, p.Sigma2)
	all = append(all, p.MuX...)
	for j, row := range p.Tau {
		all = append(all, row[j:]...)
	}
	ref := map[string]moments{}
	for i, name := range s.Names() {
		ref[name] = all[i]
	}
	if g.Name == "lap1_n30_eps1" {
		ref["theta[0]"] = g.Crosscheck.Params.Theta0
	}
	return ref
}

func pooled(chains [][]float64) (mean, sd float64) {
	var sum, n float64
	for _, c := range chains {
		for _, v := range c {
			sum += v
			n++
		}
	}
	mean = sum / n
	for _, c := range chains {
		for _, v := range c {
			sd += (v - mean) * (v - mean)
		}
	}
	return mean, math.Sqrt(sd / (n - 1))
}
