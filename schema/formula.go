package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpreg/dpreg/internal/expression"
)

// Formula is a parsed model formula: Response ~ Terms, or Response ~ . where All.
type Formula struct {
	Response  string
	Terms     []string // covariates in the order given; nil where All
	All       bool     // every column but the response
	Intercept bool

	// Made are those of Response and Terms that are no columns but made of some, with their
	// factors: a and log(b) of a:log(b). Names are as in a formula, backquotes and all.
	Made map[string][]string

	factors []string // columns that must be factors
}

// ParseFormula reads a model formula in the notation of R (Wilkinson and Rogers
// 1973), of which it knows
//
//	y ~ x1 + x2     the covariates x1 and x2, with an intercept
//	y ~ .           every column but the response
//	y ~ x - 1       no intercept; likewise y ~ 0 + x
//	y ~ x + 1       the intercept said aloud
//	y ~ 1           the intercept alone
//	log(y) ~ x      functions of columns: log, log2, log10, log1p, exp, sqrt, abs; and of
//	                arithmetic with them
//	y ~ I(x^2)      arithmetic
//	y ~ poly(x, 2)  polynomials: Legendre's on the bounds of x, or with raw = TRUE powers
//	y ~ scale(x)    x with its bounds at -1 and 1
//	y ~ a:b         products, of factors' dummies, too; a*b is a + b + a:b
//	y ~ factor(x)   x, which must have levels
//
// A name with other characters than letters, digits, "." and "_" stands in
// backquotes, within which \` is a backquote and \\ a backslash.
//
// Everything else is an error that says what is allowed.
func ParseFormula(text string) (Formula, error) {
	p, err := parserOf(text)
	if err != nil {
		return Formula{}, err
	}
	f := Formula{Intercept: true}
	if err := f.response(p); err != nil {
		return Formula{}, err
	}
	for spoken, first := false, true; p.Next() != expression.End; first = false {
		sign := plus
		switch t := p.Next(); {
		case t == plus || t == minus:
			sign = p.Take()
		case t == tilde:
			return Formula{}, refuse("there is more than one `~`")
		case !first:
			return Formula{}, refuse("%s has no `+` before it", t)
		}
		if err := f.term(sign, p, &spoken); err != nil {
			return Formula{}, err
		}
	}
	if !f.All && f.Terms == nil && !f.Intercept {
		return Formula{}, refuse("it has neither a covariate nor an intercept, so that nothing is left to learn but noise")
	}
	slices.SortStableFunc(f.Terms, func(a, b string) int { return max(1, len(f.Made[a])) - max(1, len(f.Made[b])) }) // as R does
	return f, nil
}

// refuse is the one form of a formula's errors.
func refuse(format string, args ...any) error {
	return fmt.Errorf("formula: %s; allowed are `y ~ x1 + x2` and `y ~ .`, with `- 1` or `+ 0` for no intercept, "+
		"terms such as log(x), I(x^2), poly(x, 2), a:b and a*b, and backquotes around a name with other characters than letters, digits, '.' and '_'", fmt.Sprintf(format, args...))
}

// response reads what stands up to "~", which it takes.
func (f *Formula) response(p *expression.Parser) error {
	switch t := p.Next(); {
	case t == tilde:
		return refuse("nothing stands before `~`")
	case t == expression.End:
		return refuse("it is empty")
	case !t.Name():
		return refuse("the response must be the name of a column or a function of columns, and %s is none", t)
	}
	parts, err := f.component(p)
	switch {
	case err != nil:
		return err
	case p.Next() != tilde:
		return refuse("the response must be one column with `~` after it, and %s follows it", p.Next())
	case parts.whole:
		return refuse("the response must be one column, and %s is several", parts.text)
	}
	f.Response = f.named([]component{parts})
	if p.Take(); p.Next() == expression.End {
		return refuse("nothing stands after `~`")
	}
	return nil
}

// term adds covariates, or speaks of the intercept.
func (f *Formula) term(sign expression.Token, p *expression.Parser, spoken *bool) error {
	switch t := p.Next(); {
	case t.Name():
		terms, err := f.products(p)
		if err == nil && sign == minus {
			err = refuse("%s cannot be taken away: name the covariates to use", t)
		}
		for _, parts := range terms {
			if err == nil {
				err = f.covariate(f.named(parts), len(terms) > 1)
			}
		}
		return err
	case t == dot && sign == minus:
		return refuse("%s cannot be taken away: name the covariates to use", t)
	case t == dot && f.Terms != nil:
		return refuse("`.` already stands for every column but the response, so it must stand alone")
	case t == dot && !f.All:
		p.Take()
		f.All = true
		return nil
	case t == zero || t == one:
		p.Take()
		if *spoken {
			return refuse("it speaks of the intercept twice")
		}
		if sign == minus && t == zero {
			return refuse("`- 0` is unclear: write `- 1` for no intercept, `+ 1` for one")
		}
		*spoken, f.Intercept = true, sign == plus && t == one
		return nil
	case t == expression.End:
		return refuse("nothing stands after the last `+` or `-`")
	case t == tilde:
		return refuse("there is more than one `~`")
	case t == open:
		return refuse("brackets around terms are not supported: write the terms out")
	case t.Text != "" && strings.Contains("+-*/^:,)=.", t.Text):
		return refuse("%s stands where a covariate should", t)
	}
	return refuse("the number %s is neither 0 nor 1", p.Next())
}

