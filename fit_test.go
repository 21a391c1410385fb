package dpreg_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/schema"
)

// The same lengths in metres and in feet, the same temperatures in °C and in °F,
// are the same statistics: one posterior, in other units.
func TestUnitsOfTheData(t *testing.T) {
	const feet = 1 / 0.3048
	fahrenheit := func(c float64) float64 { return 32 + 1.8*c }
	height := func(unit float64) schema.Column {
		return schema.Column{Name: "height", Lower: 100 * unit, Upper: 900 * unit}
	}
	slope := func(unit float64) schema.Column {
		return schema.Column{Name: "slope", Lower: -3 * unit, Upper: 5 * unit}
	}
	e := open(t, "cirrhosis", "cirrhosis ~ urban + births", nil)
	metric, imperial := e.written(0.5), e.written(0.5)
	metric.Schema = schema.Design{
		Response:   schema.Column{Name: "temperature", Lower: -20, Upper: 40},
		Covariates: []schema.Column{height(1), slope(1)}, Intercept: true,
	}
	imperial.Schema = schema.Design{
		Response:   schema.Column{Name: "temperature", Lower: fahrenheit(-20), Upper: fahrenheit(40)},
		Covariates: []schema.Column{height(feet), slope(feet)}, Intercept: true,
	}
	factors := map[string]float64{
		"theta[0]": 1.8, "theta[1]": 1.8 / feet, "theta[2]": 1.8 / feet, "sigma2": 1.8 * 1.8, "sigma": 1.8,
		"mu_x[1]": feet, "mu_x[2]": feet, "tau[1,1]": feet * feet, "tau[1,2]": feet * feet, "tau[2,2]": feet * feet,
	}
	for _, method := range []string{"mcmc-exact", "gibbs-ss-update", "naive"} {
		o := dpreg.Options{Method: method, Plan: brief(2)}
		a := must.Get(dpreg.Infer(context.Background(), dpreg.One(metric), o))(t)
		b := must.Get(dpreg.Infer(context.Background(), dpreg.One(imperial), o))(t)
		one, other := a.Draws(dpreg.Original), b.Draws(dpreg.Original)
		for _, name := range one.Names {
			x, y := parameter(t, one, name), parameter(t, other, name)
			_, spread := meanSD(y)
			for i := range x {
				want := factors[name] * x[i]
				if name == "theta[0]" {
					want += 32
				}
				if !(math.Abs(y[i]-want) <= 1e-9*spread) {
					t.Fatalf("%s %s: %v and %v are not the same", method, name, x[i], y[i])
				}
			}
		}
		s, u := a.Summary(dpreg.Original, 0.95), b.Summary(dpreg.Original, 0.95)
		for i, p := range s.Parameters {
			must.Near(t, method+": contraction of "+p.Name, *p.Contraction, *u.Parameters[i].Contraction, 1e-9)
		}
	}
}

// A prior goes to the data's units and back unchanged.
func TestPriorRoundTrip(t *testing.T) {
	for _, formula := range []string{"income ~ age + educ + married", "income ~ age + educ - 1"} {
		e := open(t, "pums", formula, nil)
		f := e.design.Frame()
		prior := model.DefaultPrior(model.Shape{P: len(e.design.Covariates), Intercept: e.design.Intercept})
		prior.Theta.Mean[0], prior.Covariates.Mean[1] = 0.3, -0.7
		there := must.Get(prior.Original(f))(t)
		back := must.Get(there.FromOriginal(f))(t)
		same := func(what string, got, want []float64) {
			for i := range want {
				must.Near(t, formula+": "+what, got[i], want[i], 1e-12*max(1, math.Abs(slices.Max(want))))
			}
		}
		same("mean of theta", back.Theta.Mean, prior.Theta.Mean)
		same("precision of theta", back.Theta.Precision, prior.Theta.Precision)
		same("shape and scale", []float64{back.Theta.Shape, back.Theta.Scale}, []float64{prior.Theta.Shape, prior.Theta.Scale})
		same("mean of x", back.Covariates.Mean, prior.Covariates.Mean)
		same("scale of x", back.Covariates.Scale, prior.Covariates.Scale)
		same("kappa and dof", []float64{back.Covariates.Kappa, back.Covariates.Dof}, []float64{prior.Covariates.Kappa, prior.Covariates.Dof})
	}
}

func TestNamesAndLabels(t *testing.T) {
	e := open(t, "pums", "income ~ age + educ", nil)
	fit := must.Get(dpreg.Infer(context.Background(), dpreg.One(e.written(1)), dpreg.Options{Plan: brief(3)}))(t)
	s := fit.Summary(dpreg.Original, 0.9)
	var got [][2]string
	for _, p := range s.Parameters {
		got = append(got, [2]string{p.Name, p.Label})
	}
	want := [][2]string{
		{"theta[0]", "(Intercept)"}, {"theta[1]", "age"}, {"theta[2]", "educ"}, {"sigma2", "sigma2"}, {"sigma", "sigma"},
		{"mu_x[1]", "mean(age)"}, {"mu_x[2]", "mean(educ)"},
		{"tau[1,1]", "var(age)"}, {"tau[1,2]", "cov(age, educ)"}, {"tau[2,2]", "var(educ)"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	if s.Method != "mcmc-exact" || *s.N != 1000 || s.Units != "original" || s.Level != 0.9 {
		t.Errorf("got %+v", s)
	}
	names := []string{
		"theta[0]", "theta[1]", "theta[2]", "sigma2", "sigma", "mu_x[1]", "mu_x[2]",
		"tau[1,1]", "tau[1,2]", "tau[2,1]", "tau[2,2]",
	}
	d := fit.StanDraws(dpreg.Original)
	if !slices.Equal(d.Names, names) {
		t.Errorf("StanDraws: %v", d.Names)
	}
	upper := parameter(t, fit.Draws(dpreg.Original), "tau[1,2]")
	if !slices.Equal(upper, parameter(t, d, "tau[2,1]")) || !slices.Equal(upper, parameter(t, d, "tau[1,2]")) {
		t.Error("StanDraws: T is not symmetric, or is not that of Draws")
	}
}
