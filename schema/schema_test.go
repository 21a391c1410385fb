package schema

import (
	"bytes"
	"math"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

func readFile(t *testing.T, path string) *Schema {
	t.Helper()
	f := must.Get(os.Open(path))(t)
	defer f.Close()
	return must.Get(ReadSchema(f, path))(t)
}

func TestFromHeader(t *testing.T) {
	s := must.Get(FromHeader([]string{"", "x", "wine drunk", "y"}))(t)
	if len(s.Columns) != 3 || s.Columns[1].Name != "wine drunk" || s.Columns[0].Bounded() {
		t.Errorf("got %+v", s.Columns)
	}
	for _, c := range []struct {
		names []string
		want  string
	}{
		{nil, "no column has a name"},
		{[]string{"", ""}, "no column has a name"},
		{[]string{"secret", "y", "secret"}, "columns 1 and 3 have the same name"},
		{[]string{"x", "a\x00b"}, "column 2: the name has control characters"},
		{[]string{"x", "\xff"}, "column 2: the name is not valid UTF-8"},
		{[]string{" x"}, "spaces around"},
		{[]string{"x", "secret\u202e"}, "column 2: the name has U+202E in it"},
		{[]string{"secret\u200b"}, "column 1: the name has U+200B in it"},
		{[]string{"x", "secret\u3164"}, "column 2: the name has U+3164 in it"},
		{[]string{"x", "secret\u00a0"}, "column 2: the name has spaces around it (U+00A0)"},
		{[]string{"secret\u2028x"}, "column 1: the name has U+2028 in it"},
		{[]string{strings.Repeat("x", maxName+1)}, "longer than"},
	} {
		_, err := FromHeader(c.names)
		must.Fail(t, err, c.want)
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("error %q repeats a name that may be a cell", err)
		}
	}
}

func TestWithBounds(t *testing.T) {
	s := must.Get(FromHeader([]string{"x", "y"}))(t)
	b := must.Get(ParseBounds("x=0:40"))(t)
	out := must.Get(s.WithBounds(b))(t)
	if !reflect.DeepEqual(out.Columns[0], Column{Name: "x", Lower: 0, Upper: 40}) || out.Columns[1].Bounded() {
		t.Errorf("got %+v", out.Columns)
	}
	if s.Columns[0].Bounded() {
		t.Error("the receiver was changed")
	}
	must.Fail(t, must.Err(s.WithBounds(Bounds{{Name: "z", Lower: 0, Upper: 1}})), `no column "z"`, `"x", "y"`)
}

func TestTemplate(t *testing.T) {
	s := must.Get(FromHeader([]string{"x", `a "b" <&>`, "y"}))(t)
	s = must.Get(s.WithBounds(Bounds{{Name: "y", Lower: -1e-3, Upper: 1e21}}))(t)
	s.Columns = append(s.Columns, Column{Name: "town", Lower: math.NaN(), Upper: math.NaN(), Type: "string"},
		Column{Name: "sex", Lower: math.NaN(), Upper: math.NaN(), Type: "string", Levels: []string{"<f>", "m"}},
		Column{Name: "owner", Lower: 0, Upper: 1, Type: "boolean"})
	var b bytes.Buffer
	must.Do(t, s.WriteTemplate(&b))
	must.Say(t, b.String(), "\"minimum\": null,\n")
	back := must.Get(ReadSchema(&b, "template"))(t)
	for i, c := range back.Columns {
		want := s.Columns[i]
		if c.Name != want.Name || c.Type != want.Type || c.Bounded() != want.Bounded() || !slices.Equal(c.Levels, want.Levels) {
			t.Errorf("column %d: got %+v, want %+v", i, c, want)
		}
	}
	if !reflect.DeepEqual(back.Columns[2], s.Columns[2]) {
		t.Errorf("got %+v, want %+v", back.Columns[2], s.Columns[2])
	}
}

