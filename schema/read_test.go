package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/dpreg/dpreg/internal/must"
)

func TestReadSchema(t *testing.T) {
	const text = "\ufeff" + `{"$schema":"x","missingValues":["","NA"],"primaryKey":"id","fields":[
		{"name":"id","title":"row","constraints":{"required":true,"unique":true}},
		{"name":"town","type":"string","constraints":{"enum":["a","b"],"minimum":"a"}},
		{"name":"when","type":"date","constraints":{"minimum":"2020-01-01"}},
		{"name":"x","type":"integer","constraints":{"minimum":-1e2,"maximum":null}},
		{"name":"X","type":"number","rdfType":"u","constraints":{"minimum":-0.5,"maximum":1.25e1}}]}` + "\n"
	s := must.Get(ReadSchema(strings.NewReader(text), "s.json"))(t)
	if len(s.Columns) != 5 || s.Columns[1].Type != "string" || s.Columns[2].Type != "date" {
		t.Fatalf("got %+v", s.Columns)
	}
	if c := s.Columns[1]; !slices.Equal(c.Levels, []string{"a", "b"}) {
		t.Errorf("town: got %+v", c)
	}
	if c := s.Columns[3]; c.Type != "" || c.Lower != -100 || c.Bounded() {
		t.Errorf("x: got %+v", c)
	}
	for _, c := range []struct {
		upper string
		want  bool
	}{{"1", true}, {"1.0", true}, {"2", false}, {"null", false}} {
		s, err := ReadSchema(strings.NewReader(`{"fields":[{"name":"b","type":"integer","constraints":{"minimum":0,"maximum":`+c.upper+`}}]}`), "s.json")
		if err != nil || s.Columns[0].Boolean() != c.want {
			t.Errorf("an integer from 0 to %s: %+v, error %v", c.upper, s.Columns[0], err)
		}
	}
	if c := s.Columns[4]; !reflect.DeepEqual(c, Column{Name: "X", Lower: -0.5, Upper: 12.5}) {
		t.Errorf("X: got %+v", c)
	}
}

// factor is a schema of one field with these levels.
func factor(levels string) string {
	return `{"fields":[{"name":"f","type":"string","constraints":{"enum":` + levels + `}}]}`
}

// field is a schema of one field with these constraints.
func field(constraints string) string {
	return `{"fields":[{"name":"x","type":"number","constraints":` + constraints + `}]}`
}

func TestReadSchemaRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "ends too early"},
		{`{"fields":[`, "ends too early"},
		{"{\n\"fields\" 1}", "line 2: not valid JSON"},
		{`{"fields":[1,]}`, "not valid JSON"},
		{"59,1,secret\n", "follows the end"},
		{"secret,1\n", "not valid JSON"},
		{field("{}") + "\n}", "line 2: something follows"},
		{field("{}") + "null", "follows the end"},
		{"\xff{}", "not valid UTF-8"},
		{strings.Repeat(" ", maxFile+1), "1 MB"},
		{strings.Repeat("[", 1e5), "deeper than"},
		{`[]`, "not a table schema"},
		{`{}`, `"fields" must be a list`},
		{`{"fields":[]}`, `"fields" must be a list`},
		{`{"Fields":[{"name":"x"}]}`, `"fields" must be a list`},
		{`{"fields":{"name":"x"}}`, `"fields" must be a list`},
		{`{"fields":["x"]}`, "field 1: want a JSON object"},
		{`{"fields":[{"name":"x"},{"type":"number"}]}`, `field 2: "name" is missing`},
		{`{"fields":[{"name":7}]}`, `field 1: "name" is missing or no string`},
		{`{"fields":[{"name":""}]}`, "field 1: the name is empty"},
		{`{"fields":[{"name":"x "}]}`, "spaces around"},
		{`{"fields":[{"name":"a\u202eb"}]}`, `field 1: "a\u202eb": the name has U+202E in it`},
		{`{"fields":[{"name":"x"},{"name":"x"}]}`, `fields 1 and 2 have the same name, "x"`},
		{`{"fields":[{"name":"x","name":"y"}]}`, "a key stands twice"},
		{`{"fields":[{"name":"x","type":3}]}`, `field 1 ("x"): "type" must be a string`},
		{field(`[]`), `"constraints" must be an object`},
		{field(`{"minimum":"0","maximum":1}`), `field 1 ("x"): "minimum" must be a number`},
		{field(`{"minimum":0,"maximum":1e999}`), `field 1 ("x"): "maximum": not a finite`},
		{field(`{"minimum":0,"minimum":1}`), "a key stands twice"},
		{field(`{"minimum":1,"maximum":1}`), `field 1 ("x"): minimum 1 is not below maximum 1`},
		{field(`{"minimum":2,"maximum":1}`), "not below"},
		{field(`{"minimum":0,"maximum":1e300}`), "other units"},
		{field(`{"minimum":0,"maximum":NaN}`), "not valid JSON"},
		{factor(`[]`), `field 1 ("f"): "enum": a factor needs levels`},
		{factor(`["a"]`), `"enum": a factor needs at least two levels`},
		{factor(`["a","b","a"]`), `"enum": level "a" stands twice`},
		{factor(`["a",""]`), `"enum": level 2: the name is empty`},
		{factor(`["a"," b"]`), `"enum": level 2: " b": the name has spaces around it`},
		{factor(`["a","b\u0000"]`), `"enum": level 2: "b\x00": the name has control characters`},
		{factor(`["a",2]`), `"enum": level 2 is no string`},
		{factor(`["a",null]`), `"enum": level 2 is no string`},
		{factor(`"ab"`), `"enum" must be a list`},
		{factor(`[` + strings.Repeat(`"a",`, MaxColumns) + `"b"]`), "1001 levels are too many"},
		{`{"fields":[{"name":"b","type":"boolean","trueValues":["yes"]}]}`, `field 1 ("b"): "trueValues" is not supported`},
	} {
		_, err := ReadSchema(strings.NewReader(c.text), "s.json")
		must.Fail(t, err, "s.json: ", c.want)
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("error %q repeats the text of what may be data", err)
		}
	}
	broken := errors.New("broken pipe")
	if _, err := ReadSchema(iotest.ErrReader(broken), "s.json"); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

