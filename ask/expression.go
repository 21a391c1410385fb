package ask

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
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
	w := make([]float64, n.q+1)
	w[n.q] = v
	return value{func([]float64) float64 { return v }, w}
}

// number tells whether the expression is a number.
func (v value) number() (float64, bool) {
	if v.affine == nil || slices.ContainsFunc(v.affine[:len(v.affine)-1], func(w float64) bool { return w != 0 }) {
		return 0, false
	}
	return v.affine[len(v.affine)-1], true
}

// plus is v + scale·w.
func (v value) plus(scale float64, w value) value {
	out := value{at: func(draw []float64) float64 { return v.at(draw) + scale*w.at(draw) }}
	if v.affine != nil && w.affine != nil {
		out.affine = slices.Clone(v.affine)
		for i, x := range w.affine {
			out.affine[i] += scale * x
		}
	}
	return out
}

// times is scale·v.
func (v value) times(scale float64) value {
	out := value{at: func(draw []float64) float64 { return scale * v.at(draw) }}
	for _, x := range v.affine {
		out.affine = append(out.affine, scale*x)
	}
	return out
}

// product, quotient and power are linear where one side is a number that leaves them so.
func product(v, w value) value {
	if c, ok := v.number(); ok {
		return w.times(c)
	}
	if c, ok := w.number(); ok {
		return v.times(c)
	}
	return value{at: func(draw []float64) float64 { return v.at(draw) * w.at(draw) }}
}

func quotient(v, w value) value {
	if c, ok := w.number(); ok {
		return v.times(1 / c)
	}
	return value{at: func(draw []float64) float64 { return v.at(draw) / w.at(draw) }}
}

func power(v, w value) value {
	return value{at: func(draw []float64) float64 { return math.Pow(v.at(draw), w.at(draw)) }}
}

// functions of numbers.
var functions = map[string]func(float64) float64{"exp": math.Exp, "log": math.Log, "sqrt": math.Sqrt, "abs": math.Abs}

// statement is a question: one expression, or two or three between which relations stand.
type statement struct {
	sides     []value
	relations []string // <, > or =
}

// word is a word of a question, and where it begins.
type word struct {
	text string
	kind kind
	at   int
}

type kind int

const (
	nothing kind = iota // the end
	mark
	numeral
	name   // of a parameter or a function
	quoted // a name that stood in backquotes
)

var (
	numerals = regexp.MustCompile(`^(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?`)
	plains   = regexp.MustCompile(`^(?:\p{L}|\.[\p{L}\p{M}._])[\p{L}\p{Nd}\p{M}._]*`)
	ticks    = regexp.MustCompile("^`(?:[^`\\\\]|\\\\[`\\\\])*`")
	levels   = regexp.MustCompile(`^\[\s*([^\[\]]*?)\s*\]`)
	untick   = strings.NewReplacer("\\\\", "\\", "\\`", "`")
)

// parser reads a question by descent.
type parser struct {
	*names
	text string
	next word
	end  int // of next
}

// wrong is an error about the question, at the next word.
func (p *parser) wrong(format string, args ...any) error {
	return fmt.Errorf("%q: %s", p.text, fmt.Sprintf(format, args...))
}

// advance reads the next word.
func (p *parser) advance() error {
	rest := strings.TrimLeft(p.text[p.end:], " \t\n")
	w := word{at: len(p.text) - len(rest)}
	switch {
	case rest == "":
	case p.special(rest) != "":
		w.text, w.kind = p.special(rest), quoted
		p.end = w.at + len(w.text)
	case numerals.MatchString(rest):
		w.text, w.kind = numerals.FindString(rest), numeral
		p.end = w.at + len(w.text)
	case plains.MatchString(rest):
		w.text, w.kind = plains.FindString(rest), name
		p.end = w.at + len(w.text)
	case ticks.MatchString(rest):
		text := ticks.FindString(rest)
		w.text, w.kind = untick.Replace(text[1:len(text)-1]), quoted
		p.end = w.at + len(text)
	default:
		r, size := utf8.DecodeRuneInString(rest)
		if !strings.ContainsRune("+-*/^()<>=,[", r) {
			return p.wrong("the character %q has no meaning here; names of other columns stand in backquotes", r)
		}
		w.text, w.kind = rest[:size], mark
		p.end = w.at + size
	}
	p.next = w
	return nil
}

// is tells whether the next word is one of these marks.
func (p *parser) is(marks string) bool {
	return p.next.kind == mark && strings.Contains(marks, p.next.text)
}

