package model

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/schema"
)

func parse(t *testing.T, texts ...string) (statements []Statement) {
	t.Helper()
	for _, text := range texts {
		s := must.Get(ParseStatement(text))(t)
		statements = append(statements, s)
	}
	return statements
}

// TestParseStatementErrors: errors name the text, the character and what is needed.
func TestParseStatementErrors(t *testing.T) {
	for text, want := range map[string]string{
		``:                              "character 1: a '~' is missing",
		`educ`:                          "character 5: a '~' is missing",
		`~ normal(0, 1)`:                "character 1: a name is missing",
		`  ~ normal(0, 1)`:              "character 3: a name is missing",
		"`educ ~ normal(0, 1)":          "character 1: a backquote is not closed",
		`educ ~`:                        "character 7: a law is needed",
		`educ ~ cauchy(0, 1)`:           "character 8: a law is needed here: normal(mean, sd)",
		`educ ~ normal`:                 "character 14: a '(' is needed",
		`educ ~ normal()`:               "character 15: a number is needed",
		`educ ~ normal(4000 2000)`:      "character 20: a ',' or a ')' is needed",
		`educ ~ normal(4000,)`:          "character 20: a number is needed",
		`educ ~ normal(4000, 2000`:      "character 25: a ',' or a ')' is needed",
		`educ ~ normal(4000, 2000) or`:  "character 27: nothing may follow",
		`educ ~ normal(4000, 0)`:        "character 21: an sd or a scale must be above 0",
		`educ ~ normal(NaN, 1)`:         "character 15: a number is needed",
		`educ ~ normal(0, 1e999)`:       "character 18: a number is needed",
		`educ ~ normal(5000)`:           "character 8: the prior of educ can be stated as normal(mean, sd)",
		`educ ~ student_t(0, 1)`:        "character 8: the prior of educ can be stated as normal(mean, sd) or student_t(degrees of freedom, centre, scale)",
		`educ ~ student_t(3)`:           "character 8: the prior of educ can be stated as",
		`educ ~ normal(3, 0, 1)`:        "character 8: the prior of educ can be stated as",
		`educ ~ student_t(0.5, 0, 1)`:   "character 18: degrees of freedom are from 1 to 1000",
		`educ ~ student_t(3, 0, 0)`:     "character 24: an sd or a scale must be above 0",
		`sigma ~ student_t(3, 0, 1)`:    "character 9: the prior of sigma can be stated as half_t",
		`educ ~ half_t(3, 5000)`:        "character 8: the prior of educ can be stated as normal(mean, sd)",
		`sigma ~ normal(0, 5000)`:       "character 9: the prior of sigma can be stated as half_t",
		`sigma ~ half_t(5000)`:          "character 9: the prior of sigma can be stated as half_t",
		`sigma ~ half_t(0, 5000)`:       "character 16: degrees of freedom are from 1 to 1000",
		`sigma ~ half_cauchy(1, 5000)`:  "character 9: the prior of sigma can be stated as half_t",
		`sigma ~ half_normal(-1)`:       "character 21: an sd or a scale must be above 0",
		`sd(educ) ~ half_t(3, 1)`:       "character 19: sds of covariates have 2 degrees of freedom",
		`spread(race) ~ inv_chi(2, 1)`:  "character 24: spreads have 1 degree",
		`spread(race) ~ half_cauchy(1)`: "character 16: the prior of spread(race) can be stated as inv_chi(1, scale)",
		`größe ~ normal(0 1)`:           "character 18: a ',' or a ')' is needed",
	} {
		must.Fail(t, must.Err(ParseStatement(text)), want)
	}
	for text, want := range map[string]string{
		`educ`: "no '='", `=5`: "character 1: a coefficient's name", `educ=`: "character 6: an sd", `educ=0`: "character 6: an sd", `educ=x`: "character 6: an sd",
	} {
		must.Fail(t, must.Err(ParsePriorSD(text)), want)
	}
}

