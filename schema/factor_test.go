package schema

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

// people has two factors, a boolean and two numbers.
func people(t *testing.T) *Schema {
	t.Helper()
	s := must.Get(ReadSchema(strings.NewReader(`{"fields":[
		{"name":"age","constraints":{"minimum":0,"maximum":100}},
		{"name":"colour","type":"string","constraints":{"enum":["red","green","dark blue"]}},
		{"name":"owner","type":"boolean"},
		{"name":"sex","type":"string","constraints":{"enum":["f","m"]}},
		{"name":"income","constraints":{"minimum":0,"maximum":1e5}}]}`), "people"))(t)
	return s
}

func TestFactorDesign(t *testing.T) {
	for _, c := range []struct{ formula, want string }{
		{"", "age colourgreen colourdark blue owner sexm income"},
		{"income ~ . - 1", "age colourred colourgreen colourdark blue owner sexm income"},
		{"income ~ sex + colour", "sexm colourgreen colourdark blue income"},
		{"income ~ owner + sex + colour - 1", "owner sexf sexm colourgreen colourdark blue income"},
		{"age ~ owner", "owner age"},
		{"owner ~ sex", "sexm owner"},
	} {
		d, err := people(t).Design(c.formula)
		if err != nil {
			t.Errorf("%q: %v", c.formula, err)
			continue
		}
		if got := strings.Join(Names(d.Columns()), " "); got != c.want {
			t.Errorf("%q: got %s, want %s", c.formula, got, c.want)
		}
		// The terms make a formula that gives the same design, of the schema and of itself.
		f := Formula{Response: d.Response.Name, Terms: d.Terms(), Intercept: d.Intercept}
		for _, again := range []func(string) (*Design, error){people(t).Design, d.Select} {
			if back, err := again(f.String()); err != nil || !reflect.DeepEqual(back, d) {
				t.Errorf("%q: %s gives %+v, %v, want %+v", c.formula, f, back, err, d)
			}
		}
	}
	d := must.Get(people(t).Design("income ~ colour"))(t)
	want := &Design{
		Response: Column{Name: "income", Lower: 0, Upper: 1e5},
		Covariates: []Column{
			{Name: "colourgreen", Lower: 0, Upper: 1, Factor: "colour", Level: "green"},
			{Name: "colourdark blue", Lower: 0, Upper: 1, Factor: "colour", Level: "dark blue"},
		},
		Factors:   []Factor{{"colour", []string{"red", "green", "dark blue"}}},
		Intercept: true,
	}
	if !reflect.DeepEqual(d, want) {
		t.Errorf("got %+v, want %+v", d, want)
	}
}

func TestTwoLevelsRespond(t *testing.T) {
	s := people(t)
	s.Columns = append(s.Columns, Column{Name: "smokes", Type: "string", Levels: []string{"no", "yes"}})
	want := Column{Name: "smokesyes", Lower: 0, Upper: 1, Factor: "smokes", Level: "yes"}
	made := must.Get(s.Design("smokes ~ ."))(t)
	for _, formula := range []string{"smokes ~ age", "smokesyes ~ age"} {
		d, err := made.Select(formula)
		if err != nil || !reflect.DeepEqual(d.Response, want) || len(d.Covariates) != 1 || len(d.Factors) != 1 {
			t.Errorf("%s: %+v, %v", formula, d, err)
		}
	}
	if terms := made.Terms(); !reflect.DeepEqual(made.Response, want) || slices.Contains(terms, "smokes") || !slices.Contains(terms, "colour") {
		t.Errorf("%+v on %q", made.Response, terms)
	}
}

func TestFactorDesignRefuses(t *testing.T) {
	for _, c := range []struct{ formula, want string }{
		{"colour ~ age", `the response "colour" is categorical`},
		{"income ~ colour + colourgreen", `no column "colourgreen": it is a level of the factor "colour", so name the factor`},
		{"income ~ colourpink", `no column "colourpink"; the columns are "age", "colour"`},
		{"income ~ colour + colour", "given twice"},
	} {
		must.Fail(t, must.Err(people(t).Design(c.formula)), c.want)
	}
	must.Fail(t, must.Err(people(t).WithBounds(Bounds{{Name: "colour", Lower: 0, Upper: 1}})), `column "colour" is no number`)
	must.Fail(t, must.Err(people(t).WithBounds(Bounds{{Name: "owner", Lower: 0, Upper: 2}})), `column "owner" is no number`)
	twins := &Schema{Columns: []Column{
		{Name: "ab", Type: "string", Levels: []string{"a", "c"}},
		{Name: "a", Type: "string", Levels: []string{"a", "bc"}},
		{Name: "y", Lower: 0, Upper: 1},
	}}
	must.Fail(t, must.Err(twins.Design("")), `covariate "abc" is given twice`)
}

