package schema

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

// terms is a table with columns of every kind.
func termsTable() *Schema {
	return &Schema{Columns: []Column{
		{Name: "x", Lower: 1, Upper: 4}, {Name: "z", Lower: -1, Upper: 2}, {Name: "a b", Lower: 0, Upper: 10},
		{Name: "g", Type: typeString, Levels: []string{"u", "v", "w"}}, {Name: "h", Type: typeString, Levels: []string{"p", "q"}},
		{Name: "o", Type: typeBoolean, Lower: 0, Upper: 1}, {Name: "free", Lower: math.NaN(), Upper: math.NaN()}, {Name: "y", Lower: 0, Upper: 8},
	}}
}

// Columns have the names, and the order, that R's model.matrix gives them (4.5.0).
func TestTermNames(t *testing.T) {
	for formula, want := range map[string]string{
		"y ~ x*z":                       "x,z,x:z",
		"y ~ x:z + o":                   "o,x:z",
		"y ~ x*g":                       "x,gv,gw,x:gv,x:gw",
		"y ~ x:g":                       "x:gu,x:gv,x:gw",
		"y ~ x + x:g":                   "x,x:gv,x:gw",
		"y ~ g*h":                       "gv,gw,hq,gv:hq,gw:hq",
		"y ~ x*g - 1":                   "x,gu,gv,gw,x:gv,x:gw",
		"y ~ x:g - 1":                   "x:gu,x:gv,x:gw",
		"y ~ log(x + 1)*z":              "log(x + 1),z,log(x + 1):z",
		"y ~ poly(x, 2)":                "poly(x, 2)1,poly(x, 2)2",
		"y ~ poly(x,2,raw=TRUE):z":      "poly(x, 2, raw = TRUE)1:z,poly(x, 2, raw = TRUE)2:z",
		"y~I(x^2/3-2*z)+sqrt( x )":      "I(x^2/3 - 2 * z),sqrt(x)",
		"y ~ g:x":                       "gu:x,gv:x,gw:x",
		"y ~ scale(x) + factor(g)":      "scale(x),gv,gw",
		"y ~ x*z*g":                     "x,z,gv,gw,x:z,x:gv,x:gw,z:gv,z:gw,x:z:gv,x:z:gw",
		"y ~ g + g:h - 1":               "gu,gv,gw,gu:hq,gv:hq,gw:hq",
		"y ~ poly(x, 2):g":              "poly(x, 2)1:gu,poly(x, 2)2:gu,poly(x, 2)1:gv,poly(x, 2)2:gv,poly(x, 2)1:gw,poly(x, 2)2:gw",
		"log(y + 1) ~ I(`a b`^2) + z:o": "I(`a b`^2),z:o",
	} {
		d, err := termsTable().Design(formula)
		if err != nil {
			t.Errorf("%s: %v", formula, err)
			continue
		}
		if got := strings.Join(Names(d.Covariates), ","); got != want {
			t.Errorf("%s makes %s, want %s", formula, got, want)
		}
		// A file has all that is needed, and a model of it is the model.
		text := must.Get(json.Marshal(d))(t)
		var back Design
		if err := json.Unmarshal(text, &back); err != nil || back.Validate() != nil {
			t.Errorf("%s: %v, %v\n%s", formula, err, back.Validate(), text)
		}
		for _, again := range []string{back.Formula().String(), formula} {
			same, err := back.Select(again)
			if err != nil || same.Formula().String() != d.Formula().String() || len(same.Sources) != len(d.Sources) || len(same.Factors) != len(d.Factors) {
				t.Errorf("%s: of its file %s: %v", formula, again, err)
			}
		}
	}
}

