package schema

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dpreg/dpreg/internal/expression"
)

// What formulas add to expressions, by the name of the node.
const (
	scaled   = "scale"    // (x - c)/h of the column's bounds
	legendre = "legendre" // of degree Number in (x - c)/h
	monomial = "monomial" // x^Number
)

var language = expression.Language{Signs: "~+-*/^:(),=.", Refuse: refuse, Stray: strayIn, Known: isFunction}

var tilde, plus, minus, dot, open, zero, one = sign("~"), sign("+"), sign("-"), sign("."), sign("("), numeral("0"), numeral("1")

func sign(text string) expression.Token { return expression.Token{Text: text} }

func numeral(text string) expression.Token {
	return expression.Token{Text: text, Kind: expression.Number}
}

// parserOf splits a formula into words, whose names are such as columns may have.
func parserOf(text string) (*expression.Parser, error) {
	p, err := language.Parser(text)
	if err != nil {
		return nil, err
	}
	for _, t := range p.Tokens() {
		if err := checkTyped(t.Text); t.Name() && err != nil {
			return nil, refuse("between backquotes %v", err)
		}
	}
	return p, nil
}

// isFunction refuses a function that there is not.
func isFunction(function string) error {
	if expression.Functions[function] != nil {
		return nil
	}
	return refuse("there is no function %s(...): there are I, log, log2, log10, log1p, exp, sqrt, abs, poly, scale and factor", function)
}

// strayIn refuses the character that s begins with.
func strayIn(s string) error {
	r, _ := utf8.DecodeRuneInString(s)
	switch {
	case r == '|':
		return refuse("effects of groups, as in `(1 | group)`, are had by a release of each group and `dpreg infer A.json B.json ... --pooling partial`")
	case strings.ContainsRune("%<>", r):
		return refuse("%q is not supported: make such a column before the release", r)
	case r == '"' || r == '\'':
		return refuse("names stand in backquotes, not in %q", r)
	case r == '`' && stray.MatchString(s):
		return refuse("within backquotes a backslash may only stand before a backquote or a backslash")
	case r == '`':
		return refuse("a backquote is not closed")
	}
	return refuse("the character %q has no meaning here", r)
}

// stray is a backslash that stands for nothing.
var stray = regexp.MustCompile("\\\\(?:[^`\\\\]|$)")

// value evaluates what formulas add, columns being looked up by name with their bounds. The
// middle and half of a column's width are those of its frame with an intercept.
func value(e *expression.Node, at func(name string) float64, column func(name string) Column) float64 {
	return e.At(func(leaf *expression.Node) float64 {
		if leaf.Op == expression.Variable {
			return at(leaf.Name)
		}
		name := leaf.Args[0].Name
		x, c := at(name), column(name)
		t := (x - (c.Lower/2 + c.Upper/2)) / (c.Upper/2 - c.Lower/2)
		switch leaf.Name {
		case monomial:
			return math.Pow(x, leaf.Number)
		case legendre:
			return legendreAt(int(leaf.Number), t)
		}
		return t
	})
}

// legendreAt is P_k(t), by (k+1)P_{k+1} = (2k+1)tP_k − kP_{k−1}: orthogonal polynomials on [-1, 1].
func legendreAt(k int, t float64) float64 {
	before, now := 0.0, 1.0
	for i := range k {
		j := float64(i)
		before, now = now, ((2*j+1)*t*now-j*before)/(j+1)
	}
	return now
}

// call reads what stands behind a function's name: of poly(x, k) all that it stands for.
func call(p *expression.Parser, function string) ([]*expression.Node, error) {
	var e *expression.Node
	var err error
	switch function {
	case "poly":
		return poly(p)
	case scaled:
		e, err = scale(p)
	default:
		e, err = p.Call(function)
	}
	return []*expression.Node{e}, err
}

// scale reads what stands behind scale: the name of a column.
func scale(p *expression.Parser) (*expression.Node, error) {
	column, err := ofColumn(p, scaled)
	x := variable(column)
	return &expression.Node{Op: expression.Own, Name: scaled, Args: []*expression.Node{x}, Text: "scale(" + x.String() + ")"}, err
}

// ofColumn reads the name of a column in brackets, behind a function's name.
func ofColumn(p *expression.Parser, function string) (expression.Token, error) {
	p.Take()
	column := p.Take()
	if !column.Name() {
		return column, refuse("%s(...) takes the name of a column", function)
	}
	return column, p.Expect(")")
}

func variable(column expression.Token) *expression.Node {
	return &expression.Node{Op: expression.Variable, Name: column.Text}
}

// maxDegree bounds the degree of poly(x, k).
const maxDegree = 10

