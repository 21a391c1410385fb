package schema

import (
	"fmt"
	"math"
	"slices"

	"github.com/dpreg/dpreg/internal/expression"
)

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
