package schema

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

// example has a column of every sort.
func example() *Schema {
	return &Schema{Columns: []Column{
		{Name: "x1", Lower: 0, Upper: 40},
		unbounded("wine drunk"),
		{Name: "x2", Lower: -1, Upper: 1},
		{Name: "town", Type: "string", Lower: math.NaN(), Upper: math.NaN()},
		{Name: "day", Type: "date", Lower: math.NaN(), Upper: math.NaN()},
		{Name: "y", Lower: 10, Upper: 20},
	}}
}

func names(columns []Column) []string {
	var out []string
	for _, c := range columns {
		out = append(out, c.Name)
	}
	return out
}

func TestDesign(t *testing.T) {
	d := must.Get(example().Design("x1 ~ y + x2 - 1"))(t)
	if got := names(d.Columns()); !slices.Equal(got, []string{"y", "x2", "x1"}) || d.Intercept {
		t.Errorf("got %v, intercept %v", got, d.Intercept)
	}
	plain := &Schema{Columns: []Column{example().Columns[0], example().Columns[2], example().Columns[5]}}
	for _, formula := range []string{"", " ", "y ~ ."} {
		d := must.Get(plain.Design(formula))(t)
		if got := names(d.Columns()); !slices.Equal(got, []string{"x1", "x2", "y"}) || !d.Intercept {
			t.Errorf("%q: got %v, intercept %v", formula, got, d.Intercept)
		}
	}
	d = must.Get(plain.Design("x1 ~ ."))(t)
	if got := names(d.Columns()); !slices.Equal(got, []string{"x2", "y", "x1"}) {
		t.Errorf("got %v", got)
	}
}

func TestDesignRefuses(t *testing.T) {
	for _, c := range []struct{ formula, want string }{
		{"y ~ x3", `no column "x3"; the columns are "x1", "wine drunk"`},
		{"z ~ x1", `no column "z"`},
		{"y ~ `wine drunk` + x1", `no bounds for "wine drunk": give --bounds 'wine drunk=LOWER:UPPER'`},
		{"y ~ `wine drunk`", "`dpreg schema data.csv`"},
		{"y ~ `wine drunk`", "would break the privacy guarantee"},
		{"y ~ town", `"town" is of type "string" without public levels: list them in the schema`},
		{"town ~ y", "without public levels"},
		{"y ~ .", "without public levels"},
		{"", "without public levels"},
		{"y ~ day", `of type "date", and only numbers`},
		{"y ~ x1 +", "nothing stands after"},
	} {
		d, err := example().Design(c.formula)
		must.Fail(t, err, c.want)
		if d != nil {
			t.Errorf("%q: a design beside the error", c.formula)
		}
	}
	must.Fail(t, must.Err((&Schema{Columns: example().Columns[:1]}).Design("")), "needs two columns")
}

func TestValidate(t *testing.T) {
	x, y := Column{Name: "x", Lower: 0, Upper: 1}, Column{Name: "y", Lower: 0, Upper: 1}
	with := func(lower, upper float64) *Design {
		return &Design{Response: y, Covariates: []Column{{Name: "x", Lower: lower, Upper: upper}}}
	}
	if err := with(-1e50, 1e50).Validate(); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		d    *Design
		want string
	}{
		{&Design{Response: y}, "a covariate or an intercept"},
		{&Design{Response: x, Covariates: []Column{x}}, "both response and covariate"},
		{&Design{Response: y, Covariates: []Column{x, x}}, "given twice"},
		{&Design{Covariates: []Column{x}}, "response: the name is empty"},
		{&Design{Response: y, Covariates: []Column{{}}}, "covariate 1: the name is empty"},
		{with(0, math.NaN()), "no bounds"},
		{with(0, math.Inf(1)), "not finite"},
		{with(1, 1), "not below"},
		{with(1, -1), "not below"},
		{with(-math.MaxFloat64, math.MaxFloat64), "other units"},
		{with(0, 5e-324), "other units"},
		{with(1e300, 1.0000000001e300), "other units"},
	} {
		must.Fail(t, c.d.Validate(), c.want)
	}
}

func TestDesignJSON(t *testing.T) {
	d := &Design{
		Response:   Column{Name: "y", Lower: -1, Upper: 1},
		Covariates: []Column{{Name: "x", Lower: 0, Upper: 0.5}},
		Intercept:  true,
	}
	got := must.Get(json.Marshal(d))(t)
	const want = `{"response":{"name":"y","lower":-1,"upper":1},"covariates":[{"name":"x","lower":0,"upper":0.5}],"intercept":true}`
	if string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestDesignOfTooManyColumns(t *testing.T) {
	s := &Schema{}
	for i := range MaxColumns + 1 {
		s.Columns = append(s.Columns, Column{Name: strconv.Itoa(i) + "th", Lower: 0, Upper: 1})
	}
	if _, err := s.Design(""); err == nil || err.Error() != "1001 columns are too many, at most 1000 are possible: name fewer covariates in the formula" {
		t.Errorf("error %v", err)
	}
	s.Columns = s.Columns[1:]
	if _, err := s.Design(""); err != nil {
		t.Error(err)
	}
}
