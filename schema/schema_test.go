package schema

import (
	"bytes"
	"math"
	"os"
	"reflect"
	"slices"
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
