package dpreg_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

// leastSquares fits by QR in the data's units. With a flat prior on θ and
// σ² ~ InvGamma(0, 0) the posterior of θ has this mean, and the covariance
// RSS/(n−2) (XᵀX)⁻¹.
func leastSquares(t *testing.T, e example) (theta, sd []float64) {
	t.Helper()
	n, p := len(e.rows), len(e.design.Covariates)
	first := 0
	if e.design.Intercept {
		first = 1
	}
	x, y := mat.NewDense(n, p+first, nil), mat.NewVecDense(n, nil)
	for i, row := range e.rows {
		if first == 1 {
			x.Set(i, 0, 1)
		}
		for j := range p {
			x.Set(i, j+first, row[j])
		}
		y.SetVec(i, row[p])
	}
	var beta, fitted, residual mat.VecDense
	must.Do(t, beta.SolveVec(x, y))
	fitted.MulVec(x, &beta)
	residual.SubVec(y, &fitted)
	var gram, inverse mat.Dense
	gram.Mul(x.T(), x)
	must.Do(t, inverse.Inverse(&gram))
	variance := mat.Dot(&residual, &residual) / float64(n-2)
	for k := range p + first {
		sd = append(sd, math.Sqrt(variance*inverse.At(k, k)))
	}
	return beta.RawVector().Data, sd
}

// vanishing is a prior of hardly any weight.
func vanishing(t *testing.T, s model.Shape) *model.Prior {
	t.Helper()
	precision, scale := make([]float64, s.Q()*s.Q()), make([]float64, s.P*s.P)
	for k := range s.Q() {
		precision[k*s.Q()+k] = 1e-9
	}
	for j := range s.P {
		scale[j*s.P+j] = 1e-9
	}
	theta := must.Get(conjugate.NewNIG(make([]float64, s.Q()), precision, 1e-9, 1e-9))(t)
	covariates := must.Get(conjugate.NewNIW(make([]float64, s.P), 1e-9, scale, float64(s.P)))(t)
	return &model.Prior{Theta: theta, Covariates: covariates}
}

// away moves the bounds close about the data, away from 0.
func away(rows [][]float64) func(*schema.Design) {
	return func(d *schema.Design) {
		tighten := func(c *schema.Column, j int) {
			c.Lower, c.Upper = math.Inf(1), math.Inf(-1)
			for _, row := range rows {
				c.Lower, c.Upper = min(c.Lower, row[j]), max(c.Upper, row[j])
			}
		}
		for j := range d.Covariates {
			tighten(&d.Covariates[j], j)
		}
		tighten(&d.Response, len(d.Covariates))
	}
}

// Means and sds over N independent draws have standard errors sd/√N and, for a
// t law of so many degrees of freedom, at most sd·√(0.6/N). Five of them are
// missed by chance once in 1.7 million comparisons, of which there are about 40;
// 10⁻⁴ of an sd is for rounding to the lattice and the prior's weight.
func TestNonPrivateIsLeastSquares(t *testing.T) {
	const draws = 10000
	plan := mcmc.Plan{Chains: 2, Draws: draws / 2, Seed: 1}
	for _, c := range []struct{ name, formula string }{
		{"pums", "income ~ educ"},
		{"pums", "income ~ age + educ + married"},
		{"pums", "income ~ age + educ - 1"},
		{"cirrhosis", ""},
		{"cirrhosis", "cirrhosis ~ urban + births - 1"},
	} {
		t.Run(c.name+" "+c.formula, func(t *testing.T) {
			e := open(t, c.name, c.formula, nil)
			if !e.design.Intercept {
				e = open(t, c.name, c.formula, away(e.rows))
			}
			p := len(e.design.Covariates)
			prior := vanishing(t, model.Shape{P: p, Intercept: e.design.Intercept})
			fit := must.Get(dpreg.NonPrivate(context.Background(), e.statistics, e.design, dpreg.Options{Prior: prior, Plan: plan}))(t)
			d := fit.Draws(dpreg.Original)
			want, wantSD := leastSquares(t, e)
			for k := range want {
				mean, sd := meanSD(parameter(t, d, d.Names[k]))
				tolerance := wantSD[k] * (5/math.Sqrt(draws) + 1e-4)
				must.Near(t, d.Names[k], mean, want[k], tolerance)
				must.Near(t, "sd of "+d.Names[k], sd, wantSD[k], tolerance)
			}
			for j := range p {
				name := fmt.Sprintf("mu_x[%d]", j+1)
				var column []float64
				for _, row := range e.rows {
					column = append(column, row[j])
				}
				want, spread := meanSD(column)
				mean, _ := meanSD(parameter(t, d, name))
				must.Near(t, name, mean, want, 1.2*spread/math.Sqrt(float64(len(column)))*(5/math.Sqrt(draws)+1e-4))
			}
		})
	}
}

func TestNonPrivateSaysSo(t *testing.T) {
	e := open(t, "cirrhosis", "", nil)
	fit := must.Get(dpreg.NonPrivate(context.Background(), e.statistics, e.design, dpreg.Options{Plan: brief(1)}))(t)
	if w := fit.Summary(dpreg.Scaled, 0.9).Warnings; len(w) != 1 || !strings.Contains(w[0], "without noise") {
		t.Errorf("warnings %q", w)
	}
	if !fit.FromRows() || fit.PriceOfPrivacy() != nil || fit.Draws(dpreg.Scaled).Warmup != 0 {
		t.Error("a fit without a release has one, or a price, or a warm-up")
	}
}

func TestNonPrivateRefuses(t *testing.T) {
	e := open(t, "cirrhosis", "", nil)
	smaller := *e.design
	smaller.Covariates = smaller.Covariates[:2]
	for what, call := range map[string]func() error{
		"another method": func() error {
			_, err := dpreg.NonPrivate(context.Background(), e.statistics, e.design, dpreg.Options{Method: "naive"})
			return err
		},
		"a kernel": func() error {
			_, err := dpreg.NonPrivate(context.Background(), e.statistics, e.design, dpreg.Options{Kernel: "plain"})
			return err
		},
		"another design": func() error {
			_, err := dpreg.NonPrivate(context.Background(), e.statistics, &smaller, dpreg.Options{})
			return err
		},
		"no rows": func() error {
			_, err := dpreg.NonPrivate(context.Background(), ssp.NewAccumulator(len(e.design.Columns())).Statistics(), e.design, dpreg.Options{})
			return err
		},
		"another prior": func() error {
			_, err := dpreg.NonPrivate(context.Background(), e.statistics, e.design, dpreg.Options{Prior: model.DefaultPrior(model.Shape{P: 1})})
			return err
		},
	} {
		if call() == nil {
			t.Errorf("%s is accepted", what)
		}
	}
}
