package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/schema"
)

func testDesign() *schema.Design {
	return &schema.Design{
		Response:   schema.Column{Name: "y", Lower: 10, Upper: 30},
		Covariates: []schema.Column{{Name: "a", Lower: 0, Upper: 5}, {Name: "b", Lower: -3, Upper: 1}},
		Intercept:  true,
	}
}

// TestPriorUnits: a prior in the data's units is the same law, and its way back is the
// prior. Densities of one point in both units differ by a constant, the Jacobian.
func TestPriorUnits(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	for _, intercept := range []bool{true, false} {
		d := testDesign()
		if d.Intercept = intercept; !intercept { // then there is no middle
			d.Response, d.Covariates[0].Lower, d.Covariates[1].Upper = schema.Column{Name: "y", Lower: -10, Upper: 10}, -5, 3
		}
		f, s := d.Frame(), Shape{P: 2, Intercept: intercept}
		matrix, shift := f.ThetaMatrix()
		for which, prior := range variousPriors(s, rng) {
			original := must.Get(prior.Original(f))(t)
			back := must.Get(original.FromOriginal(f))(t)
			scaled, other := NewCoordinates(s, prior), NewCoordinates(s, original)
			again := NewCoordinates(s, back)
			phi, grad, constant := make([]float64, scaled.Dim()), make([]float64, scaled.Dim()), math.NaN()
			at := func(c *Coordinates, x *Params) float64 {
				c.Unconstrain(phi, x)
				c.Constrain(x, phi)
				return c.LogPrior(grad, x)
			}
			for range 5 {
				x, y := randomParams(s, rng), NewParams(s)
				copy(y.Theta, shift)
				for k := range y.Theta {
					for l, v := range x.Theta {
						y.Theta[k] += matrix[k*s.Q()+l] * v
					}
				}
				y.Sigma2 = f.Half[2] * f.Half[2] * x.Sigma2
				for j, h := range f.Half[:2] {
					y.MuX[j] = f.Centre[j] + h*x.MuX[j]
					for k, g := range f.Half[:2] {
						y.Tau[j*2+k] = h * g * x.Tau[j*2+k]
					}
				}
				logp := at(scaled, x)
				if d := at(again, x) - logp; !(math.Abs(d) < 1e-9*(1+math.Abs(logp))) {
					t.Errorf("prior %d: log density is off by %g after a way there and back", which, d)
				}
				d := at(other, y) - logp
				if math.IsNaN(constant) {
					constant = d
				}
				if !(math.Abs(d-constant) < 1e-9*(1+math.Abs(logp))) {
					t.Errorf("prior %d: log density in the data's units is off by %g", which, d-constant)
				}
			}
		}
	}
}

// readPrior reads a file over the default prior.
func readPrior(r io.Reader, name string, d *schema.Design) (*Prior, error) {
	prior, err := Normal.DefaultPrior(d)
	if err != nil {
		return nil, err
	}
	return prior.Read(r, name, d, "")
}

