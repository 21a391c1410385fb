package schema

import (
	"math"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

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