// component is a factor of a term.
type component struct {
	text  string // as a formula has it
	name  string // of a plain column; empty: it is made
	whole bool   // it stands for several columns: poly(x, 2)
}

// products reads components between which * and : stand, the second binding more, and returns
// the terms that they make: a, b and a:b of a*b, those of fewer components first.
func (f *Formula) products(p *expression.Parser) (terms [][]component, err error) {
	var crossed [][]component // what * stands between
	for again := true; again; again = p.Is("*") && p.Take() != expression.End {
		var parts []component
		for more := true; more; more = p.Is(":") && p.Take() != expression.End {
			c, err := f.component(p)
			if err != nil {
				return nil, err
			}
			if slices.ContainsFunc(parts, func(other component) bool { return other.text == c.text }) {
				return nil, refuse("%s:%[1]s is a product with itself: write a square as I(x^2)", c.text)
			}
			parts = append(parts, c)
		}
		crossed = append(crossed, parts)
	}
	switch {
	case p.Is("^"):
		return nil, refuse("a power stands within I(...), as in I(x^2)")
	case p.Is("/"):
		return nil, refuse("a quotient stands within I(...), as in I(x/2)")
	case len(crossed) > maxCrossed:
		return nil, refuse("more than %d columns are crossed by `*`", maxCrossed)
	}
	for subset := 1; subset < 1<<len(crossed); subset++ {
		var parts []component
		for i, c := range crossed {
			if subset>>i&1 == 1 {
				parts = append(parts, c...)
			}
		}
		terms = append(terms, parts)
	}
	slices.SortStableFunc(terms, func(a, b []component) int { return len(a) - len(b) })
	return terms, nil
}

// maxCrossed bounds how many columns * can stand between: each more doubles the terms.
const maxCrossed = 5

// component reads a column or what is made of some.
func (f *Formula) component(p *expression.Parser) (c component, err error) {
	t := p.Take()
	switch {
	case t == dot:
		return c, refuse("`.` already stands for every column but the response, so it must stand alone")
	case !t.Name():
		return c, refuse("%s stands where a covariate should", t)
	case !p.Is("("):
		return component{text: expression.Quote(t.Text), name: t.Text}, nil
	}
	if t.Text == "factor" || t.Text == "as.factor" {
		column, err := ofColumn(p, t.Text)
		f.factors = append(f.factors, column.Text)
		return component{text: expression.Quote(column.Text), name: column.Text}, err
	}
	all, err := call(p, t.Text)
	switch {
	case err != nil:
		return c, err
	case len(all[0].Variables(nil)) == 0:
		return c, refuse("%s holds no column", all[0])
	case len(all) > 1:
		return component{text: strings.TrimSuffix(all[0].String(), "1"), whole: true}, nil
	}
	return component{text: all[0].String()}, nil
}

// named is the term of some components: a column's name, or one that is noted in f.Made.
func (f *Formula) named(parts []component) string {
	if len(parts) == 1 && parts[0].name != "" {
		return parts[0].name
	}
	var texts []string
	for _, c := range parts {
		texts = append(texts, c.text)
	}
	if f.Made == nil {
		f.Made = make(map[string][]string)
	}
	name := strings.Join(texts, ":")
	f.Made[name] = texts
	return name
}

// covariate adds a term. One of a product that is there already need not be again.
func (f *Formula) covariate(name string, crossed bool) error {
	switch {
	case f.All:
		return refuse("`.` already stands for every column but the response, so it must stand alone")
	case name == f.Response:
		return refuse("%q is both response and covariate", name)
	case f.has(name) && crossed:
		return nil
	case f.has(name):
		return refuse("covariate %q is given twice", name)
	}
	f.Terms = append(f.Terms, name)
	return nil
}

// String writes f so that ParseFormula reads it back.
func (f Formula) String() string {
	terms := []string{"."}
	switch {
	case f.All:
	case f.Terms != nil:
		terms = terms[:0]
		for _, name := range f.Terms {
			terms = append(terms, f.spelt(name))
		}
	case f.Intercept:
		terms[0] = "1"
	default:
		return f.spelt(f.Response) + " ~ 0" // which is no model, but the smallest part of one
	}
	s := f.spelt(f.Response) + " ~ " + strings.Join(terms, " + ")
	if !f.Intercept {
		s += " - 1"
	}
	return s
}

// has tells whether a term is there, its factors in any order.
func (f *Formula) has(name string) bool {
	return slices.ContainsFunc(f.Terms, func(other string) bool {
		return other == name || f.Made[name] != nil && sameParts(f.Made[other], f.Made[name])
	})
}

// Columns are the names of the columns of rows that f is of, each once.
func (f Formula) Columns() (names []string) {
	for _, term := range append(slices.Clone(f.Terms), f.Response) {
		parts, made := f.Made[term]
		if !made {
			parts = []string{expression.Quote(term)}
		}
		for _, part := range parts {
			all, _ := parseFactor(part) // as ParseFormula read it
			for _, e := range all {
				names = e.Variables(names)
			}
		}
	}
	return names
}

// spelt is a name as a formula holds it. Of a product a part may be a dummy, whose name a level makes any text.
func (f Formula) spelt(name string) string {
	made := f.Made[name]
	if made == nil {
		return expression.Quote(name)
	}
	parts := slices.Clone(made)
	for i, part := range parts {
		if _, err := parseFactor(part); err != nil {
			parts[i] = expression.Quote(part)
		}
	}
	return strings.Join(parts, ":")
}
