package ask

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/dpreg/dpreg/internal/expression"
)

// value is an expression of parameters.
type value struct {
	at func(draw []float64) float64

	// affine is the expression as wᵀθ + c, w of one number for each coefficient and c behind
	// them; nil where it is none.
	affine []float64
}

// constant is a number.
func (n *names) constant(v float64) value {
	w := make([]float64, len(n.theta)+1)
	w[len(n.theta)] = v
	return value{func([]float64) float64 { return v }, w}
}

// isNumber tells whether an affine expression is a number.
func isNumber(affine []float64) (float64, bool) {
	if affine == nil || slices.ContainsFunc(affine[:len(affine)-1], func(w float64) bool { return w != 0 }) {
		return 0, false
	}
	return affine[len(affine)-1], true
}

// combined is a·v + b·w.
func combined(a float64, v []float64, b float64, w []float64) []float64 {
	if v == nil || w == nil {
		return nil
	}
	out := slices.Clone(v)
	for i := range out {
		out[i] = a*v[i] + b*w[i]
	}
	return out
}

// less is v − w.
func (v value) less(w value) value {
	return value{func(draw []float64) float64 { return v.at(draw) - w.at(draw) }, combined(1, v.affine, -1, w.affine)}
}

// value finds what an expression of names is.
func (n *names) value(e *expression.Node) (value, error) {
	leaves := make(map[*expression.Node]value)
	if err := n.find(e, leaves); err != nil {
		return value{}, err
	}
	if v, leaf := leaves[e]; leaf {
		return v, nil
	}
	at := func(draw []float64) float64 {
		return e.At(func(leaf *expression.Node) float64 { return leaves[leaf].at(draw) })
	}
	return value{at, n.affine(e, leaves)}, nil
}

// find finds what the leaves of an expression are.
func (n *names) find(e *expression.Node, leaves map[*expression.Node]value) (err error) {
	switch {
	case !e.Leaf():
		for _, a := range e.Args {
			if err := n.find(a, leaves); err != nil {
				return err
			}
		}
	case e.Op == expression.Variable:
		leaves[e], err = n.parameter(e.Name, e.Quoted)
	case e.Op == expression.Level:
		leaves[e], err = n.ofLevel(e.Name, e.Text)
	default:
		leaves[e], err = n.ofColumns(e.Name, e.Args)
	}
	return err
}

// affine is an expression as wᵀθ + c, nil where it is none. A product is where one side is a number.
func (n *names) affine(e *expression.Node, leaves map[*expression.Node]value) []float64 {
	if e.Leaf() {
		return leaves[e].affine
	}
	var args [][]float64
	for _, a := range e.Args {
		args = append(args, n.affine(a, leaves))
	}
	zero := n.constant(0).affine
	switch e.Op {
	case expression.Constant:
		return n.constant(e.Number).affine
	case expression.Bracketed:
		return args[0]
	case expression.Negated:
		return combined(-1, args[0], 0, zero)
	case expression.Sum:
		return combined(1, args[0], 1, args[1])
	case expression.Difference:
		return combined(1, args[0], -1, args[1])
	case expression.Product:
		if c, ok := isNumber(args[0]); ok {
			return combined(c, args[1], 0, zero)
		}
		if c, ok := isNumber(args[1]); ok {
			return combined(c, args[0], 0, zero)
		}
	case expression.Quotient:
		if c, ok := isNumber(args[1]); ok {
			return combined(1/c, args[0], 0, zero)
		}
	}
	return nil
}

// statement is a question: one expression, or two or three between which relations stand.
type statement struct {
	sides     []value
	relations []string // <, > or =
}

// parse reads a question.
func (n *names) parse(text string) (s statement, err error) {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%q: %s", text, fmt.Sprintf(format, args...))
	}
	language := expression.Language{Signs: "+-*/^()<>=,", Levels: true, Special: n.special, Refuse: wrong, Known: isFunction}
	language.Stray = func(rest string) error {
		r, _ := utf8.DecodeRuneInString(rest)
		if r == '[' {
			return wrong("a bracket is not closed: a level is named as in g[level]")
		}
		return wrong("the character %q has no meaning here; names of other columns stand in backquotes", r)
	}
	p, err := language.Parser(text)
	if err != nil {
		return s, err
	}
	if p.Next() == expression.End {
		return s, wrong("there is nothing to answer")
	}
	for more := true; more; more = p.Is("<", ">", "=") {
		if len(s.sides) > 0 {
			s.relations = append(s.relations, p.Take().Text)
			if p.Is("=") { // <=, >= and == are no others where nothing is equal but with probability 0
				p.Take()
			}
		}
		side, err := p.Sum()
		if err != nil {
			return s, err
		}
		v, err := n.value(side)
		if err != nil {
			return s, wrong("%v", err)
		}
		s.sides = append(s.sides, v)
	}
	switch {
	case p.Next() != expression.End:
		return s, wrong("%s stands where an operator or the end should", p.Next())
	case len(s.relations) > 2 || len(s.relations) == 2 && slices.Contains(s.relations, "="):
		return s, wrong("it has too many relations: ask `a < b`, `a < b < c` or `a = b`")
	}
	return s, nil
}
