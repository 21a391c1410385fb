package ask

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/schema"
)

// two is a posterior of y ~ x + g + b, g a factor of levels u and v, b a truth value, by draws that
// a test gives or some of a fixed seed: θ, σ², σ, μ and T.
func two(t *testing.T, rows ...[]float64) *Posterior {
	t.Helper()
	s := &schema.Schema{Columns: []schema.Column{
		{Name: "x", Lower: 0, Upper: 4}, {Name: "g", Type: "string", Levels: []string{"u", "v"}},
		{Name: "b b", Type: "boolean", Lower: 0, Upper: 1}, {Name: "y", Lower: -1, Upper: 9}}}
	d := must.Get(s.Design("y ~ x + g + `b b`"))(t)
	l := model.Layout{Shape: model.Shape{P: 3, Intercept: true}, Covariates: true, Latent: []bool{false}}
	draws := &posterior.Draws{Names: model.Names(l.Shown(true)), Chains: [][]float64{nil, nil}}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 2000 {
		row := []float64{1, 2 + rng.NormFloat64(), 0.5 * rng.NormFloat64(), -1, 4, 2, 1, 0.5, 0.25, 2, 0.1, 0.2, 0.1, 0.25, 0, 0.2, 0, 0.1875}
		if rows != nil {
			row = rows[i%len(rows)]
		}
		draws.Chains[i%2] = append(draws.Chains[i%2], row...)
	}
	return &Posterior{Draws: draws, Units: dpreg.Original, Design: d}
}

// An expression has the value that its formula has.
func TestExpressions(t *testing.T) {
	p := two(t, []float64{1, 3, 0.5, -1, 4, 2, 1, 0.5, 0.25, 2, 0.1, 0.2, 0.1, 0.25, 0, 0.2, 0, 0.1875})
	// C = [2 .1 .2; .1 .25 0; .2 0 .1875], β = (3, .5, −1): Cβ = (5.85, .425, .4125)
	vary := 3*5.85 + 0.5*0.425 - 0.4125 + 4.0
	for question, want := range map[string]float64{
		"x":                              3,
		"2*x - Intercept/4 + -1":         4.75,
		"(Intercept) + x^2^0.5":          1 + math.Pow(3, math.Sqrt2),
		"-x^2":                           -9,
		"2^-x":                           0.125,
		"g[v] - g[u]":                    0.5,
		"`b b`[1] - `b b`[0]":            -1,
		"`gv`*1e1 + .5":                  5.5,
		"exp(log(x)) + sqrt(abs(`b b`))": 4,
		"x / sigma - sigma2":             -2.5,
		"mean(y)":                        1 + 3 + 0.25 - 0.25,
		"var(x) + cov(x, gv)":            2.1,
		"cov(gv, y)":                     0.425,
		"sd(y)":                          math.Sqrt(vary),
		"cor(y, x)":                      5.85 / math.Sqrt(2*vary),
		"beta(x)":                        3 * math.Sqrt(2/vary),
		"R2":                             1 - 4/vary,
		"`mean(x)`":                      1,
		"x - 3 = 0":                      0,
		"x > gv":                         2.5,
		"0 < x <= 5":                     3,
	} {
		a, err := p.Ask(0, question)
		if err != nil {
			t.Errorf("%s: %v", question, err)
		} else if got := a.Answers[0].Mean; math.Abs(got-want) > 1e-12 {
			t.Errorf("%s is %v, want %v", question, got, want)
		}
	}
}

// Probabilities are shares of the draws, with the error that so many have.
func TestProbabilities(t *testing.T) {
	a := must.Get(two(t).Ask(0.9, "x > 2", "gv < x", "1 < x < 3", "sigma > 1", "0 > sigma"))(t)
	for i, want := range []float64{0.5, 0.9632, 0.6827, 1, 0} {
		got := *a.Answers[i].Probability
		if sd := math.Sqrt(want * (1 - want) / 2000); math.Abs(got-want) > 4.5*sd { // a false alarm in 150,000
			t.Errorf("%s: %v, want %v ± %v", a.Answers[i].Question, got, want, sd)
		}
	}
	if e := *a.Answers[0].MCSE; math.Abs(e-0.0112) > 0.002 {
		t.Errorf("Monte Carlo error %v", e)
	}
}