// TestState: what is stated holds in data units, and the rest stands.
func TestState(t *testing.T) {
	d := factorDesign(true) // y in [-100, 300], fb fc fd, gv, x in [10, 30]
	base := must.Get(Normal.DefaultPrior(d, noisy(d, 1000, 1, []float64{-0.5, 0, 0.5, 0.2, 0.3, -0.1}, []float64{0.2, 0.2, 0.2, 0.3, 0.1, 0.05})))(t)
	sd := must.Get(ParsePriorSD("gv=50"))(t)
	p := must.Get(base.State(d, append(parse(t, "x ~ normal(4, 2)", "sigma ~ half_t(5, 30)", "sd(x) ~ half_t(2, 7)",
		"fc ~ normal(10, 20)", "(Intercept) ~ normal(90, 60)"), sd)...))(t)
	o := must.Get(p.Original(d.Frame()))(t)
	at, before := o.apart(), p.apart()
	near(t, "x", []float64{at.beta[4], 1 / math.Sqrt(at.precision[24])}, []float64{4, 2}, 1e-9)
	near(t, "gv", []float64{at.beta[3], 1 / math.Sqrt(at.precision[18])}, []float64{0, 50}, 1e-9)
	near(t, "fc", []float64{at.beta[1], 1 / math.Sqrt(at.precision[6])}, []float64{10, 20}, 1e-9)
	near(t, "the line at the centre", []float64{at.alpha, math.Sqrt(at.variance)}, []float64{90, 60}, 1e-9)
	near(t, "the centre", before.centre, base.apart().centre, 1e-9)
	near(t, "sigma", []float64{2 * o.Theta.Shape, math.Sqrt(o.Theta.Scale / 5)}, []float64{5, 30}, 1e-9)
	near(t, "sd(x)", []float64{math.Sqrt(o.Covariates.Scale[24] / 4)}, []float64{7}, 1e-9)
	// fb and fd: differences from one reference, of variance 2τ² each and covariance τ².
	free := p.Scales[len(p.Scales)-2]
	if len(free.Coefficients) != 2 || free.Coefficients[0] != 1 || free.Coefficients[1] != 3 {
		t.Fatalf("the factor's free spread is of %v, want fb and fd", free.Coefficients)
	}
	near(t, "the rest of the factor", []float64{free.Precision[1] / free.Precision[0], before.precision[2]}, []float64{-0.5, free.Precision[1]}, 1e-9)

	all := must.Get(base.State(d, parse(t, "fb ~ normal(0, 1)", "fc ~ normal(0, 1)", "fd ~ normal(0, 1)")...))(t)
	for _, s := range all.Scales {
		if len(s.Coefficients) > 0 {
			t.Errorf("all dummies are stated, and %v share a free spread", s.Coefficients)
		}
	}
	both := must.Get(base.State(d, parse(t, "fc ~ normal(10, 20)", "spread(f) ~ inv_chi(1, 40)")...))(t)
	if got := strings.Join(both.Words(d), "\n"); !strings.Contains(got, "spread(f) ~ inv_chi(1, 40)") || !strings.Contains(got, "fc ~ normal(10, 20)") {
		t.Errorf("a spread and a dummy of it are stated, and what comes is\n%s", got)
	}
	if len(base.Scales) != 7 || len(base.Scales[6].Coefficients) != 3 {
		t.Error("State changed the prior that it was asked of")
	}
}

