package schema

import (
	"encoding/json"
	"math"
	"reflect"
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

func TestDesign(t *testing.T) {
	d := must.Get(example().Design("x1 ~ y + x2 - 1"))(t)
	if got := Names(d.Columns()); !slices.Equal(got, []string{"y", "x2", "x1"}) || d.Intercept {
		t.Errorf("got %v, intercept %v", got, d.Intercept)
	}
	plain := &Schema{Columns: []Column{example().Columns[0], example().Columns[2], example().Columns[5]}}
	for _, formula := range []string{"", " ", "y ~ ."} {
		d := must.Get(plain.Design(formula))(t)
		if got := Names(d.Columns()); !slices.Equal(got, []string{"x1", "x2", "y"}) || !d.Intercept {
			t.Errorf("%q: got %v, intercept %v", formula, got, d.Intercept)
		}
	}
	d = must.Get(plain.Design("x1 ~ ."))(t)
	if got := Names(d.Columns()); !slices.Equal(got, []string{"x2", "y", "x1"}) {
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

func TestParseFormula(t *testing.T) {
	for _, c := range []struct {
		text string
		want Formula
	}{
		{"y ~ x1 + x2", Formula{"y", []string{"x1", "x2"}, false, true, nil, nil}},
		{" y~x ", Formula{"y", []string{"x"}, false, true, nil, nil}},
		{"y ~ .", Formula{"y", nil, true, true, nil, nil}},
		{"y ~ . - 1", Formula{"y", nil, true, false, nil, nil}},
		{"y ~ x - 1", Formula{"y", []string{"x"}, false, false, nil, nil}},
		{"y ~ -1 + x", Formula{"y", []string{"x"}, false, false, nil, nil}},
		{"y ~ 0 + x", Formula{"y", []string{"x"}, false, false, nil, nil}},
		{"y ~ x + 0", Formula{"y", []string{"x"}, false, false, nil, nil}},
		{"y ~ x + 1", Formula{"y", []string{"x"}, false, true, nil, nil}},
		{"y ~ 1", Formula{"y", nil, false, true, nil, nil}},
		{"y ~ +1 + x", Formula{"y", []string{"x"}, false, true, nil, nil}},
		{"a_b.c ~ .x\n+ größe", Formula{"a_b.c", []string{".x", "größe"}, false, true, nil, nil}},
		{"`~ y` ~ `wine drunk` + `.` + `0`", Formula{"~ y", []string{"wine drunk", ".", "0"}, false, true, nil, nil}},
		{"y ~ `a\\`b\\\\`", Formula{"y", []string{"a`b\\"}, false, true, nil, nil}},
	} {
		got, err := ParseFormula(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: got %+v, want %+v", c.text, got, c.want)
		}
		if back, err := ParseFormula(got.String()); err != nil || !reflect.DeepEqual(back, got) {
			t.Errorf("%q written as %q: got %+v, %v", c.text, got, back, err)
		}
	}
}

func TestParseFormulaRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "it is empty"},
		{"y", "with `~` after it"},
		{"~ x", "nothing stands before `~`"},
		{"y ~", "nothing stands after `~`"},
		{"y ~ x +", "nothing stands after the last"},
		{"y ~ x ~ z", "more than one `~`"},
		{"y ~ ~ z", "more than one `~`"},
		{"y + z ~ x", "one column with `~` after it"},
		{"1 ~ x", "response must be the name"},
		{". ~ x", "response must be the name"},
		{"y ~ x z", "z has no `+` before it"},
		{"y ~ x ^ 2", "as in I(x^2)"},
		{"y ~ x / 2", "as in I(x/2)"},
		{"y ~ x * ", "nothing stands where"},
		{"y ~ x:x", "product with itself"},
		{"y ~ x:z + z:x", "given twice"},
		{"y ~ sin(x)", "no function sin"},
		{"y ~ I(2)", "holds no column"},
		{"y ~ I(x", "stands where"},
		{"y ~ poly(x)", "degree from 1 to 10"},
		{"y ~ poly(x, 11)", "degree from 1 to 10"},
		{"poly(y, 2) ~ x", "is several"},
		{"log(y) ~ log(y)", "both response and covariate"},
		{"y ~ (1 | g)", "--pooling partial"},
		{"y ~ a*b*c*d*e*f", "crossed"},
		{"y ~ scale(2)", "name of a column"},
		{"y ~ . + log(x)", "must stand alone"},
		{"y ~ a %in% b", "'%' is not supported"},
		{"y ~ x | g", "--pooling partial"},
		{"y ~ (x)", "brackets around terms"},
		{"y ~ x + 2", "the number `2` is neither 0 nor 1"},
		{"y ~ x + 1.5", "neither 0 nor 1"},
		{"y ~ x - 2", "neither 0 nor 1"},
		{"y ~ x - 0", "`- 0` is unclear"},
		{"y ~ 0 + x + 1", "the intercept twice"},
		{"y ~ 0", "neither a covariate nor an intercept"},
		{"y ~ 1 - 1", "the intercept twice"},
		{"y ~ x + + z", "`+` stands where a covariate should"},
		{"y ~ . - x", "cannot be taken away"},
		{"y ~ blood-pressure", "pressure cannot be taken away"},
		{"y ~ . + x", "`.` already stands for every column"},
		{"y ~ x + .", "`.` already stands for every column"},
		{"y ~ x + x", `covariate "x" is given twice`},
		{"y ~ x + y", "both response and covariate"},
		{"y ~ 1st", "`1st` needs backquotes"},
		{"y ~ _x", "`_x` needs backquotes"},
		{"y ~ 'x'", "names stand in backquotes"},
		{"y ~ x & z", "'&' has no meaning"},
		{"y ~ `x", "not closed"},
		{"y ~ `x\\n`", "backslash may only stand"},
		{"y ~ ``", "the name is empty"},
		{"y ~ \xff", "not valid UTF-8"},
	} {
		must.Fail(t, must.Err(ParseFormula(c.text)), "formula: ", c.want, "allowed are `y ~ x1 + x2`")
	}
}