// The Savage–Dickey ratio is that of densities which are known: normal ones, and t ones
// where σ² is integrated out, at the middle and three sds out.
func TestEvidence(t *testing.T) {
	identity := func(v ...float64) []float64 {
		m := make([]float64, len(v)*len(v))
		for i, x := range v {
			m[i*len(v)+i] = x
		}
		return m
	}
	normal := func(x, mean, sd float64) float64 {
		return math.Exp(-(x-mean)*(x-mean)/(2*sd*sd)) / (sd * math.Sqrt(2*math.Pi))
	}
	cauchy := func(x, scale float64) float64 { return scale / (math.Pi * (scale*scale + x*x)) }
	nig := &conjugate.NIG{Mean: []float64{0, 1, 0, 0}, Precision: identity(1, 0.25, 1, 1), Shape: 0.5, Scale: 2}
	for name, c := range map[string]struct {
		prior   model.Prior
		density func(mean, variance float64) float64 // at 0
	}{
		"normal": {model.Prior{Theta: nig, Unscaled: true}, func(mean, variance float64) float64 { return normal(0, mean, math.Sqrt(variance)) }},
		"t":      {model.Prior{Theta: nig}, func(mean, variance float64) float64 { return cauchy(mean, math.Sqrt(4*variance)) }},
	} {
		p := two(t)
		p.Units, p.Prior = dpreg.Scaled, &c.prior
		for question, want := range map[string]float64{
			"x = 2":           normal(0, 0, 1) / c.density(-1, 4),
			"x = 4.5":         normal(2.5, 0, 1) / c.density(-3.5, 4),
			"2*x - gv = 3":    normal(3, 4, math.Sqrt(4.25)) / c.density(-1, 17),
			"x = Intercept":   normal(0, 1, 1) / c.density(1, 5),
			"2*(x - 2)/3 = 0": normal(0, 0, 2./3) / c.density(-2./3, 16./9),
		} {
			a, err := p.Ask(0, question)
			if err != nil || a.Answers[0].Evidence == nil {
				t.Fatalf("%s, %s: %v, %+v", name, question, err, a)
			}
			got, mcse := *a.Answers[0].Evidence, *a.Answers[0].LogMCSE
			// The error of f₀'s mean and sd comes to that of the kernel: two of each.
			if off := math.Log(got / want); math.Abs(off) > 4*mcse+0.05 || mcse > 0.25 {
				t.Errorf("%s, %s: %v ± %v, want %v", name, question, got, mcse, want)
			}
		}
	}
	// A free scale of one coefficient is integrated out, which makes it Student's.
	for scale, density := range map[*model.Scale]float64{
		{SD: 2}:                         cauchy(2, math.Sqrt2/2),
		{SD: math.Sqrt(2. / 3), Dof: 3}: distuv.StudentsT{Sigma: 1, Nu: 3}.Prob(2),
	} {
		p := two(t)
		p.Units = dpreg.Scaled
		scale.Coefficients, scale.Precision = []int{1}, []float64{1}
		p.Prior = &model.Prior{Theta: &conjugate.NIG{Mean: make([]float64, 4), Precision: identity(1, 1, 1, 1), Shape: 1, Scale: 1}, Unscaled: true, Scales: []model.Scale{*scale}}
		a, err := p.Ask(0, "x = 2", "gv = 0")
		if err != nil || a.Answers[0].Evidence == nil {
			t.Fatal(err, a)
		}
		for i, want := range []float64{normal(0, 0, 1) / density, normal(0, 0, 0.5) / normal(0, 0, 1)} {
			if got := *a.Answers[i].Evidence; math.Abs(math.Log(got/want)) > 0.06 {
				t.Errorf("%s of %v degrees of freedom: %v, want %v", a.Answers[i].Question, scale.Dof, got, want)
			}
		}
	}
}