// TestStateErrors: what is not known is refused with a list of what can be stated.
func TestStateErrors(t *testing.T) {
	d := factorDesign(true)
	base := must.Get(Normal.DefaultPrior(d))(t)
	file := must.Get(readPrior(strings.NewReader(`{"theta":{"precision":[[1,0,0],[0,1,0],[0,0,1]]},"covariates":{"scale":[[1,0],[0,1]],"dof":5}}`), "p.json", testDesign()))(t)
	none := factorDesign(false)
	without := must.Get(Normal.DefaultPrior(none))(t)
	for text, c := range map[string]struct {
		p    *Prior
		d    *schema.Design
		want string
	}{
		"z ~ normal(0, 1)":               {base, d, "there is no z; the priors that can be stated are of (Intercept), fb, fc, fd, gv, x, sigma, kurtosis, sd(fb), sd(fc), sd(fd), sd(gv), sd(x), spread(f)"},
		"sd(z) ~ half_t(2, 1)":           {base, d, "there is no sd(z)"},
		"y ~ normal(0, 1)":               {base, d, "there is no y"},
		"f ~ normal(0, 1)":               {base, d, "spread(f) ~ inv_chi(1, scale)"},
		"fa ~ normal(0, 1)":              {base, d, "with which the others are compared"},
		"spread(g) ~ inv_chi(1, 1)":      {base, d, "has one coefficient"},
		"spread(x) ~ inv_chi(1, 1)":      {base, d, "there is no spread(x)"},
		"(Intercept) ~ normal(0, 1)":     {without, none, "no intercept"},
		"a ~ normal(0, 1)":               {file, testDesign(), `"unscaled": true`},
		"sd(a) ~ half_t(2, 1)":           {file, testDesign(), "leave covariates.scale and covariates.dof out"},
		"x ~ normal(0, 1e-200)":          {base, d, "in units of the bounds that is 5e-202"},
		"x ~ normal(1e99, 1)":            {base, d, "too far from 1"},
		"(Intercept) ~ normal(0, 1e-20)": {base, d, "too far from 1"},
		"sd(x) ~ half_t(2, 1e300)":       {base, d, "too far from 1"},
		"spread(f) ~ inv_chi(1, 1e30)":   {base, d, "too far from 1"},
		"sigma ~ half_t(3, 1e-300)":      {base, d, "too far from 1"},
	} {
		if _, err := c.p.State(c.d, parse(t, text)...); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v, want one that says %q", text, err, c.want)
		}
	}
	sd, _ := ParsePriorSD("x=3")
	must.Fail(t, must.Err(base.State(d, append(parse(t, "x ~ normal(0, 1)"), sd)...)), "stated twice")
}

// TestPriorWords: what is printed, typed back, is the same prior to the digits printed.
func TestPriorWords(t *testing.T) {
	odd := factorDesign(true)
	odd.Covariates[4].Name = "sd(a ~ `b`)"
	for what, d := range map[string]*schema.Design{"intercept": factorDesign(true), "none": factorDesign(false), "odd name": odd} {
		m := len(d.Covariates) + 1
		mean, variance := make([]float64, m), make([]float64, m)
		for j := range m {
			mean[j], variance[j] = 0.1*float64(j)-0.3, 0.02*float64(j+1)
		}
		base := must.Get(Normal.DefaultPrior(d, noisy(d, 1000, 1, mean, variance)))(t)
		first := parse(t, quoteName(d.Covariates[m-2].Name)+" ~ normal(4000, 123.4)", "sigma ~ half_normal(77)", "gv ~ student_t(4, 7, 30)")
		want := must.Get(base.State(d, first...))(t)
		var typed []Statement
		for _, line := range want.Words(d) {
			if !strings.HasPrefix(line, "#") {
				typed = append(typed, parse(t, line)...)
			}
		}
		again, err := base.State(d, typed...)
		if err != nil {
			t.Fatal(what, err)
		}
		// Order of free scales is no part of a prior.
		near(t, what+": theta.mean", again.Theta.Mean, want.Theta.Mean, 1e-3)
		near(t, what+": theta.precision", again.Theta.Precision, want.Theta.Precision, 2e-3)
		near(t, what+": Student's law", ofStudent(again), ofStudent(want), 2e-3)
		near(t, what+": sigma2", []float64{again.Theta.Shape, again.Theta.Scale}, []float64{want.Theta.Shape, want.Theta.Scale}, 1e-3)
		near(t, what+": covariates.scale", again.Covariates.Scale, want.Covariates.Scale, 1e-3)
		if len(again.Scales) != len(want.Scales) {
			t.Errorf("%s: %d free scales, want %d", what, len(again.Scales), len(want.Scales))
		}
	}
}

