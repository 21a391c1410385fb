package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/testsize"
)

// A model of the intercept alone goes through every command; what has no meaning without a
// covariate is refused before anything is spent.
func TestInterceptAlone(t *testing.T) {
	testsize.Full(t, "twenty runs")
	workspace(t)
	command("release", "pums.csv", "--eps", "1", "--formula", "income ~ 1", "-o", "one.json").finished(t)
	command("release", "pums.csv", "--eps", "1", "--formula", "income ~ 1", "-o", "two.json").finished(t)
	command(append([]string{"infer", "one.json", "--save", "post", "--report", "one.html", "--plots", "plots"}, quick...)...).finished(t)
	for args, says := range map[string]string{
		"infer good.json --formula income~1":        "income ~ 1",
		"infer one.json --what-if":                  "sigma's prior scale tripled",
		"infer one.json --print-prior":              "(Intercept) ~ normal(",
		"infer one.json two.json --pooling partial": "spread((Intercept))",
		"infer one.json two.json --same-rows":       "(Intercept)",
		"infer one.json --method mcmc-ind":          "(Intercept)",
		"infer one.json --method gibbs-ss-prior":    "(Intercept)",
		"infer one.json --method naive":             "(Intercept)",
		"check one.json --calibrate 2":              "sum of y",
		"ask one.json":                              "sd(income)",
		"ask post Intercept>0":                      "Intercept>0",
		"predict --draws post pums.csv":             ".fitted",
		"predict --draws post pums.csv --mean":      ".fitted",
		"show one.json":                             "income",
	} {
		fields := strings.Fields(args)
		if slices.Contains([]string{"infer", "check"}, fields[0]) && !strings.Contains(args, "--print") {
			fields = append(fields, quick...)
		}
		if r := command(fields...).finished(t); !strings.Contains(r.stdout, says) || strings.Contains(r.stdout+r.stderr, "NaN") {
			t.Errorf("%s lacks %q or shows NaN:\n%s%s", args, says, r.stdout, r.stderr)
		}
	}
	for args, says := range map[string]string{
		"models one.json":                                                                                "no covariate to leave out",
		"predict --draws post --along educ":                                                              "no column of numbers",
		"infer good.json --formula income~1 --family poisson":                                            "needs a covariate",
		"infer good.json --formula income~0":                                                             "neither a covariate nor an intercept",
		"release pums.csv --eps 1 --formula income~1 --steps 2 -o c":                                     "one look is enough",
		"release pums.csv --eps 1 --formula income~1 --with-moments -o c":                                "1 to 3 covariates",
		"plan --schema pums.schema.json --formula income~1 --eps 1 --n 99 --mean income=9 --sd income=9": "no slope to forecast",
	} {
		command(strings.Fields(args)...).says(t, says).ends(t, misused)
	}
}