// What has no evidence says why.
func TestNoEvidence(t *testing.T) {
	p := two(t)
	for question, want := range map[string]string{
		"x = 0": "is not known", "x = 20": "is not known",
	} {
		a, err := p.Ask(0, question)
		if err != nil || !strings.Contains(a.Answers[0].Reason, want) {
			t.Errorf("%s: %v, %+v", question, err, a)
		}
	}
	p.Prior = &model.Prior{Theta: &conjugate.NIG{Mean: make([]float64, 4), Precision: make([]float64, 16), Shape: 1, Scale: 1}, Unscaled: true}
	p.Units = dpreg.Scaled
	for k := range 4 {
		p.Prior.Theta.Precision[5*k] = 1
	}
	for question, want := range map[string]string{"x = 20": "draws lie near", "x^2 = 1": "linear", "1 = 1": "no coefficient", "sigma = x": "linear"} {
		a, err := p.Ask(0, question)
		if err != nil || a.Answers[0].Evidence != nil || a.Answers[0].Reason == "" || want == "draws lie near" && !strings.Contains(a.Answers[0].Reason, want) {
			t.Errorf("%s: %v, %+v", question, err, a)
		}
	}
}

// Without a question those of Usual are answered, and files of answers have no holes.
func TestUsual(t *testing.T) {
	a := must.Get(two(t).Ask(0))(t)
	if got := len(a.Answers); got != 1+3+4+4+6 {
		t.Errorf("%d answers", got)
	}
	var text bytes.Buffer
	if err := a.WriteJSON(&text); err != nil || !strings.HasPrefix(text.String(), "{\n  \"format\": \"dpreg-answers/1\"") {
		t.Errorf("%v\n%s", err, &text)
	}
	text.Reset()
	if err := a.WriteCSV(&text); err != nil || strings.Count(text.String(), "\n") != len(a.Answers)+1 {
		t.Errorf("%v\n%s", err, &text)
	}
}

func TestRefused(t *testing.T) {
	for question, want := range map[string]string{
		"":              "nothing to answer",
		"x +":           "nothing stands where",
		"x 2":           "should",
		"(x":            "nothing stands where `)`",
		"x)":            "should",
		"X > 0":         `did you mean "x"`,
		"zzzzzzzz":      "there are",
		"y > 0":         "is the response",
		"g > 0":         "g[v]",
		"g[w]":          `levels are "u", "v"`,
		"x[1]":          "no factor",
		"`b b`[2]":      "0 and 1",
		"g[v":           "not closed",
		"sin(x)":        "there is no function sin",
		"I(x*y)":        "there is no such term here",
		"cor(x)":        "takes 2",
		"mean(2)":       "names of columns",
		"mean(z)":       `"z"`,
		"beta(y)":       "is the response",
		"x = 1 = 2":     "too many",
		"x < 1 < 2 < 3": "too many",
		"log(x - 100)":  "undefined",
		"x / 0":         "undefined",
		"b b":           "no \"b\"",
		"x ! 2":         "'!'",
		"x\x00":         "has no meaning",
		"1e999":         "no number",
	} {
		if a, err := two(t).Ask(0, question); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %+v; want %q", question, err, a, want)
		}
	}
	for _, level := range []float64{-1, 1, math.NaN()} {
		if _, err := two(t).Ask(level, "x"); err == nil {
			t.Errorf("level %v was taken", level)
		}
	}
	p := two(t)
	p.Draws.Names[1] = "theta[9]"
	if _, err := p.Ask(0, "x"); err == nil {
		t.Error("draws of another model were taken")
	}
}

func FuzzQuestion(f *testing.F) {
	for _, seed := range []string{"x > 0", "g[v]-g[u]", "cor(x, y)", "`b b`[1]", "((x))^2 = 1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, question string) {
		two(t, make([]float64, 18)).Ask(0, question) // no panic
	})
}
