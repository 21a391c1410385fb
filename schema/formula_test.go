package schema

import (
	"reflect"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

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
