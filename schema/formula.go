package schema

import (
	"fmt"
	"strings"
)

// Formula is a parsed model formula: Response ~ Terms, or Response ~ . where All.
type Formula struct {
	Response  string
	Terms     []string // covariates in the order given; nil where All
	All       bool     // every column but the response
	Intercept bool
}

// ParseFormula reads a model formula in the notation of R (Wilkinson and Rogers
// 1973), of which it knows
//
//	y ~ x1 + x2     the covariates x1 and x2, with an intercept
//	y ~ .           every column but the response
//	y ~ x - 1       no intercept; likewise y ~ 0 + x
//	y ~ x + 1       the intercept said aloud
//
// A name with other characters than letters, digits, "." and "_" stands in
// backquotes, within which \` is a backquote and \\ a backslash.
//
// Everything else is an error that says what is allowed. Interactions and
// transformations are among it: a release holds the moments of its columns only,
// so these must be columns of their own, with bounds, before it is made.
func ParseFormula(text string) (Formula, error) {
	tokens, err := lexFormula(text)
	if err != nil {
		return Formula{}, err
	}
	p := formulaParser{tokens: tokens, f: Formula{Intercept: true}}
	if err := p.parse(); err != nil {
		return Formula{}, err
	}
	return p.f, nil
}

// refuse is the one form of a formula's errors.
func refuse(format string, args ...any) error {
	return fmt.Errorf("formula: %s; allowed are `y ~ x1 + x2` and `y ~ .`, with `- 1` or `+ 0` for no intercept, "+
		"and backquotes around a name with other characters than letters, digits, '.' and '_'", fmt.Sprintf(format, args...))
}

// formulaParser walks the tokens of
//
//	formula = name "~" [sign] term { sign term }
//	term    = name | "." | "0" | "1"
//	sign    = "+" | "-"
type formulaParser struct {
	tokens []token // ends with tokenEnd
	f      Formula
	spoken bool // the intercept has been spoken of
}

func (p *formulaParser) next() token {
	t := p.tokens[0]
	if t.kind != tokenEnd {
		p.tokens = p.tokens[1:]
	}
	return t
}

func (p *formulaParser) peek() tokenKind { return p.tokens[0].kind }

func (p *formulaParser) parse() error {
	if err := p.response(); err != nil {
		return err
	}
	if p.peek() == tokenEnd {
		return refuse("nothing stands after `~`")
	}
	sign := tokenPlus
	if k := p.peek(); k == tokenPlus || k == tokenMinus {
		sign = p.next().kind
	}
	for {
		if err := p.term(sign, p.next()); err != nil {
			return err
		}
		switch t := p.next(); t.kind {
		case tokenEnd:
			return p.finish()
		case tokenPlus, tokenMinus:
			sign = t.kind
		case tokenTilde:
			return refuse("there is more than one `~`")
		default:
			return refuse("%s has no `+` before it", t)
		}
	}
}

func (p *formulaParser) response() error {
	switch t := p.next(); t.kind {
	case tokenName:
		p.f.Response = t.text
	case tokenTilde:
		return refuse("nothing stands before `~`")
	case tokenEnd:
		return refuse("it is empty")
	default:
		return refuse("the response must be the name of a column, and %s is none", t)
	}
	if t := p.next(); t.kind != tokenTilde {
		return refuse("the response must be one column with `~` after it, and %s follows it", t)
	}
	return nil
}

func (p *formulaParser) term(sign tokenKind, t token) error {
	switch t.kind {
	case tokenName, tokenDot:
		if sign == tokenMinus {
			return refuse("%s cannot be taken away: name the covariates to use", t)
		}
		return p.covariate(t)
	case tokenZero, tokenOne:
		return p.intercept(sign, t)
	case tokenNumber:
		return refuse("the number %s is neither 0 nor 1", t)
	case tokenEnd:
		return refuse("nothing stands after the last `+` or `-`")
	case tokenTilde:
		return refuse("there is more than one `~`")
	}
	return refuse("%s stands where a covariate should", t)
}

func (p *formulaParser) covariate(t token) error {
	if p.f.All || t.kind == tokenDot && p.f.Terms != nil {
		return refuse("`.` already stands for every column but the response, so it must stand alone")
	}
	if t.kind == tokenDot {
		p.f.All = true
		return nil
	}
	p.f.Terms = append(p.f.Terms, t.text)
	return nil
}

func (p *formulaParser) intercept(sign tokenKind, t token) error {
	if p.spoken {
		return refuse("it speaks of the intercept twice")
	}
	if sign == tokenMinus && t.kind == tokenZero {
		return refuse("`- 0` is unclear: write `- 1` for no intercept, `+ 1` for one")
	}
	p.spoken = true
	p.f.Intercept = sign == tokenPlus && t.kind == tokenOne
	return nil
}

// finish checks what needs the whole formula.
func (p *formulaParser) finish() error {
	if !p.f.All && p.f.Terms == nil {
		return refuse("it has no covariate, and a regression needs at least one")
	}
	seen := make(map[string]bool, len(p.f.Terms))
	for _, name := range p.f.Terms {
		if name == p.f.Response {
			return refuse("%q is both response and covariate", name)
		}
		if seen[name] {
			return refuse("covariate %q is given twice", name)
		}
		seen[name] = true
	}
	return nil
}

// String writes f so that ParseFormula reads it back.
func (f Formula) String() string {
	terms := []string{"."}
	if !f.All {
		terms = terms[:0]
		for _, name := range f.Terms {
			terms = append(terms, quoteName(name))
		}
	}
	s := quoteName(f.Response) + " ~ " + strings.Join(terms, " + ")
	if !f.Intercept {
		s += " - 1"
	}
	return s
}