// Columns are what their terms say, clamped or not, and lie between their bounds, which are
// attained where each variable stands once.
func TestTermValues(t *testing.T) {
	d := must.Get(termsTable().Design("log(y + 1) ~ I(-x^2 + 2*z) + sqrt(`a b`) + poly(z, 3) + scale(x) + exp(z):g + o:h + abs(z) + I((z - 1)/(x + 1)) + log10(x) + log1p(x) + I(`a b` * z) + I(2^z)"))(t)
	legendre := func(z float64) (p1, p2, p3 float64) {
		s := (z - 0.5) / 1.5
		return s, 1.5*s*s - 0.5, 2.5*s*s*s - 1.5*s
	}
	for _, clamp := range []bool{true, false} {
		m := must.Get(d.Maker(d.Columns(), clamp))(t)
		rng, at := rand.New(rand.NewPCG(1, 2)), map[string]int{}
		for i, c := range m.Columns {
			at[c.Name] = i
		}
		for range 200 {
			base, row := make([]float64, len(m.Columns)), make([]float64, len(d.Columns()))
			x, z, ab, y := 1+3*rng.Float64(), -1+3*rng.Float64(), 10*rng.Float64(), 8*rng.Float64()
			base[at["x"]], base[at["z"]], base[at["a b"]], base[at["y"]] = x, z, ab, y
			g, h, o := rng.IntN(3), rng.IntN(2), float64(rng.IntN(2))
			for i, name := range []string{"gu", "gv", "gw"} {
				if i == g {
					base[at[name]] = 1
				}
			}
			for i, name := range []string{"hp", "hq"} {
				if i == h {
					base[at[name]] = 1
				}
			}
			base[at["o"]] = o
			if clamp {
				base[at["x"]] -= 100 * float64(rng.IntN(2))
				x = max(1, base[at["x"]])
			}
			m.Row(row, base)
			p1, p2, p3 := legendre(z)
			want := map[string]float64{"I(-x^2 + 2 * z)": -x*x + 2*z, "sqrt(`a b`)": math.Sqrt(ab), "poly(z, 3)1": p1, "poly(z, 3)2": p2, "poly(z, 3)3": p3,
				"scale(x)": (x - 2.5) / 1.5, "exp(z):gv": 0, "exp(z):gu": 0, "exp(z):gw": 0, "o:hp": 0, "o:hq": 0, "abs(z)": math.Abs(z), "I((z - 1)/(x + 1))": (z - 1) / (x + 1),
				"log10(x)": math.Log10(x), "log1p(x)": math.Log(1 + x), "I(`a b` * z)": ab * z, "I(2^z)": math.Exp2(z), "log(y + 1)": math.Log(y + 1)}
			want["exp(z):g"+[]string{"u", "v", "w"}[g]] = math.Exp(z)
			want["o:h"+[]string{"p", "q"}[h]] = o
			for j, c := range d.Columns() {
				if w, ok := want[c.Name]; !ok || math.Abs(row[j]-w) > 1e-12 {
					t.Fatalf("%s is %v, want %v (%v)", c.Name, row[j], w, ok)
				}
				if row[j] < c.Lower-1e-12 || row[j] > c.Upper+1e-12 {
					t.Fatalf("%s is %v, outside %v:%v", c.Name, row[j], c.Lower, c.Upper)
				}
			}
		}
	}
	for name, want := range map[string]interval{
		"I(-x^2 + 2 * z)": {-18, 3}, "sqrt(`a b`)": {0, math.Sqrt(10)}, "poly(z, 3)2": {-0.5, 1}, "exp(z):gv": {0, math.Exp(2)}, "abs(z)": {0, 2},
		"I((z - 1)/(x + 1))": {-1, 0.5}, "I(`a b` * z)": {-10, 20}, "I(2^z)": {0.5, 4}, "o:hq": {0, 1},
	} {
		c := d.Covariates[Index(d.Covariates, name)]
		if math.Abs(c.Lower-want.lower) > 1e-12 || math.Abs(c.Upper-want.upper) > 1e-12 {
			t.Errorf("%s has the bounds %v:%v, want %v", name, c.Lower, c.Upper, want)
		}
	}
}

func TestTermsRefused(t *testing.T) {
	for formula, want := range map[string]string{
		"y ~ log(z)":            "is infinite or undefined at -1",
		"log(y) ~ x":            "at 0",
		"y ~ sqrt(z)":           "undefined at -1",
		"y ~ I(1/z)":            "divisor is 0",
		"y ~ I(z^-1)":           "infinite where z is 0",
		"y ~ I(z^0.5)":          "undefined where z is below 0",
		"y ~ I(z^x)":            "undefined where z",
		"y ~ exp(I(x^9))":       "not finite",
		"y ~ I(x - x + 1 - 1)":  "linear function",
		"y ~ log(free)":         "no bounds for \"free\"",
		"y ~ log(g)":            "categorical",
		"y ~ log(nothing)":      `no column "nothing"`,
		"y ~ x + I(2*x + 1)":    "linear function of the covariates before it",
		"y ~ poly(x, 2) + x":    "\"x\" is a linear function",
		"y ~ o + I(o^2)":        "linear function",
		"y ~ g:h":               "linear function",
		"y ~ x + scale(x) - 1":  "",
		"y ~ I(x*0 + 2)":        "everywhere",
		"y ~ factor(x)":         "has no levels",
		"g:x ~ z":               "one column",
		"y ~ x + I(x)":          "linear function",
		"y ~ log(x) + log( x )": "given twice",
		"y ~ log2(x) + log(x)":  "linear function",
	} {
		_, err := termsTable().Design(formula)
		if want == "" && err == nil {
			continue
		}
		must.Fail(t, err, want)
	}
}