// TestReadPriorUnits: the same prior stated in both units is the same prior, with free
// scales and without; so is what is written of one.
func TestReadPriorUnits(t *testing.T) {
	d := factorDesign(true)
	stated := must.Get(readPrior(strings.NewReader(`{"theta":{"mean":[0.1,0.2,-0.3],
		"precision":[[2,0.5,0],[0.5,1,0.1],[0,0.1,3]]},"sigma2":{"shape":5,"scale":0.4},
		"covariates":{"mean":[0.2,-0.1],"kappa":2,"scale":[[1,0.2],[0.2,2]],"dof":7}}`), "p.json", testDesign()))(t)
	if stated.Unscaled || len(stated.Scales) > 0 {
		t.Errorf("a prior that states all its parts has the free scales %+v, unscaled %v", stated.Scales, stated.Unscaled)
	}
	mean, variance := []float64{0.1, 0.2, -0.3, -0.9, 0.5, -0.8}, []float64{0.1, 0.2, 0.1, 0.3, 0.01, 0.02}
	defaults := must.Get(Normal.DefaultPrior(d, noisy(d, 1000, 3, mean, variance)))(t)
	shrinking := must.Get(Normal.ShrinkingPrior(d, noisy(d, 1000, 3, mean, variance)))(t)
	for what, c := range map[string]struct {
		p *Prior
		d *schema.Design
	}{"conjugate": {stated, testDesign()}, "default": {defaults, d}, "shrinking": {shrinking, d}} {
		original, err := c.p.Original(c.d.Frame())
		if err != nil {
			t.Fatal(what, err)
		}
		for units, p := range map[string]*Prior{"scaled": c.p, "original": original} {
			text, err := json.Marshal(p)
			if err != nil {
				t.Fatal(what, err)
			}
			text = bytes.Replace(text, []byte(`"scaled"`), []byte(`"`+units+`"`), 1)
			again, err := readPrior(bytes.NewReader(text), "p.json", c.d)
			if err != nil {
				t.Fatal(what, units, err)
			}
			nearPrior(t, again, c.p, 1e-9)
		}
	}
}

// TestReadPriorParts: a stated part loses its free scales, and no other does; precisions
// without a mean are about 0, in scaled units.
func TestReadPriorParts(t *testing.T) {
	d := factorDesign(true) // σ, five covariates, a factor
	for text, want := range map[string]struct {
		scales   int
		unscaled bool
	}{
		`{}`:                                         {7, true},
		`{"theta":{"mean":[0,0,0,0,0,1]}}`:           {7, true},
		`{"covariates":{"kappa":1}}`:                 {7, true},
		`{"sigma2":{"shape":3,"scale":1}}`:           {6, true},
		`{"theta":{"precision":I6}}`:                 {6, false},
		`{"theta":{"precision":I6,"unscaled":true}}`: {6, true},
		`{"covariates":{"scale":I5,"dof":9}}`:        {2, true},
		`{"scales":[]}`:                              {0, true},
		`{"theta":{"precision":I6},"scales":[{"sd":1,"sigma":true}]}`: {1, false},
	} {
		for _, n := range []int{5, 6} {
			rows := make([][]float64, n)
			for i := range rows {
				rows[i] = make([]float64, n)
				rows[i][i] = 2
			}
			identity := must.Get(json.Marshal(rows))(t)
			text = strings.ReplaceAll(text, fmt.Sprintf("I%d", n), string(identity))
		}
		p, err := readPrior(strings.NewReader(text), "p.json", d)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if len(p.Scales) != want.scales || p.Unscaled != want.unscaled {
			t.Errorf("%s: %d free scales, unscaled %v; want %+v", text, len(p.Scales), p.Unscaled, want)
		}
	}
	base := must.Get(Normal.DefaultPrior(d, noisy(d, 1000, 1, []float64{0, 0, 0, 0, 0, -0.8}, []float64{0.1, 0.1, 0.1, 0.1, 0.1, 0.1})))(t)
	for text, mean := range map[string]float64{
		`{"theta":{"precision":[[1,0,0,0,0,0],[0,1,0,0,0,0],[0,0,1,0,0,0],[0,0,0,1,0,0],[0,0,0,0,1,0],[0,0,0,0,0,1]]}}`:                    0,
		`{"units":"original","theta":{"precision":[[1,0,0,0,0,0],[0,1,0,0,0,0],[0,0,1,0,0,0],[0,0,0,1,0,0],[0,0,0,0,1,0],[0,0,0,0,0,1]]}}`: 0,
		`{"covariates":{"kappa":1}}`: -0.8,
	} {
		p := must.Get(base.Read(strings.NewReader(text), "p.json", d, ""))(t)
		near(t, text, p.Theta.Mean, []float64{mean, 0, 0, 0, 0, 0}, 1e-9)
	}
}

