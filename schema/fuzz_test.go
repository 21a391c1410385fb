package schema

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

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