// What ReadSchema accepts is JSON to encoding/json too, has sound columns, and
// comes back from its template.
func FuzzReadSchema(f *testing.F) {
	for _, path := range []string{"../testdata/pums.schema.json", "../testdata/cirrhosis.schema.json"} {
		text := must.Get(os.ReadFile(path))(f)
		f.Add(text)
	}
	f.Add([]byte(field(`{"minimum":-1e2,"maximum":null}`)))
	f.Add([]byte(`{"fields":[{"name":"x","type":"string","constraints":{"enum":["a","\u0062"]}},{"name":"\ud800"}]}`))
	f.Add([]byte(`{"fields":[1,]}`))
	f.Add([]byte(`{"fields":[{"name":"x","type":"boolean"},{"name":"y","type":"string","constraints":{"enum":["a","a"]}}]}`))
	f.Add([]byte(`{"fields":[{"name":"x","type":"boolean","trueValues":["y"]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ReadSchema(bytes.NewReader(text), "s.json")
		if err != nil {
			return
		}
		if !json.Valid(bytes.TrimPrefix(text, []byte("\ufeff"))) {
			t.Fatal("accepted what is no JSON")
		}
		for _, c := range s.Columns {
			if CheckName(c.Name) != nil || c.Bounded() && c.checkBounds() != nil {
				t.Fatalf("accepted %+v", c)
			}
		}
		var b bytes.Buffer
		must.Do(t, s.WriteTemplate(&b))
		back := must.Get(ReadSchema(&b, "template"))(t)
		for i, c := range back.Columns {
			want := s.Columns[i]
			if !c.Bounded() && !want.Bounded() { // NaN is not equal to itself, and one bound alone may be lost
				c.Lower, c.Upper, want.Lower, want.Upper = 0, 0, 0, 0
			}
			if !reflect.DeepEqual(c, want) {
				t.Fatalf("got %+v, want %+v", c, want)
			}
		}
	})
}

// What ParseFormula accepts has a covariate and comes back from its string.
func FuzzParseFormula(f *testing.F) {
	for _, text := range []string{
		"y ~ x1 + x2", "y ~ .", "y ~ . - 1", "y ~ 0 + x", "`a b` ~ `c\\`d` + 1", "y ~ I(x^2)", "log(y) ~ a:b*c", "y ~ x | g %in% h",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		formula, err := ParseFormula(text)
		if err != nil {
			return
		}
		if formula.Response == "" || formula.All == (len(formula.Terms) > 0) {
			t.Fatalf("%q: accepted %+v", text, formula)
		}
		back, err := ParseFormula(formula.String())
		if err != nil || !reflect.DeepEqual(back, formula) {
			t.Fatalf("%q written as %q: got %+v, %v", text, formula, back, err)
		}
	})
}

// What ParseBounds accepts makes columns that a design can use.
func FuzzParseBounds(f *testing.F) {
	for _, text := range []string{"x=0:40", "x=-1e3:1e3,y=0:1", "a=b=.5:1.", "x=0x1p3:inf", "x=1_0:20", "=0:1,:"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		bounds, err := ParseBounds(text)
		if err != nil {
			return
		}
		if len(bounds) != strings.Count(text, ",")+1 {
			t.Fatalf("%q: %d bounds", text, len(bounds))
		}
		response := Column{Name: strings.Repeat("y", maxName), Lower: 0, Upper: 1}
		if bounds[len(bounds)-1].Name == response.Name {
			return
		}
		d := &Design{Response: response, Covariates: bounds}
		if err := d.Validate(); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	})
}