func TestReadPriorErrors(t *testing.T) {
	for text, want := range map[string]string{
		``:                         "not a prior file",
		"{\n\"units\": secret}":    "line 2 is not JSON",
		`{"units":"metres"}`:       "units",
		`{"theta":{"mean":[0,0]}}`: "theta.mean: 2 numbers, the model needs 3",
		`{"theta":{"precision":[[1,0,0],[0,1,0]]}}`:                                               "theta.precision: 2 rows",
		`{"theta":{"precision":[[1,0,0],[0,1],[0,0,1]]}}`:                                         "theta.precision[1]",
		`{"theta":{"precision":[[1,2,0],[2,1,0],[0,0,1]]}}`:                                       "eigenvalue",
		`{"theta":{"precision":[[1,1,0],[0,1,0],[0,0,1]]}}`:                                       "symmetric",
		`{"covariates":{"scale":[[1,2],[2,1]],"dof":5}}`:                                          "eigenvalue",
		`{"covariates":{"scale":[[1,0],[0,1]],"dof":0.5}}`:                                        "covariates",
		`{"covariates":{"dof":5}}`:                                                                "covariates: scale and dof",
		`{"sigma2":{"shape":-1,"scale":1}}`:                                                       "sigma2",
		`{"sigma2":{"scale":1}}`:                                                                  "sigma2: shape and scale",
		`{"theta":{"unscaled":true}}`:                                                             "theta.unscaled",
		`{"scales":[{"sd":0,"sigma":true}]}`:                                                      "scales[0]: sd",
		`{"scales":[{"sd":1}]}`:                                                                   "scales[0]: a free scale is of one",
		`{"scales":[{"sd":1,"sigma":true},{"sd":1,"sigma":true}]}`:                                "scales[1]: another",
		`{"scales":[{"sd":1,"covariates":[0]}]}`:                                                  "scales[0]: covariates: 0 is not between 1 and 2",
		`{"scales":[{"sd":1,"covariates":[1,1]}]}`:                                                "scales[0]: a number stands twice",
		`{"scales":[{"sd":1,"coefficients":[1]}]}`:                                                "scales[0]: precision is missing",
		`{"scales":[{"sd":1,"coefficients":[1],"precision":[[9]]}]}`:                              "scales[0]: precision is no part of theta.precision",
		`{"scales":[{"sd":1,"coefficients":[1],"precision":[[-1]]}]}`:                             "scales[0]: precision is not positive",
		`{"covariates":{"scale":[[1,0.1],[0.1,1]],"dof":5},"scales":[{"sd":1,"covariates":[2]}]}`: "off the diagonal",
		`{"sigma2":{"rate":1}}`:                                                                   "rate",
		`{"sigma2":{"shape":2}} {}`:                                                               "after the end",
		`{"theta":{"mean":[1e999,0,0]}}`:                                                          "not a prior file",
		`{"units":"original","covariates":{"kappa":0}}`:                                           "covariates",
	} {
		_, err := readPrior(strings.NewReader(text), "prior.json", testDesign())
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
	f.Add(`{"theta":{"mean":[0,0,0],"precision":[[1,0,0],[0,2,1],[0,1,2]],"unscaled":true},"scales":[{"sd":1,"coefficients":[1,2],"precision":[[1,0.5],[0.5,1]]},{"sd":2,"sigma":true}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := readPrior(strings.NewReader(text), "p", testDesign())
		if err != nil {
			return
		}
		if p.Check(Shape{P: 2, Intercept: true}) != nil {
			t.Error("a prior of the wrong size was read")
		}
		written := must.Get(json.Marshal(p))(t)
		if again, err := readPrior(bytes.NewReader(written), "p", testDesign()); err != nil || !reflect.DeepEqual(again, p) {
			t.Errorf("written as %s, it is read as %v: %v", written, again, err)
		}
	})
}
