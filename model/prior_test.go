package model

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/schema"
)

func testDesign() *schema.Design {
	return &schema.Design{
		Response:   schema.Column{Name: "y", Lower: 10, Upper: 30},
		Covariates: []schema.Column{{Name: "a", Lower: 0, Upper: 5}, {Name: "b", Lower: -3, Upper: 1}},
		Intercept:  true,
	}
}

// TestDefaultPriorPredictive: most prior predictive responses lie in the box.
func TestDefaultPriorPredictive(t *testing.T) {
	const draws = 100_000
	rng := rand.New(rand.NewPCG(7, 1))
	for _, s := range []Shape{{1, true}, {3, true}, {10, true}, {2, false}} {
		prior := DefaultPrior(s)
		nig, niw := conjugate.NewNIGSampler(s.Q()), conjugate.NewNIWSampler(s.P)
		nig.Set(prior.Theta)
		niw.Set(prior.Covariates)
		x, mo := NewParams(s), NewMoments(s)
		inside := 0
		for range draws {
			x.Sigma2 = nig.Rand(x.Theta, rng)
			niw.Rand(x.MuX, x.Tau, rng)
			mo.Set(x)
			y := mo.Mean[s.P] + math.Sqrt(mo.Cov[len(mo.Cov)-1])*rng.NormFloat64()
			if math.Abs(y) <= 1 {
				inside++
			}
		}
		if share := float64(inside) / draws; share < 0.75 || share > 0.95 {
			t.Errorf("%+v: %.3f of the prior predictive responses lie in the box", s, share)
		}
	}
}

// TestReadPriorUnits: the same prior stated in both units is the same prior.
func TestReadPriorUnits(t *testing.T) {
	d := testDesign()
	scaled, err := ReadPrior(strings.NewReader(`{"units":"scaled","theta":{"mean":[0.1,0.2,-0.3],
		"precision":[[2,0.5,0],[0.5,1,0.1],[0,0.1,3]]},"sigma2":{"shape":5,"scale":0.4},
		"covariates":{"mean":[0.2,-0.1],"kappa":2,"scale":[[1,0.2],[0.2,2]],"dof":7}}`), "p.json", d)
	if err != nil {
		t.Fatal(err)
	}
	original, err := scaled.Original(d.Frame())
	if err != nil {
		t.Fatal(err)
	}
	back, err := original.FromOriginal(d.Frame())
	if err != nil {
		t.Fatal(err)
	}
	near := func(what string, got, want []float64) {
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-12*(1+math.Abs(want[i])) {
				t.Errorf("%s: %v came back as %v", what, want, got)
			}
		}
	}
	near("theta.mean", back.Theta.Mean, scaled.Theta.Mean)
	near("theta.precision", back.Theta.Precision, scaled.Theta.Precision)
	near("covariates.mean", back.Covariates.Mean, scaled.Covariates.Mean)
	near("covariates.scale", back.Covariates.Scale, scaled.Covariates.Scale)
	near("sigma2", []float64{back.Theta.Shape, back.Theta.Scale}, []float64{scaled.Theta.Shape, scaled.Theta.Scale})
}

func TestReadPriorErrors(t *testing.T) {
	for text, want := range map[string]string{
		``:                         "not a prior file",
		"{\n\"units\": secret}":    "line 2 is not JSON",
		`{"units":"metres"}`:       "units",
		`{"theta":{"mean":[0,0]}}`: "theta.mean: 2 numbers, the model needs 3",
		`{"theta":{"precision":[[1,0,0],[0,1,0]]}}`:         "theta.precision: 2 rows",
		`{"theta":{"precision":[[1,0,0],[0,1],[0,0,1]]}}`:   "theta.precision[1]",
		`{"theta":{"precision":[[1,2,0],[2,1,0],[0,0,1]]}}`: "eigenvalue",
		`{"theta":{"precision":[[1,1,0],[0,1,0],[0,0,1]]}}`: "symmetric",
		`{"covariates":{"scale":[[1,2],[2,1]]}}`:            "eigenvalue",
		`{"covariates":{"dof":0.5}}`:                        "covariates",
		`{"sigma2":{"shape":-1}}`:                           "sigma2",
		`{"sigma2":{"rate":1}}`:                             "rate",
		`{"sigma2":{"shape":2}} {}`:                         "after the end",
		`{"theta":{"mean":[1e999,0,0]}}`:                    "not a prior file",
		`{"units":"original","covariates":{"kappa":0}}`:     "covariates",
	} {
		_, err := ReadPrior(strings.NewReader(text), "prior.json", testDesign())
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "prior.json: ") {
			t.Errorf("%s: error %v, want one of prior.json about %q", text, err, want)
		}
	}
}

func FuzzReadPrior(f *testing.F) {
	f.Add(`{"units":"scaled"}`)
	f.Add(`{"units":"original","theta":{"mean":[1,2,3]}}`)
	f.Add(`{"x":{"kind":"uniform"}}`)
	f.Add(`{"units":"original","x":{"kind":"normal","mean":[1,2],"covariance":[[1,0.3],[0.3,2]]}}`)
	f.Add(`{"theta":{"precision":[[1,0,0],[0,1,0],[0,0,1]]},"sigma2":{"shape":2,"scale":1e-300}}`)
	f.Add(`{"covariates":{"mean":[0,0],"kappa":1,"scale":[[1,0],[0,1]],"dof":5}}`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ReadPrior(strings.NewReader(text), "p", testDesign())
		if err != nil {
			return
		}
		if p.Check(Shape{P: 2, Intercept: true}) != nil {
			t.Error("a prior of the wrong size was read")
		}
		written, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ReadPrior(bytes.NewReader(written), "p", testDesign()); err != nil || !reflect.DeepEqual(again, p) {
			t.Errorf("written as %s, it is read as %v: %v", written, again, err)
		}
	})
}
