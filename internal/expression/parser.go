package expression

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Language is what differs between the places where expressions stand.
type Language struct {
	Signs   string                                    // characters each of which is a word
	Levels  bool                                      // [level] is a word
	Special func(text string) (name string, size int) // the name with which a text begins that needs no backquotes, and its length there; nil: none does
	Refuse  func(format string, args ...any) error    // an error
	Stray   func(text string) error                   // of a text that begins with no word
	Known   func(function string) error               // refuses a function that there is not
}

// Token is a word of a text; the one behind the last is End.
type Token struct {
	Text string // a name without its backquotes
	Kind Kind
}

// Kind is that of a word.
type Kind int

const (
	Sign Kind = iota
	Number
	Bare   // a name
	Ticked // a name that stood in backquotes, or was a special one
	Label  // a level, without its brackets
)

// End stands behind the last word.
var End = Token{}

// Name tells whether the token is a name.
func (t Token) Name() bool { return t.Kind == Bare || t.Kind == Ticked }

// String is the token as an error shows it.
func (t Token) String() string {
	switch {
	case t == End:
		return "nothing"
	case t.Name():
		return Quote(t.Text)
	case t.Kind == Label:
		return "`[" + t.Text + "]`"
	}
	return "`" + t.Text + "`"
}

var (
	exponents = regexp.MustCompile(`^(?:\d+\.?\d*|\.\d+)[eE][-+]?\d+`)
	numerals  = regexp.MustCompile(`^(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$`)
	words     = regexp.MustCompile("^(?:`(?:[^`\\\\]|\\\\[`\\\\])*`|[\\p{L}\\p{Nd}\\p{M}._]+)")
	levels    = regexp.MustCompile(`^\[\s*([^\[\]]*?)\s*\]`)
)

// Parser reads a text by descent.
type Parser struct {
	language *Language
	tokens   []Token
}

// Parser splits a text into words.
func (l *Language) Parser(text string) (*Parser, error) {
	if !utf8.ValidString(text) {
		return nil, l.Refuse("it is not valid UTF-8")
	}
	p := &Parser{language: l}
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimLeftFunc(rest, unicode.IsSpace) {
		t, size, err := l.word(rest)
		if err != nil {
			return nil, err
		}
		p.tokens = append(p.tokens, t)
		rest = rest[size:]
	}
	p.tokens = append(p.tokens, End)
	return p, nil
}

// word is that with which a text begins, and its length.
func (l *Language) word(text string) (t Token, size int, err error) {
	if l.Special != nil {
		if name, size := l.Special(text); size > 0 {
			return Token{name, Ticked}, size, nil
		}
	}
	if m := levels.FindStringSubmatch(text); l.Levels && m != nil {
		return Token{m[1], Label}, len(m[0]), nil
	}
	switch word := cmp.Or(exponents.FindString(text), words.FindString(text)); {
	case word == "" && strings.Contains(l.Signs, text[:1]):
		return Token{Text: text[:1]}, 1, nil
	case word == "":
		return End, 0, l.Stray(text)
	case word[0] == '`':
		return Token{unquoted.Replace(word[1 : len(word)-1]), Ticked}, len(word), nil
	case plain.MatchString(word):
		return Token{word, Bare}, len(word), nil
	case numerals.MatchString(word):
		return Token{word, Number}, len(word), nil
	case word == "." && strings.Contains(l.Signs, word):
		return Token{Text: word}, 1, nil
	default:
		return End, 0, l.Refuse("the name %s needs backquotes", "`"+quoted.Replace(word)+"`")
	}
}

// Tokens are those that are not taken yet.
func (p *Parser) Tokens() []Token { return p.tokens }

// Next is the token that Take takes.
func (p *Parser) Next() Token { return p.tokens[0] }

// Take takes the next token; End stays.
func (p *Parser) Take() Token {
	t := p.tokens[0]
	if len(p.tokens) > 1 {
		p.tokens = p.tokens[1:]
	}
	return t
}

// Is tells whether the next token is one of these signs.
func (p *Parser) Is(signs ...string) bool {
	return p.Next() != End && p.Next().Kind == Sign && slices.Contains(signs, p.Next().Text)
}

// Expect takes a sign.
func (p *Parser) Expect(sign string) error {
	if !p.Is(sign) {
		return p.language.Refuse("%s stands where `%s` should", p.Next(), sign)
	}
	p.Take()
	return nil
}

// Sum reads an expression. Powers bind most and to the right, and more than a sign before them:
// -x^2 is -(x^2).
func (p *Parser) Sum() (*Node, error) {
	return p.binary(p.product, map[string]Op{"+": Sum, "-": Difference})
}

func (p *Parser) product() (*Node, error) {
	return p.binary(p.signed, map[string]Op{"*": Product, "/": Quotient})
}

func (p *Parser) binary(operand func() (*Node, error), ops map[string]Op) (*Node, error) {
	e, err := operand()
	for err == nil && p.Next().Kind == Sign {
		op, ok := ops[p.Next().Text]
		if !ok {
			break
		}
		p.Take()
		var other *Node
		other, err = operand()
		e = &Node{Op: op, Args: []*Node{e, other}}
	}
	return e, err
}

func (p *Parser) signed() (*Node, error) {
	switch {
	case p.Is("+"):
		p.Take()
		return p.signed()
	case p.Is("-"):
		p.Take()
		e, err := p.signed()
		return &Node{Op: Negated, Args: []*Node{e}}, err
	}
	e, err := p.atom()
	if err != nil || !p.Is("^") {
		return e, err
	}
	p.Take()
	power, err := p.signed()
	return &Node{Op: Power, Args: []*Node{e, power}}, err
}

func (p *Parser) atom() (*Node, error) {
	t := p.Take()
	switch {
	case t.Kind == Bare && p.Is("("):
		return p.Call(t.Text)
	case t.Name() && p.Next().Kind == Label:
		return &Node{Op: Level, Name: t.Text, Text: p.Take().Text}, nil
	case t.Name():
		return &Node{Op: Variable, Name: t.Text, Quoted: t.Kind == Ticked}, nil
	case t == Token{Text: "("}:
		e, err := p.Sum()
		if err == nil {
			err = p.Expect(")")
		}
		return &Node{Op: Bracketed, Args: []*Node{e}}, err
	case t.Kind == Number:
		v, err := strconv.ParseFloat(t.Text, 64)
		if err != nil {
			return nil, p.language.Refuse("%s is no number that fits", t.Text)
		}
		return &Node{Op: Constant, Number: v}, nil
	}
	return nil, p.language.Refuse("%s stands where a name or a number should", t)
}

// Call reads what stands behind a function's name: expressions in brackets. One of Functions
// takes one of them.
func (p *Parser) Call(function string) (*Node, error) {
	if err := p.language.Known(function); err != nil {
		return nil, err
	}
	e := &Node{Op: Called, Name: function}
	for more := true; more; more = Functions[function] == nil && p.Is(",") {
		p.Take() // the bracket or the comma
		arg, err := p.Sum()
		if err != nil {
			return nil, err
		}
		e.Args = append(e.Args, arg)
	}
	return e, p.Expect(")")
}