// parse reads a question.
func (n *names) parse(text string) (s statement, err error) {
	p := &parser{names: n, text: text}
	if err := p.advance(); err != nil {
		return s, err
	}
	if p.next.kind == nothing {
		return s, p.wrong("there is nothing to answer")
	}
	for {
		side, err := p.sum()
		if err != nil {
			return s, err
		}
		s.sides = append(s.sides, side)
		if !p.is("<>=") {
			break
		}
		relation := p.next.text
		if err := p.advance(); err != nil {
			return s, err
		}
		if p.is("=") { // <=, >= and == are no others where nothing is equal but with probability 0
			if err := p.advance(); err != nil {
				return s, err
			}
		}
		s.relations = append(s.relations, relation)
	}
	switch {
	case p.next.kind != nothing:
		return s, p.wrong("%q stands where an operator or the end should", p.next.text)
	case len(s.relations) > 2 || len(s.relations) == 2 && slices.Contains(s.relations, "="):
		return s, p.wrong("it has too many relations: ask `a < b`, `a < b < c` or `a = b`")
	}
	return s, nil
}

func (p *parser) sum() (value, error) {
	v, err := p.term()
	for err == nil && p.is("+-") {
		scale := 1.0
		if p.next.text == "-" {
			scale = -1
		}
		var w value
		if err = p.advance(); err == nil {
			w, err = p.term()
		}
		if err == nil {
			v = v.plus(scale, w)
		}
	}
	return v, err
}

func (p *parser) term() (value, error) {
	v, err := p.signed()
	for err == nil && p.is("*/") {
		combine := product
		if p.next.text == "/" {
			combine = quotient
		}
		var w value
		if err = p.advance(); err == nil {
			w, err = p.signed()
		}
		if err == nil {
			v = combine(v, w)
		}
	}
	return v, err
}

// signed is a power with signs before it, which bind less, as in −x^2.
func (p *parser) signed() (value, error) {
	if !p.is("+-") {
		return p.power()
	}
	scale := 1.0
	if p.next.text == "-" {
		scale = -1
	}
	if err := p.advance(); err != nil {
		return value{}, err
	}
	v, err := p.signed()
	return v.times(scale), err
}

func (p *parser) power() (value, error) {
	v, err := p.atom()
	if err != nil || !p.is("^") {
		return v, err
	}
	if err := p.advance(); err != nil {
		return v, err
	}
	w, err := p.signed()
	if err != nil {
		return v, err
	}
	return power(v, w), nil
}

func (p *parser) atom() (value, error) {
	w := p.next
	if err := p.advance(); err != nil {
		return value{}, err
	}
	switch {
	case w.kind == numeral:
		v, err := strconv.ParseFloat(w.text, 64)
		if err != nil {
			return value{}, p.wrong("%s is no number that fits", w.text)
		}
		return p.constant(v), nil
	case w.kind == mark && w.text == "(":
		v, err := p.sum()
		if err == nil {
			err = p.closed()
		}
		return v, err
	case w.kind == name && p.is("("):
		return p.call(w.text)
	case (w.kind == name || w.kind == quoted) && p.is("["):
		return p.level(w.text)
	case w.kind == name || w.kind == quoted:
		v, err := p.parameter(w.text, w.kind == quoted)
		if err != nil {
			return v, p.wrong("%v", err)
		}
		return v, nil
	case w.kind == nothing:
		return value{}, p.wrong("it ends where a name or a number should stand")
	}
	return value{}, p.wrong("%q stands where a name or a number should", w.text)
}

// closed reads a closing bracket.
func (p *parser) closed() error {
	if !p.is(")") {
		return p.wrong("a bracket is not closed")
	}
	return p.advance()
}

// call reads the arguments of a function: an expression, or names of columns.
func (p *parser) call(function string) (value, error) {
	if err := p.advance(); err != nil {
		return value{}, err
	}
	if f, ok := functions[function]; ok {
		v, err := p.sum()
		if err == nil {
			err = p.closed()
		}
		return value{at: func(draw []float64) float64 { return f(v.at(draw)) }}, err
	}
	var columns []string
	for {
		if p.next.kind != name && p.next.kind != quoted {
			return value{}, p.wrong("%s(...) takes names of columns", function)
		}
		columns = append(columns, p.next.text)
		if err := p.advance(); err != nil {
			return value{}, err
		}
		if !p.is(",") {
			break
		}
		if err := p.advance(); err != nil {
			return value{}, err
		}
	}
	if err := p.closed(); err != nil {
		return value{}, err
	}
	v, err := p.ofColumns(function, columns)
	if err != nil {
		return v, p.wrong("%v", err)
	}
	return v, nil
}

// level reads [level] behind a factor's name.
func (p *parser) level(factor string) (value, error) {
	m := levels.FindStringSubmatch(p.text[p.next.at:])
	if m == nil {
		return value{}, p.wrong("a bracket is not closed: a level is named as in %s[level]", factor)
	}
	p.end = p.next.at + len(m[0])
	if err := p.advance(); err != nil {
		return value{}, err
	}
	v, err := p.ofLevel(factor, m[1])
	if err != nil {
		return v, p.wrong("%v", err)
	}
	return v, nil
}
