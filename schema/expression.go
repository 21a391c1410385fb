package schema

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// expression is a function of the columns of a row, such as log(x + 1): what a term of a formula is.
// It is evaluated at a row, and over a box of columns by interval arithmetic.
type expression struct {
	op     op
	name   string // of a column or a function
	number float64
	args   []*expression
}

type op int

const (
	constant op = iota
	variable
	bracketed
	negated
	sum
	difference
	productOf
	quotientOf
	powerOf
	called   // a function
	scaled   // (x - c)/h of the column's bounds
	legendre // of degree number in (x - c)/h; name says of which poly(x, k)
	monomial // likewise x^number
)

// signs of operations, as R writes them.
var signs = map[op]string{sum: " + ", difference: " - ", productOf: " * ", quotientOf: "/", powerOf: "^"}

// increasing functions, and from where on they are defined.
var increasing = map[string]struct {
	at    func(float64) float64
	above float64
}{
	"log": {math.Log, 0}, "log2": {math.Log2, 0}, "log10": {math.Log10, 0}, "log1p": {math.Log1p, -1},
	"sqrt": {math.Sqrt, math.Inf(-1)}, "exp": {math.Exp, math.Inf(-1)}, identity: {func(x float64) float64 { return x }, math.Inf(-1)},
}

// String is the expression as R writes it.
func (e *expression) String() string {
	switch e.op {
	case constant:
		return strconv.FormatFloat(e.number, 'g', -1, 64)
	case variable:
		return quoteName(e.name)
	case bracketed:
		return "(" + e.args[0].String() + ")"
	case negated:
		return "-" + e.args[0].String()
	case called:
		return e.name + "(" + e.args[0].String() + ")"
	case scaled:
		return "scale(" + e.args[0].String() + ")"
	case legendre, monomial:
		return fmt.Sprintf("poly(%s, %s)%v", e.args[0], e.name, e.number)
	}
	return e.args[0].String() + signs[e.op] + e.args[1].String()
}

// variables lists the columns that it is of, each once.
func (e *expression) variables(names []string) []string {
	if e.op == variable && !slices.Contains(names, e.name) {
		names = append(names, e.name)
	}
	for _, a := range e.args {
		names = a.variables(names)
	}
	return names
}