func TestFactorSelect(t *testing.T) {
	whole := map[bool]*Design{}
	for _, intercept := range []bool{true, false} {
		f := Formula{Response: "income", All: true, Intercept: intercept}
		d := must.Get(people(t).Design(f.String()))(t)
		whole[intercept] = d
	}
	for _, c := range []struct {
		from          bool
		formula, want string
		factors       []string
	}{
		{true, "income ~ .", "age colourgreen colourdark blue owner sexm income", []string{"colour", "sex"}},
		{true, "income ~ age", "age income", nil},
		{true, "income ~ sex + colour", "sexm colourgreen colourdark blue income", []string{"colour", "sex"}},
		{true, "income ~ `colourdark blue` + age", "colourdark blue age income", []string{"colour"}},
		{true, "sexm ~ age", "age sexm", []string{"sex"}},
		{true, "colourgreen ~ .", "age colourdark blue owner sexm income colourgreen", []string{"colour", "sex"}},
		{false, "income ~ . - 1", "age colourred colourgreen colourdark blue owner sexm income", []string{"colour", "sex"}},
		{false, "income ~ .", "age colourgreen colourdark blue owner sexm income", []string{"colour", "sex"}},
		{false, "income ~ sex", "sexm income", []string{"sex"}},
		{false, "income ~ colourred + sexm - 1", "colourred sexm income", []string{"colour", "sex"}},
	} {
		d, err := whole[c.from].Select(c.formula)
		if err != nil {
			t.Errorf("%q: %v", c.formula, err)
			continue
		}
		var factors []string
		for _, f := range d.Factors {
			factors = append(factors, f.Name)
		}
		if got := strings.Join(Names(d.Columns()), " "); got != c.want || !slices.Equal(factors, c.factors) {
			t.Errorf("%q: got %s with %q, want %s with %q", c.formula, got, factors, c.want, c.factors)
		}
	}
	for _, c := range []struct {
		from          bool
		formula, want string
	}{
		{true, "colour ~ age", `the response "colour" is categorical`},
		{true, "income ~ colour - 1", `factor "colour" cannot be named as a whole: without an intercept the first factor takes all levels, and there is no column for level "red"`},
		{false, "income ~ sex - 1", `no column for level "f"`},
		{true, "income ~ colour + colourgreen", "given twice"},
		{true, "income ~ colourred", `no column "colourred": it is the baseline of the factor "colour"`},
		{false, "income ~ colourred + colourgreen + `colourdark blue`", "add up to 1, and so does the intercept"},
		{true, "income ~ sexx", `no column "sexx"; the columns are "age", "colourgreen"`},
		{true, "income ~", "formula"},
	} {
		must.Fail(t, must.Err(whole[c.from].Select(c.formula)), c.want)
	}
	// Of a factor that is there in part, the part is what "." stands for.
	part := must.Get(whole[true].Select("income ~ colourgreen + age"))(t)
	if got, err := part.Select("income ~ ."); err != nil || !reflect.DeepEqual(got, part) {
		t.Errorf("got %+v, %v, want %+v", got, err, part)
	}
	if got := part.Terms(); !slices.Equal(got, []string{"colourgreen", "age"}) {
		t.Errorf("terms %q", got)
	}
	must.Fail(t, must.Err(part.Select("income ~ colour")), `there is no column for level "dark blue"; name the columns of single levels`)
}

func TestValidateFactors(t *testing.T) {
	good := func() *Design {
		return &Design{
			Response: Column{Name: "y", Lower: 0, Upper: 1},
			Covariates: []Column{
				{Name: "fb", Lower: 0, Upper: 1, Factor: "f", Level: "b"},
				{Name: "t", Lower: 0, Upper: 1, Type: "boolean"},
			},
			Factors:   []Factor{{"f", []string{"a", "b"}}},
			Intercept: true,
		}
	}
	must.Do(t, good().Validate())
	for _, c := range []struct {
		edit func(d *Design)
		want string
	}{
		{func(d *Design) { d.Covariates[0].Upper = 2 }, `column "fb": it is 0 or 1`},
		{func(d *Design) { d.Covariates[1].Lower = -2 }, `column "t": it is 0 or 1`},
		{func(d *Design) { d.Covariates[1].Factor = "f" }, "both boolean and a level"},
		{func(d *Design) { d.Covariates[0].Level = "c" }, `factor "f" has no level "c"`},
		{func(d *Design) { d.Covariates[0].Level = "" }, `factor "f" has no level ""`},
		{func(d *Design) { d.Covariates[0].Factor = "" }, `of a factor "", which is not described`},
		{func(d *Design) { d.Covariates[0].Name = "g" }, `must have the name "fb"`},
		{func(d *Design) { d.Factors = nil }, `of a factor "f", which is not described`},
		{func(d *Design) { d.Factors[0].Levels = []string{"b"} }, `factor "f": a factor needs at least two levels`},
		{func(d *Design) { d.Factors = append(d.Factors, d.Factors[0]) }, `factor "f" is given twice`},
		{func(d *Design) { d.Factors = append(d.Factors, Factor{"g", []string{"a", "b"}}) }, `factor "g" has no column`},
		{func(d *Design) { d.Factors = append(d.Factors, Factor{"", []string{"a", "b"}}) }, "factor 2: the name is empty"},
		{func(d *Design) { d.Response.Name = "f" }, `"f" is both a factor and a column`},
		{func(d *Design) { d.Covariates[1] = Factor{Name: "f"}.dummy("a") }, `add up to 1, and so does the intercept: leave one of them out, such as "fa"`},
	} {
		d := good()
		c.edit(d)
		must.Fail(t, d.Validate(), c.want)
	}
	full := good()
	full.Intercept = false
	full.Covariates = append(full.Covariates, Factor{Name: "f"}.dummy("a"), Factor{Name: "g"}.dummy("a"), Factor{Name: "g"}.dummy("b"))
	full.Factors = append(full.Factors, Factor{"g", []string{"a", "b"}})
	must.Fail(t, full.Validate(), `all levels of "g" add up to 1, and so does all levels of "f"`)
}

func TestFactorJSON(t *testing.T) {
	d := must.Get(people(t).Design("income ~ sex + owner"))(t)
	got, err := json.Marshal(d)
	const want = `{"response":{"name":"income","lower":0,"upper":100000},"covariates":[{"name":"sexm","lower":0,"upper":1,"factor":"sex","level":"m"},` +
		`{"name":"owner","lower":0,"upper":1,"type":"boolean"}],"factors":[{"name":"sex","levels":["f","m"]}],"intercept":true}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}
