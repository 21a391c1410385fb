package dpreg_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/schema"
)

// What a fit says of columns that are 0 or 1.
func TestNormalityWarnings(t *testing.T) {
	number := func(name string) schema.Column { return schema.Column{Name: name, Lower: 0, Upper: 1} }
	d := &schema.Design{Response: number("y"), Intercept: true,
		Covariates: []schema.Column{number("x"), {Name: "t", Lower: 0, Upper: 1, Type: "boolean"}},
		Factors:    []schema.Factor{{Name: "f", Levels: strings.Split("abcdefgh", "")}}}
	for _, level := range d.Factors[0].Levels[1:] {
		d.Covariates = append(d.Covariates, schema.Column{Name: "f" + level, Lower: 0, Upper: 1, Factor: "f", Level: level})
	}
	row := make([]float64, len(d.Columns()))
	rows := slices.Repeat([][]float64{row}, 50)
	whole, ends := released(t, d, rows...), slices.Repeat(rows, 400)
	for i := range ends { // x is 0 or 1, of rows enough for the noise to tell
		ends[i] = slices.Clone(row)
		ends[i][0] = float64(2*(i%2) - 1)
	}
	told := released(t, d, ends...)
	const line = `the response "fb" is 0 or 1, and modelled as a line with normal residuals: --family binomial models its probability, see dpreg help factors`
	for _, c := range []struct {
		formula, method string
		want            []string
	}{
		{"y ~ x", "", nil},
		{"y ~ x + t", "ends", []string{`x is modelled as normal, and "x", "t" are dummies, 0 or 1: see dpreg help factors`}},
		{"y ~ f", "naive", nil},
		{"fb ~ x", "naive", []string{line}},
		{"y ~ x + fc", "", []string{`x is modelled as normal, and "fc" is a dummy, 0 or 1: see dpreg help factors`}},
		{"fb ~ t + fc", "", []string{line, `x is modelled as normal, and "t", "fc" are dummies, 0 or 1: see dpreg help factors`}},
		{"y ~ .", "", []string{`x is modelled as normal, and "t", "fb", "fc", "fd", "fe", 3 more are dummies, 0 or 1: see dpreg help factors`}},
	} {
		of := whole
		if c.method == "ends" {
			of, c.method = told, ""
		}
		r := must.Get(of.Select(c.formula))(t)
		f := must.Get(dpreg.Infer(context.Background(), dpreg.One(r), dpreg.Options{Method: c.method, Plan: mcmc.Plan{Chains: 1, Warmup: 100, Draws: 10, Seed: 1}}))(t)
		var got []string
		for _, w := range f.Summary(dpreg.Original, 0.95).Warnings {
			if strings.Contains(w, "dpreg help factors") {
				got = append(got, w)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s by %q: got %q, want %q", c.formula, c.method, got, c.want)
		}
	}
}