// A file whose terms are not what they say is refused.
func TestTermFileRefused(t *testing.T) {
	for want, change := range map[string]func(d *Design){
		"must have the name":        func(d *Design) { d.Covariates[0].Name = "other" },
		"cannot have the bounds":    func(d *Design) { d.Covariates[0].Upper = 1 },
		"none of the sources":       func(d *Design) { d.Sources = d.Sources[1:] },
		"no term is made":           func(d *Design) { d.Sources = append(d.Sources, Column{Name: "w", Lower: 0, Upper: 1}) },
		"stands twice":              func(d *Design) { d.Sources = append(d.Sources, d.Sources[0]) },
		"must be written":           func(d *Design) { d.Covariates[0].Name, d.Covariates[0].Term = "log( x)", []string{"log( x)"} },
		"no function":               func(d *Design) { d.Covariates[0].Name, d.Covariates[0].Term = "system(x)", []string{"system(x)"} },
		"is infinite or undefined":  func(d *Design) { d.Sources[0].Lower = -1 },
		"is not below upper bound":  func(d *Design) { d.Sources[0].Lower = 9 },
		"is several columns":        func(d *Design) { d.Covariates[0].Name, d.Covariates[0].Term = "poly(x, 2)", []string{"poly(x, 2)"} },
		"behind a factor of a term": func(d *Design) { d.Covariates[0].Name, d.Covariates[0].Term = "x x", []string{"x x"} },
		"no type":                   func(d *Design) { d.Covariates[0].Type = typeBoolean; d.Covariates[0].Lower = -1 },
	} {
		d := must.Get(termsTable().Design("y ~ log(x) + z:o"))(t)
		change(d)
		if err := d.Validate(); err == nil || !strings.Contains(err.Error(), want) && want != "no type" {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A model of a release's columns has only the terms that are there.
func TestTermSelect(t *testing.T) {
	d := must.Get(termsTable().Design("y ~ log(x) + x*g + poly(z, 2)"))(t)
	for formula, want := range map[string][]string{
		"y ~ log(x)":            {"log(x)"},
		"log(x) ~ y + gv":       {"y", "gv"},
		"y ~ poly(z, 2)":        {"poly(z, 2)1", "poly(z, 2)2"},
		"y ~ poly(z, 2)1":       {"poly(z, 2)1"},
		"y ~ g*x":               {"gv", "gw", "x", "x:gv", "x:gw"},
		"y ~ x:gv":              {"x:gv"},
		"y ~ gv:x":              {"x:gv"},
		"y ~ log(x) + x:gv + g": {"log(x)", "gv", "gw", "x:gv"},
	} {
		got, err := d.Select(formula)
		if err != nil {
			t.Errorf("%s: %v", formula, err)
			continue
		}
		if names := Names(got.Covariates); !slices.Equal(names, want) {
			t.Errorf("%s takes %q, want %q", formula, names, want)
		}
		if err := got.Validate(); err != nil {
			t.Errorf("%s: %v", formula, err)
		}
	}
	for formula, want := range map[string]string{
		"y ~ log(z)":     "only the custodian",
		"y ~ I(x^2)":     "only the custodian",
		"y ~ z":          `no column "z"`,
		"y ~ poly(z, 3)": "only the custodian",
		"log(y) ~ x":     "only the custodian",
	} {
		must.Fail(t, must.Err(d.Select(formula)), want)
	}
}

// A term's name may be typed with other spaces than its own, but for those in backquotes.
func TestBegins(t *testing.T) {
	for _, c := range []struct {
		text, name string
		want       int
	}{
		{"log(age + 1) > 0", "log(age + 1)", 12}, {"log(age+1) > 0", "log(age + 1)", 10}, {"log( age  +1)", "log(age + 1)", 13},
		{"log(age + 2)", "log(age + 1)", 0}, {"log(age", "log(age + 1)", 0}, {"log(age + 10)", "log(age + 1)", 0},
		{"log(`my age`+1)", "log(`my age` + 1)", 15}, {"log(`myage`+1)", "log(`my age` + 1)", 0}, {"log(`my  age`+1)", "log(`my age` + 1)", 0},
	} {
		if got := Begins(c.text, c.name); got != c.want {
			t.Errorf("%q, %q: %d, want %d", c.text, c.name, got, c.want)
		}
	}
}