// at evaluates it, columns being looked up by name with their bounds. The middle and half of a
// column's width are those of its frame with an intercept.
func (e *expression) at(value func(name string) float64, column func(name string) Column) float64 {
	arg := func(i int) float64 { return e.args[i].at(value, column) }
	switch e.op {
	case constant:
		return e.number
	case variable:
		return value(e.name)
	case bracketed:
		return arg(0)
	case negated:
		return -arg(0)
	case sum:
		return arg(0) + arg(1)
	case difference:
		return arg(0) - arg(1)
	case productOf:
		return arg(0) * arg(1)
	case quotientOf:
		return arg(0) / arg(1)
	case powerOf:
		return math.Pow(arg(0), arg(1))
	case scaled, legendre:
		c := column(e.args[0].name)
		t := (arg(0) - (c.Lower/2 + c.Upper/2)) / (c.Upper/2 - c.Lower/2)
		if e.op == scaled {
			return t
		}
		return legendreAt(int(e.number), t)
	case monomial:
		return math.Pow(arg(0), e.number)
	case called:
		if e.name == "abs" {
			return math.Abs(arg(0))
		}
		return increasing[e.name].at(arg(0))
	}
	panic("schema: no such operation")
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

// interval is where an expression's values lie.
type interval struct{ lower, upper float64 }

func hull(values ...float64) interval { return interval{slices.Min(values), slices.Max(values)} }

// over bounds the expression over the box of its columns: each operation over the intervals of
// its arguments, so that x - x has the bounds of x - y.
func (e *expression) over(column func(name string) Column) (interval, error) {
	var args []interval
	for _, a := range e.args {
		i, err := a.over(column)
		if err != nil {
			return i, err
		}
		args = append(args, i)
	}
	bad := func(what string) (interval, error) {
		return interval{}, fmt.Errorf("%s %s, and by the public bounds of its columns %s lies between %v and %v", e, what, e.args[len(e.args)-1], args[len(args)-1].lower, args[len(args)-1].upper)
	}
	var a, b interval
	if len(args) > 0 {
		a, b = args[0], args[len(args)-1]
	}
	switch e.op {
	case constant:
		return interval{e.number, e.number}, nil
	case variable:
		c := column(e.name)
		return interval{c.Lower, c.Upper}, nil
	case bracketed:
		return a, nil
	case negated:
		return interval{-a.upper, -a.lower}, nil
	case sum:
		return interval{a.lower + b.lower, a.upper + b.upper}, nil
	case difference:
		return interval{a.lower - b.upper, a.upper - b.lower}, nil
	case productOf:
		return hull(a.lower*b.lower, a.lower*b.upper, a.upper*b.lower, a.upper*b.upper), nil
	case quotientOf:
		if b.lower <= 0 && b.upper >= 0 {
			return bad("is infinite where its divisor is 0")
		}
		return hull(a.lower/b.lower, a.lower/b.upper, a.upper/b.lower, a.upper/b.upper), nil
	case powerOf:
		return e.overPower(a, b)
	case monomial:
		return e.overPower(a, interval{e.number, e.number})
	case scaled:
		return interval{-1, 1}, nil
	case legendre:
		if e.number == 2 {
			return interval{-0.5, 1}, nil
		}
		return interval{-1, 1}, nil
	}
	if e.name == "abs" {
		low := 0.0
		if a.lower > 0 || a.upper < 0 {
			low = min(math.Abs(a.lower), math.Abs(a.upper))
		}
		return interval{low, max(math.Abs(a.lower), math.Abs(a.upper))}, nil
	}
	f := increasing[e.name]
	if a.lower <= f.above || e.name == "sqrt" && a.lower < 0 {
		return bad(fmt.Sprintf("is infinite or undefined at %v", a.lower))
	}
	return interval{f.at(a.lower), f.at(a.upper)}, nil
}

// overPower bounds a^b: of a whole number b any a, where a^b is monotone in a > 0 and in a < 0;
// of others a > 0, where it is monotone in each.
func (e *expression) overPower(a, b interval) (interval, error) {
	whole := b.lower == b.upper && b.lower == math.Trunc(b.lower)
	switch {
	case a.lower < 0 && !whole:
		return interval{}, fmt.Errorf("%s is undefined where %s is below 0, and by the public bounds it may be %v", e, e.args[0], a.lower)
	case a.lower <= 0 && a.upper >= 0 && b.lower < 0:
		return interval{}, fmt.Errorf("%s is infinite where %s is 0, and the public bounds allow that", e, e.args[0])
	}
	out := hull(math.Pow(a.lower, b.lower), math.Pow(a.lower, b.upper), math.Pow(a.upper, b.lower), math.Pow(a.upper, b.upper))
	if whole && a.lower < 0 && a.upper > 0 && math.Mod(b.lower, 2) == 0 {
		out.lower = min(out.lower, math.Pow(0, b.lower))
	}
	return out, nil
}

// expressionParser reads expressions of a formula's tokens.
type expressionParser struct{ tokens []token }

func (p *expressionParser) next() token { return p.tokens[0] }

// take takes the next token; the last one, end, stays.
func (p *expressionParser) take() token {
	t := p.tokens[0]
	if len(p.tokens) > 1 {
		p.tokens = p.tokens[1:]
	}
	return t
}

// is tells whether the next token is one of these signs.
func (p *expressionParser) is(signs ...string) bool {
	return !p.next().name && slices.Contains(signs, p.next().text)
}

// expect takes a sign.
func (p *expressionParser) expect(sign string) error {
	if !p.is(sign) {
		return refuse("%s stands where `%s` should", p.next(), sign)
	}
	p.take()
	return nil
}

func (p *expressionParser) sum() (*expression, error) {
	return p.binary(p.product, map[string]op{"+": sum, "-": difference})
}

func (p *expressionParser) product() (*expression, error) {
	return p.binary(p.signed, map[string]op{"*": productOf, "/": quotientOf})
}

func (p *expressionParser) binary(operand func() (*expression, error), ops map[string]op) (*expression, error) {
	e, err := operand()
	for err == nil && !p.next().name {
		kind, ok := ops[p.next().text]
		if !ok {
			break
		}
		p.take()
		var other *expression
		other, err = operand()
		e = &expression{op: kind, args: []*expression{e, other}}
	}
	return e, err
}

func (p *expressionParser) signed() (*expression, error) {
	if p.is("-") {
		p.take()
		e, err := p.signed()
		return &expression{op: negated, args: []*expression{e}}, err
	}
	e, err := p.atom()
	if err != nil || !p.is("^") {
		return e, err
	}
	p.take()
	power, err := p.signed()
	return &expression{op: powerOf, args: []*expression{e, power}}, err
}

func (p *expressionParser) atom() (*expression, error) {
	t := p.take()
	switch {
	case t.name && p.is("("):
		return p.call(t.text)
	case t.name:
		return &expression{op: variable, name: t.text}, nil
	case t.text == "(":
		e, err := p.sum()
		if err == nil {
			err = p.expect(")")
		}
		return &expression{op: bracketed, args: []*expression{e}}, err
	}
	if v, err := ParseNumber(t.text); err == nil && t != end {
		return &expression{op: constant, number: v}, nil
	}
	return nil, refuse("%s stands where a column or a number should", t)
}

// call reads a function of an expression.
func (p *expressionParser) call(function string) (*expression, error) {
	if _, ok := increasing[function]; !ok && function != "abs" {
		return nil, refuse("there is no function %s(...): there are I, log, log2, log10, log1p, exp, sqrt, abs, poly, scale and factor", function)
	}
	p.take()
	e, err := p.sum()
	if err == nil {
		err = p.expect(")")
	}
	return &expression{op: called, name: function, args: []*expression{e}}, err
}

// identity is R's I: arithmetic within a formula.
const identity = "I"

// maxDegree bounds the degree of poly(x, k).
const maxDegree = 10

// poly reads what stands behind poly: (x, k), perhaps with raw = TRUE, and a degree behind it if
// one of the columns alone is meant.
func (p *expressionParser) poly() (all []*expression, err error) {
	wrong := refuse("poly(x, k) takes a column and a degree from 1 to %d, as in poly(x, 2) or poly(x, 2, raw = TRUE)", maxDegree)
	p.take()
	column := p.take()
	if !column.name || !p.is(",") {
		return nil, wrong
	}
	p.take()
	degree, err := strconv.Atoi(p.take().text)
	if err != nil || degree < 1 || degree > maxDegree {
		return nil, wrong
	}
	kind, text := legendre, strconv.Itoa(degree)
	if p.is(",") {
		p.take()
		if words := [3]string{p.take().text, p.take().text, p.take().text}; words != [3]string{"raw", "=", "TRUE"} {
			return nil, wrong
		}
		kind, text = monomial, text+", raw = TRUE"
	}
	if err := p.expect(")"); err != nil {
		return nil, err
	}
	for k := range degree {
		x := &expression{op: variable, name: column.text}
		all = append(all, &expression{op: kind, name: text, number: float64(k + 1), args: []*expression{x}})
	}
	if one, err := strconv.Atoi(p.next().text); err == nil && !p.next().name && one >= 1 && one <= degree {
		p.take()
		return all[one-1 : one], nil
	}
	return all, nil
}
