package ask

import (
	"math"
	"strings"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/schema"
)

// one is a posterior of one draw: coefficients, means of the covariates, and variances of 1.
func one(t *testing.T, formula string, family model.Family, theta, mu []float64) *Posterior {
	t.Helper()
	s := &schema.Schema{Columns: []schema.Column{
		{Name: "x", Lower: 0, Upper: 4}, {Name: "z", Lower: 1, Upper: 5}, {Name: "g", Type: "string", Levels: []string{"u", "v", "w"}},
		{Name: "b", Type: "boolean", Lower: 0, Upper: 1}, {Name: "y", Lower: 0, Upper: 1}}}
	d := must.Get(s.Design(formula))(t)
	l := model.Layout{Shape: model.Shape{P: len(d.Covariates), Intercept: d.Intercept}, Covariates: true, Latent: []bool{false}}
	draws := &posterior.Draws{Names: model.Names(l.Shown(true)), Chains: [][]float64{nil}}
	row := make([]float64, len(draws.Names))
	for j, name := range draws.Names {
		switch of, _ := model.ParseParameter(name); {
		case of.Kind == model.Theta:
			row[j] = theta[of.K-l.Shape.First()]
		case of.Kind == model.MuX:
			row[j] = mu[of.K-1]
		default:
			row[j] = 1
		}
	}
	for range 4 {
		draws.Chains[0] = append(draws.Chains[0], row...)
	}
	return &Posterior{Draws: draws, Units: dpreg.Original, Design: d, Family: family}
}

// Effects are derivatives and differences that are worked out here by hand.
func TestEffects(t *testing.T) {
	logistic := func(eta float64) float64 { return 1 / (1 + math.Exp(-eta)) }
	for _, c := range []struct {
		formula  string
		family   model.Family
		theta    []float64
		mu       []float64
		question string
		want     float64
	}{
		{"y ~ x + z", model.Normal, []float64{1, 2, 3}, []float64{1, 2}, "effect(z)", 3},
		{"y ~ x + z - 1", model.Normal, []float64{2, 3}, []float64{1, 2}, "effect(x)", 2},
		{"y ~ x + I(x^2) + b + x:b", model.Normal, []float64{1, 2, 3, 4, 5}, []float64{1.5, 9, 0.25, 0.7}, "effect(x)", 2 + 2*3*1.5 + 5*0.25},
		{"y ~ x + I(x^2) + b + x:b", model.Normal, []float64{1, 2, 3, 4, 5}, []float64{1.5, 9, 0.25, 0.7}, "effect(b)", 4 + 5*1.5},
		{"y ~ x + I(x^2)", model.Normal, []float64{1, 2, 3}, []float64{7, 9}, "effect(x)", 2 + 2*3*4}, // the mean moved to its bound
		{"y ~ log(z)", model.Normal, []float64{1, 2}, []float64{1}, "effect(z)", 2.0 / 3},             // in the middle
		{"y ~ poly(x, 3)", model.Normal, []float64{0, 1, 2, 4}, []float64{0.25, 9, 9}, "effect(x)", 0.5 + 2*3*0.25*0.5 + 4*(7.5*0.25*0.25-1.5)*0.5},
		{"y ~ g*x", model.Normal, []float64{1, 2, 3, 4, 5, 6}, []float64{0.2, 0.3, 1.5, 0.5, 0.5}, "effect(g[w])", 3 + 6*1.5},
		{"y ~ g*x", model.Normal, []float64{1, 2, 3, 4, 5, 6}, []float64{0.2, 0.3, 1.5, 0.5, 0.5}, "effect(x)", 4 + 0.2*5 + 0.3*6},
		{"y ~ g*x", model.Normal, []float64{1, 2, 3, 4, 5, 6}, []float64{0.2, 0.3, 1.5, 0.5, 0.5}, "effect(g[w]) - effect(g[v]) + effect(g[u])", 1 + 1.5},
		{"y ~ x + b", model.Binomial, []float64{-1, 0.5, 2}, []float64{2, 0.5}, "effect(x)", 0.5 * logistic(1) * (1 - logistic(1))},
		{"y ~ x + b", model.Binomial, []float64{-1, 0.5, 2}, []float64{2, 0.5}, "effect(b)", logistic(2) - logistic(0)},
	} {
		a, err := one(t, c.formula, c.family, c.theta, c.mu).Ask(0, c.question)
		if err != nil {
			t.Errorf("%s, %s: %v", c.formula, c.question, err)
		} else if got := a.Answers[0].Mean; math.Abs(got-c.want) > 1e-6*(1+math.Abs(c.want)) {
			t.Errorf("%s: %s is %v, want %v", c.formula, c.question, got, c.want)
		}
	}
}

func TestWrongEffects(t *testing.T) {
	p := one(t, "y ~ g*x", model.Normal, []float64{1, 2, 3, 4, 5, 6}, []float64{0.2, 0.3, 1.5, 0.5, 0.5})
	for question, want := range map[string]string{
		"effect(g)": "effect(g[w])", "effect(g[q])": `levels are "u"`, "effect(y)": `"x", "g"`, "effect(x[1])": "no factor", "effect(2)": "names of columns", "effect(x, g)": "takes 1",
	} {
		if a, err := p.Ask(0, question); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %+v; want %q", question, err, a, want)
		}
	}
	if a, err := p.Ask(0); err != nil || a.Answers[len(a.Answers)-1].Question != "effect(g[w])" {
		t.Errorf("%v, %+v", err, a)
	}
	p.Units = dpreg.Scaled
	if _, err := p.Ask(0, "effect(x)"); err == nil {
		t.Error("an effect in scaled units")
	}
}