func TestShippedSchemas(t *testing.T) {
	pums := readFile(t, "../testdata/pums.schema.json")
	d := must.Get(pums.Design("income ~ educ"))(t)
	want := &Design{
		Response:   Column{Name: "income", Lower: 0, Upper: 500000},
		Covariates: []Column{{Name: "educ", Lower: 1, Upper: 16}},
		Intercept:  true,
	}
	if !reflect.DeepEqual(d, want) {
		t.Errorf("got %+v, want %+v", d, want)
	}
	d = must.Get(readFile(t, "../testdata/cirrhosis.schema.json").Design(""))(t)
	if d.Response.Name != "cirrhosis" || len(d.Covariates) != 4 || !d.Intercept {
		t.Errorf("got %+v", d)
	}
}

func TestParseBounds(t *testing.T) {
	got := must.Get(ParseBounds("x=0:40", "y=-1.5e3:+2E2, wine drunk = 0 : 1", "a=b=.5:1."))(t)
	want := Bounds{
		{Name: "x", Lower: 0, Upper: 40},
		{Name: "y", Lower: -1500, Upper: 200},
		{Name: "wine drunk", Lower: 0, Upper: 1},
		{Name: "a=b", Lower: 0.5, Upper: 1},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestParseBoundsRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "want NAME=LOWER:UPPER"},
		{"x", `bounds "x": want NAME=LOWER:UPPER`},
		{"x=0:1,", "want NAME=LOWER:UPPER"},
		{"x=", "want LOWER:UPPER"},
		{"x=0-1", "want LOWER:UPPER"},
		{"=0:1", "the name is empty"},
		{"x=:1", "lower bound: not a finite decimal number"},
		{"x=0:", "upper bound: not a finite decimal number"},
		{"x=0:1:2", "upper bound"},
		{"x=0:inf", "upper bound"},
		{"x=NaN:1", "lower bound"},
		{"x=0x1p3:9", "lower bound"},
		{"x=1_0:20", "lower bound"},
		{"x=0:1e999", "upper bound"},
		{"x=1:1", "lower bound 1 is not below upper bound 1"},
		{"x=2:1", "not below"},
		{"x=-1e300:1e300", "other units"},
		{"x=0:1e-300", "other units"},
		{"x=0:1,x=0:2", `"x" already has bounds`},
	} {
		must.Fail(t, must.Err(ParseBounds(c.text)), "bounds ", c.want)
	}
}

// A number is finite and what strconv reads; and nothing else is a number.
func FuzzParseNumber(f *testing.F) {
	for _, text := range []string{"-1.5", " 2e3 ", "1e999", "1e-999", "0x1p3", "1_0", "Inf", "nan", "+.5", "-", ".", "e5", "1e", "--1", "1 2", "\u0661", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := ParseNumber(text)
		if err != nil {
			if err != errNumber || !math.IsNaN(v) {
				t.Fatalf("%v, error %q", v, err)
			}
			return
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			t.Fatalf("%v is no number", v)
		}
		if again, err := ParseNumber(strconv.FormatFloat(v, 'g', -1, 64)); err != nil || again != v {
			t.Fatalf("%v is read back as %v, error %v", v, again, err)
		}
	})
}

func TestLevelsInQuotes(t *testing.T) {
	for list, want := range map[string][]string{
		`north, south,"west, new"`: {"north", "south", "west, new"},
		`2" pipe,"4"" pipe"`:       {`2" pipe`, `4" pipe`},
		`low , high`:               {"low", "high"},
	} {
		if b, err := ParseLevels("c=" + list); err != nil || !slices.Equal(b[0].Levels, want) {
			t.Errorf("%s: %v, %v", list, b, err)
		}
	}
	if _, err := ParseLevels("c="); err == nil {
		t.Error("no level was taken")
	}
}

// TestWithOther: a level that a factor has is its own, and that of no other factor; one that none has all get.
func TestWithOther(t *testing.T) {
	s := &Schema{Columns: []Column{{Name: "a", Levels: []string{"Low", "High"}}, {Name: "x", Upper: 1}, {Name: "b", Levels: []string{"no", "yes"}}}}
	for other, want := range map[string][][]string{
		"High": {{"Low", "High"}, nil, {"no", "yes"}},
		"rest": {{"Low", "High", "rest"}, nil, {"no", "yes", "rest"}},
	} {
		got := must.Get(s.WithOther(other))(t)
		for i, c := range got.Columns {
			if !slices.Equal(c.Levels, want[i]) {
				t.Errorf("%s: %s has %q", other, c.Name, c.Levels)
			}
		}
	}
}
