package report_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/report"
)

// A result says what it takes for granted, and what of it can be checked by package check alone.
func TestGranted(t *testing.T) {
	testsize.Full(t, "golden files have what one release grants")
	one, other := made(), made()
	origin := *one
	origin.Schema.Intercept = false
	stated := model.DefaultPrior(model.Shape{P: 2, Intercept: true})
	stated.X = model.NormalX{Mean: make([]float64, 2), Covariance: []float64{0.1, 0, 0, 0.1}}
	heavy := model.DefaultPrior(model.Shape{P: 2, Intercept: true})
	heavy.Kurtosis = model.Kurtosis{Least: 3, Most: 69}
	mean := must.Get(one.Select("income ~ 1"))(t)
	several := []dpreg.Custodian{{Name: "a", Release: one}, {Name: "b", Release: other}}
	for name, c := range map[string]struct {
		of      []dpreg.Custodian
		options dpreg.Options
		says    string
	}{
		"a line":       {dpreg.One(one), dpreg.Options{}, "normal covariates; income linear in x, with normal residuals of one spread. A release can tell (dpreg check) of columns that bounds cut; it cannot of curves,"},
		"a mean":       {dpreg.One(mean), dpreg.Options{}, "granted: income normal. A release can tell (dpreg check) of columns that bounds cut; it cannot of outliers or skew."},
		"no intercept": {dpreg.One(&origin), dpreg.Options{}, "bounds cut and an intercept that is not 0; it cannot"},
		"naive":        {dpreg.One(one), dpreg.Options{Method: "naive"}, "granted: sums without noise; income linear in x, with normal residuals of one spread. A release cannot tell of curves"},
		"heavy tails":  {dpreg.One(one), dpreg.Options{Prior: heavy}, "linear in x, with residuals of one spread and of a kurtosis up to 69. A"},
		"moments":      {dpreg.One(one), dpreg.Options{Method: "gibbs-ss-prior", Prior: stated}, "covariates' moments as the prior states them;"},
		"complete":     {several, dpreg.Options{}, "one regression for all custodians. A release can tell (dpreg check) of columns that bounds cut and custodians that differ by much;"},
		"partial":      {several, dpreg.Options{Pooling: dpreg.PartialPooling}, "custodians' coefficients normal about common ones. A release can tell (dpreg check) of columns that bounds cut;"},
		"same rows":    {several, dpreg.Options{SameRows: true}, "the same rows in all releases. A release cannot tell"},
	} {
		c.options.Plan = mcmc.Plan{Chains: 1, Warmup: 100, Draws: 10}
		fit := must.Get(dpreg.Infer(context.Background(), c.of, c.options))(t)
		var text bytes.Buffer
		must.Do(t, report.Fit(&text, fit, report.Options{}))
		if !strings.Contains(strings.Join(strings.Fields(text.String()), " "), c.says) {
			t.Errorf("%s: it lacks %q:\n%s", name, c.says, text.String())
		}
	}
}
