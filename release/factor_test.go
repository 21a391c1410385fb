package release

import (
	"reflect"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/schema"
)

// withFactor has a factor of three levels and a boolean.
func withFactor(intercept bool) schema.Design {
	d := design(intercept, column("a", 0, 4), column("fv", 0, 1), column("fw", 0, 1), column("t", 0, 1), column("y", -2, 2))
	d.Covariates[1].Factor, d.Covariates[1].Level = "f", "v"
	d.Covariates[2].Factor, d.Covariates[2].Level = "f", "w"
	d.Covariates[3].Type = "boolean"
	d.Factors = []schema.Factor{{Name: "f", Levels: []string{"u", "v", "w"}}}
	if !intercept {
		d.Covariates = append(d.Covariates, schema.Column{Name: "fu", Lower: 0, Upper: 1, Factor: "f", Level: "u"})
	}
	return d
}

var factorRows = [][]float64{{1, 0, 0, 1, 0.5, 1}, {2, 1, 0, 0, -1, 0}, {3, 0, 1, 1, 1.5, 0}, {4, 0, 0, 0, 2, 1}}

// rowsOf gives the rows for covariates with the dummy of u, if it is wanted, and y last.
func rowsOf(intercept bool) [][]float64 {
	var rows [][]float64
	for _, r := range factorRows {
		row := append([]float64{}, r[:4]...)
		if !intercept {
			row = append(row, r[5])
		}
		rows = append(rows, append(row, r[4]))
	}
	return rows
}

func TestFactorFile(t *testing.T) {
	for _, intercept := range []bool{true, false} {
		r := exactRelease(withFactor(intercept), rowsOf(intercept))
		text, _ := rewritten(t, r)
		for _, part := range []string{
			`{"name": "fv", "lower": 0, "upper": 1, "factor": "f", "level": "v"}`,
			`{"name": "t", "lower": 0, "upper": 1, "type": "boolean"}`,
			"\n    \"factors\": [\n      {\"name\": \"f\", \"levels\": [\"u\", \"v\", \"w\"]}\n    ],\n    \"intercept\"",
		} {
			must.Say(t, text, part)
		}
	}
}

func TestFactorFileRefuses(t *testing.T) {
	text := write(t, exactRelease(withFactor(true), rowsOf(true)))
	for _, c := range []struct{ old, with, want string }{
		{`"upper": 1, "factor": "f", "level": "v"`, `"upper": 2, "factor": "f", "level": "v"`, "schema: column \"fv\": it is 0 or 1"},
		{`"level": "v"`, `"level": "x"`, `schema: column "fv": factor "f" has no level "x"`},
		{`, "level": "v"`, ``, `schema: column "fv": factor "f" has no level ""`},
		{`"factor": "f", "level": "v"`, `"factor": "g", "level": "v"`, `schema: column "fv": it is a level of a factor "g", which is not described`},
		{`"factor": "f", "level": "v"`, `"factor": "f", "factor": "f", "level": "v"`, "schema.covariates[1].factor: a key stands twice"},
		{`"factor": "f", "level": "v"`, `"factor": 7, "level": "v"`, "schema.covariates[1].factor: must be a string"},
		{`"type": "boolean"`, `"type": "string"`, `schema: column "t" is of type "string"`},
		{`"type": "boolean"`, `"type": "boolean", "levels": []`, "schema.covariates[3].levels: unknown field"},
		{`["u", "v", "w"]`, `["v", "w", "v"]`, `schema: factor "f": level "v" stands twice`},
		{`["u", "v", "w"]`, `["u", "v", "w", "v"]`, `schema: factor "f": level "v" stands twice`},
		{`["u", "v", "w"]`, `["u", "v", 3]`, "schema.factors[0].levels[2]: must be a string"},
		{`{"name": "f", "levels"`, `{"levels"`, "schema.factors[0].name: missing"},
		{`, "levels": ["u", "v", "w"]`, ``, "schema.factors[0].levels: missing"},
		{`{"name": "f", "levels": ["u", "v", "w"]}`, ``, "schema.factors: must not be 0 or empty: leave it out"},
		{`{"name": "f", "levels": ["u", "v", "w"]}`, `{"name": "f", "levels": ["u", "v", "w"]}, {"name": "g", "levels": ["u", "v"]}`, `schema: factor "g" has no column`},
	} {
		wantUnread(t, text, c.old, c.with, c.want)
	}
}

// A model with a factor that is selected is the release that it would have had.
func TestFactorSelect(t *testing.T) {
	sources := map[bool]*Release{true: exactRelease(withFactor(true), rowsOf(true)), false: exactRelease(withFactor(false), rowsOf(false))}
	for _, c := range []struct {
		from    bool
		formula string
		at      []int
	}{
		{true, "y ~ f", []int{1, 2, 4}},
		{true, "y ~ t + f + a", []int{3, 1, 2, 0, 4}},
		{true, "y ~ fw", []int{2, 4}},
		{true, "fw ~ a + t", []int{0, 3, 2}},
		{false, "y ~ f - 1", []int{4, 1, 2, 5}},
		{false, "y ~ f", []int{1, 2, 5}},
		{false, "y ~ fw + t - 1", []int{2, 3, 5}},
	} {
		r := sources[c.from]
		got, err := r.Select(c.formula)
		if err != nil {
			t.Errorf("%q: %v", c.formula, err)
			continue
		}
		var sub [][]float64
		for _, row := range rowsOf(c.from) {
			var picked []float64
			for _, j := range c.at {
				picked = append(picked, row[j])
			}
			sub = append(sub, picked)
		}
		if want := exactRelease(got.Schema, sub); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, want %+v", c.formula, got, want)
		}
		for j, i := range c.at {
			if have, want := got.Schema.Columns()[j].Name, r.Schema.Columns()[i].Name; have != want {
				t.Errorf("%q: column %d is %q, want %q", c.formula, j, have, want)
			}
		}
		if back, err := Read(strings.NewReader(write(t, got))); err != nil || !reflect.DeepEqual(back, got) {
			t.Errorf("%q: not read back: %v", c.formula, err)
		}
	}
	whole := must.Get(sources[true].Select(""))(t)
	whole.Schema.Factors[0].Name = "changed"
	if sources[true].Schema.Factors[0].Name != "f" {
		t.Error("the factors are shared")
	}
}

func TestFactorAnswers(t *testing.T) {
	r := exactRelease(withFactor(true), rowsOf(true))
	d := withFactor(true)
	if err := r.Answers(&d, *r.Privacy, Laplace, 1); err != nil {
		t.Error(err)
	}
	for want, edit := range map[string]func(d *schema.Design){
		`factor "f" with levels`: func(d *schema.Design) { d.Factors[0].Levels[0] = "z" },
		`column "t" as`:          func(d *schema.Design) { d.Covariates[3].Type = "" },
		`column "fw" as`:         func(d *schema.Design) { d.Covariates[2].Factor, d.Covariates[2].Level = "", "" },
	} {
		d := withFactor(true)
		edit(&d)
		must.Fail(t, r.Answers(&d, *r.Privacy, Laplace, 1), want)
	}
}
