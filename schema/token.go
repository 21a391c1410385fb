package schema

import (
	"cmp"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is a word of a formula: a name, without its backquotes, a sign or a number.
type token struct {
	text string
	name bool
}

var tilde, plus, minus, dot, zero, one, open, end = token{text: "~"}, token{text: "+"}, token{text: "-"}, token{text: "."}, token{text: "0"}, token{text: "1"}, token{text: "("}, token{}

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
	numerals = regexp.MustCompile(`^(?:\d+\.?\d*|\.\d+)[eE][-+]?\d+`)
	words    = regexp.MustCompile("^(?:[~+*/^:(),=-]|`(?:[^`\\\\]|\\\\[`\\\\])*`|[\\p{L}\\p{Nd}\\p{M}._]+)")
	stray    = regexp.MustCompile("\\\\(?:[^`\\\\]|$)") // backslash
	plain    = regexp.MustCompile(`^(?:\p{L}|\.[\p{L}\p{M}._])[\p{L}\p{Nd}\p{M}._]*$`)
	quoted   = strings.NewReplacer("\\", "\\\\", "`", "\\`")
	bare     = strings.NewReplacer("\\\\", "\\", "\\`", "`")
)

// lexFormula splits a formula into words; the last one is end.
func lexFormula(text string) ([]token, error) {
	if !utf8.ValidString(text) {
		return nil, refuse("it is not valid UTF-8")
	}
	var tokens []token
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimLeftFunc(rest, unicode.IsSpace) {
		word := cmp.Or(numerals.FindString(rest), words.FindString(rest))
		if word == "" {
			return nil, refuseRune(rest)
		}
		t, err := lexWord(word)
		if err != nil {
			return nil, err
		}
		rest = rest[len(word):]
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
	if _, err := ParseNumber(word); err == nil || strings.Contains("~+-.*/^:(),=", word) {
		return token{word, false}, nil
	}
	return end, refuse("the name %s needs backquotes", quoteName(word))
}

// refuseRune refuses the character that s begins with.
func refuseRune(s string) error {
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