// ofStudent are A, ν and the precision of each free scale that is of one coefficient.
func ofStudent(p *Prior) (all []float64) {
	for _, s := range p.Scales {
		if len(s.Coefficients) == 1 {
			all = append(all, s.SD, s.Dof, s.Precision[0])
		}
	}
	return all
}

// TestPriorWordsOfFiles: what words do not reach stands behind a '#'.
func TestPriorWordsOfFiles(t *testing.T) {
	d := testDesign() // y in [10, 30], a in [0, 5], b in [-3, 1]
	shrinking := must.Get(Normal.ShrinkingPrior(d))(t)
	file := must.Get(readPrior(strings.NewReader(`{"theta":{"precision":[[1,0,0],[0,4,1],[0,1,4]]},"sigma2":{"shape":3,"scale":0.5},"covariates":{"scale":[[1,0],[0,1]],"dof":5},"x":{"kind":"uniform"}}`), "p.json", d))(t)
	for what, c := range map[string]struct {
		p    *Prior
		want []string
	}{
		"shrinking": {shrinking, []string{"# slopes that share a free spread: a3 ~ inv_chi(1, 1)", "# a ~ normal(0, 1 a3)", "# b ~ normal(0, 1.25 a3)", "sigma ~ half_t(3, 10)", "sd(a) ~ half_t(2, 2.5)"}},
		"file":      {file, []string{"# (Intercept) ~ normal(20, 1 sigma)", "# not independent", "# a ~ normal(0, 0.2066 sigma)", "# sigma^2 ~ inv_gamma(3, 50)", "inv_wishart of 5", "x ~ uniform"}},
	} {
		got := strings.Join(c.p.Words(d), "\n")
		for _, line := range c.want {
			if !strings.Contains(got, line) {
				t.Errorf("%s: no %q in\n%s", what, line, got)
			}
		}
	}
}

func FuzzParseStatement(f *testing.F) {
	for _, text := range []string{"x ~ normal(1, 2)", "sigma ~ half_t(3, 1e3)", "sd(x) ~ half_t(2, 1)", "spread(f) ~ inv_chi(1, 0.5)", "`a ~ b` ~ normal(-1, 2)", "(Intercept) ~ normal(0,1)", "x=5", "~", "x ~ (,)"} {
		f.Add(text)
	}
	d := factorDesign(true)
	base := must.Get(Normal.DefaultPrior(d))(f)
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = ParsePriorSD(text)
		s, err := ParseStatement(text)
		if err != nil {
			if !utf8.ValidString(text) || strings.Contains(err.Error(), "character") {
				return
			}
			t.Fatalf("%q: %v", text, err)
		}
		p, err := base.State(d, s)
		if err != nil {
			return
		}
		for _, line := range p.Words(d) {
			if strings.HasPrefix(line, "#") {
				continue
			}
			if _, err := ParseStatement(line); err != nil {
				t.Errorf("%q is printed as %q: %v", text, line, err)
			}
		}
	})
}

// A term may be stated with other spaces than its own; it is the same term, and not to be stated twice.
func TestStateTermsOfOtherSpaces(t *testing.T) {
	columns := &schema.Schema{Columns: []schema.Column{{Name: "age", Upper: 100}, {Name: "y", Upper: 10}}}
	d := must.Get(columns.Design("y ~ log(age + 1)"))(t)
	base := must.Get(Normal.DefaultPrior(d))(t)
	want := must.Get(base.State(d, parse(t, "log(age + 1) ~ normal(0, 2)", "sd(log(age + 1)) ~ half_t(2, 1)")...))(t)
	got, err := base.State(d, parse(t, "log(age+1) ~ normal(0, 2)", "sd(log( age+1 )) ~ half_t(2, 1)")...)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v: %v", got, want, err)
	}
	must.Fail(t, must.Err(base.State(d, parse(t, "log(age+1) ~ normal(0, 2)", "log(age + 1) ~ normal(0, 3)")...)), "stated twice")
	must.Fail(t, must.Err(base.State(d, parse(t, "log(age+2) ~ normal(0, 2)")...)), "there is no log(age+2)")
}
