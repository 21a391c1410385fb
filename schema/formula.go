package schema

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
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
	f := Formula{Intercept: true}
	if tokens, err = f.response(tokens); err != nil {
		return Formula{}, err
	}
	for spoken := false; tokens[0] != end; tokens = tokens[1:] {
		sign := plus
		switch t := tokens[0]; {
		case t == plus || t == minus:
			sign, tokens = t, tokens[1:]
		case t == tilde:
			return Formula{}, refuse("there is more than one `~`")
		case f.All || f.Terms != nil || spoken:
			return Formula{}, refuse("%s has no `+` before it", t)
		}
		if err := f.term(sign, tokens[0], &spoken); err != nil {
			return Formula{}, err
		}
	}
	if !f.All && f.Terms == nil {
		return Formula{}, refuse("it has no covariate, and a regression needs at least one")
	}
	return f, nil
}

// refuse is the one form of a formula's errors.
func refuse(format string, args ...any) error {
	return fmt.Errorf("formula: %s; allowed are `y ~ x1 + x2` and `y ~ .`, with `- 1` or `+ 0` for no intercept, "+
		"and backquotes around a name with other characters than letters, digits, '.' and '_'", fmt.Sprintf(format, args...))
}

// response reads what stands up to "~", and returns the rest.
func (f *Formula) response(tokens []token) (rest []token, err error) {
	switch t := tokens[0]; {
	case t == tilde:
		return nil, refuse("nothing stands before `~`")
	case t == end:
		return nil, refuse("it is empty")
	case !t.name:
		return nil, refuse("the response must be the name of a column, and %s is none", t)
	case tokens[1] != tilde:
		return nil, refuse("the response must be one column with `~` after it, and %s follows it", tokens[1])
	case tokens[2] == end:
		return nil, refuse("nothing stands after `~`")
	}
	f.Response = tokens[0].text
	return tokens[2:], nil
}

// term adds a covariate, or speaks of the intercept.
func (f *Formula) term(sign, t token, spoken *bool) error {
	switch {
	case t.name || t == dot:
		if sign == minus {
			return refuse("%s cannot be taken away: name the covariates to use", t)
		}
		return f.covariate(t)
	case t == zero || t == one:
		if *spoken {
			return refuse("it speaks of the intercept twice")
		}
		if sign == minus && t == zero {
			return refuse("`- 0` is unclear: write `- 1` for no intercept, `+ 1` for one")
		}
		*spoken, f.Intercept = true, sign == plus && t == one
		return nil
	case t == end:
		return refuse("nothing stands after the last `+` or `-`")
	case t == tilde:
		return refuse("there is more than one `~`")
	case t == plus || t == minus:
		return refuse("%s stands where a covariate should", t)
	}
	return refuse("the number %s is neither 0 nor 1", t)
}

func (f *Formula) covariate(t token) error {
	switch {
	case f.All || t == dot && f.Terms != nil:
		return refuse("`.` already stands for every column but the response, so it must stand alone")
	case t == dot:
		f.All = true
		return nil
	case t.text == f.Response:
		return refuse("%q is both response and covariate", t.text)
	case slices.Contains(f.Terms, t.text):
		return refuse("covariate %q is given twice", t.text)
	}
	f.Terms = append(f.Terms, t.text)
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

// token is a word of a formula: a name, without its backquotes, a sign or a number.
type token struct {
	text string
	name bool
}

var tilde, plus, minus, dot, zero, one, end = token{text: "~"}, token{text: "+"}, token{text: "-"}, token{text: "."}, token{text: "0"}, token{text: "1"}, token{}

// String is the token as an error shows it.
func (t token) String() string {
	switch {
	case t == end:
		return "nothing"
	case t.name:
		return quoteName(t.text)
	}
	return "`" + t.text + "`"
}

var (
	words  = regexp.MustCompile("^(?:[~+-]|`(?:[^`\\\\]|\\\\[`\\\\])*`|[\\p{L}\\p{Nd}\\p{M}._]+)")
	stray  = regexp.MustCompile("\\\\(?:[^`\\\\]|$)") // backslash
	plain  = regexp.MustCompile(`^(?:\p{L}|\.[\p{L}\p{M}._])[\p{L}\p{Nd}\p{M}._]*$`)
	quoted = strings.NewReplacer("\\", "\\\\", "`", "\\`")
	bare   = strings.NewReplacer("\\\\", "\\", "\\`", "`")
)

// lexFormula splits a formula into words; the last one is end.
func lexFormula(text string) ([]token, error) {
	if !utf8.ValidString(text) {
		return nil, refuse("it is not valid UTF-8")
	}
	var tokens []token
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimLeftFunc(rest, unicode.IsSpace) {
		word := words.FindString(rest)
		if word == "" {
			return nil, refuseRune(rest)
		}
		t, err := lexWord(word)
		if err != nil {
			return nil, err
		}
		if rest = rest[len(word):]; t.name && strings.HasPrefix(strings.TrimSpace(rest), "(") {
			return nil, refuse("%s(...) is a transformation, and there are none: make it a column before the release", t)
		}
		tokens = append(tokens, t)
	}
	return append(tokens, end), nil
}

func lexWord(word string) (token, error) {
	if word[0] == '`' {
		name := bare.Replace(word[1 : len(word)-1])
		if err := checkTyped(name); err != nil {
			return end, refuse("between backquotes %v", err)
		}
		return token{name, true}, nil
	}
	if isPlainName(word) {
		return token{word, true}, nil
	}
	if _, err := ParseNumber(word); err == nil || strings.Contains("~+-.", word) {
		return token{word, false}, nil
	}
	return end, refuse("the name %s needs backquotes", quoteName(word))
}

// refuseRune refuses the character that s begins with.
func refuseRune(s string) error {
	r, _ := utf8.DecodeRuneInString(s)
	switch {
	case strings.ContainsRune("*:^/%|()", r):
		return refuse("%q is not supported, since there are no interactions and no transformations: "+
			"make a product or a function of columns a column of its own before the release", r)
	case r == '"' || r == '\'':
		return refuse("names stand in backquotes, not in %q", r)
	case r == '`' && stray.MatchString(s):
		return refuse("within backquotes a backslash may only stand before a backquote or a backslash")
	case r == '`':
		return refuse("a backquote is not closed")
	}
	return refuse("the character %q has no meaning here", r)
}

// isPlainName reports whether a formula may hold the name without backquotes: a
// letter, or a dot and no digit after it, then letters, digits, dots and underscores.
func isPlainName(name string) bool { return len(name) <= maxName && plain.MatchString(name) }

// quoteName writes a name as a formula holds it, in backquotes where needed.
func quoteName(name string) string {
	if isPlainName(name) {
		return name
	}
	return "`" + quoted.Replace(name) + "`"
}
