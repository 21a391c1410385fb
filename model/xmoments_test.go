package model

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

// TestReadPriorX: the same normal law of x stated in both units is the same law;
// the uniform one is that on the box in either; without any it is the normal
// law that the covariates' prior expects.
func TestReadPriorX(t *testing.T) {
	d := testDesign() // a in [0, 5], b in [-3, 1]: centres 2.5, -1, half-widths 2.5, 2
	read := func(text string) *XMoments {
		t.Helper()
		p := must.Get(readPrior(strings.NewReader(text), "p.json", d))(t)
		return must.Get(p.XMoments())(t)
	}
	scaled := `"x":{"kind":"normal","mean":[0.2,-0.1],"covariance":[[0.1,0.02],[0.02,0.2]]}}`
	for what, pair := range map[string][2]*XMoments{
		"normal": {
			read(`{` + scaled),
			read(`{"units":"original","x":{"kind":"normal","mean":[3,-1.2],"covariance":[[0.625,0.1],[0.1,0.8]]}}`),
		},
		"uniform": {read(`{"x":{"kind":"uniform"}}`), read(`{"units":"original","x":{"kind":"uniform"}}`)},
		"absent": {
			read(`{"covariates":{"mean":[0.2,-0.1],"kappa":1,"scale":[[0.4,0.08],[0.08,0.8]],"dof":7}}`),
			read(`{` + scaled),
		},
	} {
		for i, v := range pair[0].M {
			if math.Abs(pair[1].M[i]-v) > 1e-12 {
				t.Errorf("%s: element %d of M is %g, then %g", what, i, v, pair[1].M[i])
			}
		}
	}
}

// TestReadPriorXRefuses: errors name the field.
func TestReadPriorXRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{"x":{}}`:                                                             "x.kind",
		`{"x":{"kind":"cauchy"}}`:                                              `"cauchy"`,
		`{"x":{"kind":"uniform","mean":[0,0]}}`:                                "uniform",
		`{"x":{"kind":"normal","mean":[0,0]}}`:                                 "both mean and covariance",
		`{"x":{"kind":"normal","median":[0,0]}}`:                               "median",
		`{"x":{"kind":"normal","mean":[0],"covariance":[[1,0],[0,1]]}}`:        "x.mean",
		`{"x":{"kind":"normal","mean":[0,0],"covariance":[[1,0]]}}`:            "x.covariance",
		`{"x":{"kind":"normal","mean":[0,0],"covariance":[[1,2],[2,1]]}}`:      "positive definite",
		`{"x":{"kind":"normal","mean":[0,0],"covariance":[[1,0.5],[0.25,1]]}}`: "symmetric",
	} {
		must.Fail(t, must.Err(readPrior(strings.NewReader(text), "p.json", testDesign())), want)
	}
}

// TestXMomentsOfFreeScales: an sd that is half-t of 4 degrees of freedom and scale A has
// the mean square 2A², and one of 2, the default's, has none.
func TestXMomentsOfFreeScales(t *testing.T) {
	prior := DefaultPrior(Shape{P: 2, Intercept: true})
	must.Fail(t, must.Err(prior.XMoments()), `"x"`)
	prior.Covariates.Dof, prior.Covariates.Scale = 5, []float64{8, 0, 0, 8}
	prior.Scales[1].SD, prior.Scales[2].SD = 0.5, 3
	got := must.Get(prior.XMoments())(t)
	want := must.Get(NormalX{[]float64{0, 0}, []float64{0.5, 0, 0, 18}}.Moments(2))(t)
	if !slices.Equal(got.M, want.M) {
		t.Errorf("moments %v, want %v", got.M, want.M)
	}
}