// poly reads what stands behind poly: (x, k), perhaps with raw = TRUE, and a degree behind it if
// one of the columns alone is meant.
func poly(p *expression.Parser) (all []*expression.Node, err error) {
	wrong := refuse("poly(x, k) takes a column and a degree from 1 to %d, as in poly(x, 2) or poly(x, 2, raw = TRUE)", maxDegree)
	p.Take()
	column := p.Take()
	if !column.Name() || !p.Is(",") {
		return nil, wrong
	}
	p.Take()
	degree, err := strconv.Atoi(p.Take().Text)
	if err != nil || degree < 1 || degree > maxDegree {
		return nil, wrong
	}
	kind, text := legendre, strconv.Itoa(degree)
	if p.Is(",") {
		p.Take()
		if words := [3]string{p.Take().Text, p.Take().Text, p.Take().Text}; words != [3]string{"raw", "=", "TRUE"} {
			return nil, wrong
		}
		kind, text = monomial, text+", raw = TRUE"
	}
	if err := p.Expect(")"); err != nil {
		return nil, err
	}
	for k := range degree {
		x := variable(column)
		all = append(all, &expression.Node{Op: expression.Own, Name: kind, Number: float64(k + 1), Args: []*expression.Node{x},
			Text: fmt.Sprintf("poly(%s, %s)%d", x, text, k+1)})
	}
	if one, err := strconv.Atoi(p.Next().Text); err == nil && p.Next().Kind == expression.Number && one >= 1 && one <= degree {
		p.Take()
		return all[one-1 : one], nil
	}
	return all, nil
}

// interval is where an expression's values lie.
type interval struct{ lower, upper float64 }

func hull(values ...float64) interval { return interval{slices.Min(values), slices.Max(values)} }

// over bounds an expression over the box of its columns: each operation over the intervals of
// its arguments, so that x - x has the bounds of x - y.
func over(e *expression.Node, column func(name string) Column) (interval, error) {
	var args []interval
	for _, a := range e.Args {
		i, err := over(a, column)
		if err != nil {
			return i, err
		}
		args = append(args, i)
	}
	bad := func(what string) (interval, error) {
		return interval{}, fmt.Errorf("%s %s, and by the public bounds of its columns %s lies between %v and %v", e, what, e.Args[len(e.Args)-1], args[len(args)-1].lower, args[len(args)-1].upper)
	}
	var a, b interval
	if len(args) > 0 {
		a, b = args[0], args[len(args)-1]
	}
	switch e.Op {
	case expression.Constant:
		return interval{e.Number, e.Number}, nil
	case expression.Variable:
		c := column(e.Name)
		return interval{c.Lower, c.Upper}, nil
	case expression.Bracketed:
		return a, nil
	case expression.Negated:
		return interval{-a.upper, -a.lower}, nil
	case expression.Sum:
		return interval{a.lower + b.lower, a.upper + b.upper}, nil
	case expression.Difference:
		return interval{a.lower - b.upper, a.upper - b.lower}, nil
	case expression.Product:
		return hull(a.lower*b.lower, a.lower*b.upper, a.upper*b.lower, a.upper*b.upper), nil
	case expression.Quotient:
		if b.lower <= 0 && b.upper >= 0 {
			return bad("is infinite where its divisor is 0")
		}
		return hull(a.lower/b.lower, a.lower/b.upper, a.upper/b.lower, a.upper/b.upper), nil
	case expression.Power:
		return overPower(e, a, b)
	case expression.Own:
		switch {
		case e.Name == monomial:
			return overPower(e, a, interval{e.Number, e.Number})
		case e.Name == legendre && e.Number == 2:
			return interval{-0.5, 1}, nil
		}
		return interval{-1, 1}, nil
	}
	if e.Name == "abs" {
		low := 0.0
		if a.lower > 0 || a.upper < 0 {
			low = min(math.Abs(a.lower), math.Abs(a.upper))
		}
		return interval{low, max(math.Abs(a.lower), math.Abs(a.upper))}, nil
	}
	if above, ok := poles[e.Name]; ok && a.lower <= above || e.Name == "sqrt" && a.lower < 0 {
		return bad(fmt.Sprintf("is infinite or undefined at %v", a.lower))
	}
	f := expression.Functions[e.Name] // which increases
	return interval{f(a.lower), f(a.upper)}, nil
}

// overPower bounds a^b: of a whole number b any a, where a^b is monotone in a > 0 and in a < 0;
// of others a > 0, where it is monotone in each.
func overPower(e *expression.Node, a, b interval) (interval, error) {
	whole := b.lower == b.upper && b.lower == math.Trunc(b.lower)
	switch {
	case a.lower < 0 && !whole:
		return interval{}, fmt.Errorf("%s is undefined where %s is below 0, and by the public bounds it may be %v", e, e.Args[0], a.lower)
	case a.lower <= 0 && a.upper >= 0 && b.lower < 0:
		return interval{}, fmt.Errorf("%s is infinite where %s is 0, and the public bounds allow that", e, e.Args[0])
	}
	out := hull(math.Pow(a.lower, b.lower), math.Pow(a.lower, b.upper), math.Pow(a.upper, b.lower), math.Pow(a.upper, b.upper))
	if whole && a.lower < 0 && a.upper > 0 && math.Mod(b.lower, 2) == 0 {
		out.lower = min(out.lower, math.Pow(0, b.lower))
	}
	return out, nil
}

// poles are where functions are infinite, and below undefined.
var poles = map[string]float64{"log": 0, "log2": 0, "log10": 0, "log1p": -1}
