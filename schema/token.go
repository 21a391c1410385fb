package schema

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind tells the words of a formula apart.
type tokenKind int

const (
	tokenEnd tokenKind = iota
	tokenName
	tokenDot
	tokenTilde
	tokenPlus
	tokenMinus
	tokenZero
	tokenOne
	tokenNumber // any other number
)

// token is a word of a formula. The text of a name is without its backquotes.
type token struct {
	kind tokenKind
	text string
}

// String is the token as an error shows it.
func (t token) String() string {
	switch t.kind {
	case tokenEnd:
		return "nothing"
	case tokenName:
		return quoteName(t.text)
	}
	return "`" + t.text + "`"
}

// lexFormula splits a formula into words; the last one is tokenEnd.
func lexFormula(text string) ([]token, error) {
	if !utf8.ValidString(text) {
		return nil, refuse("it is not valid UTF-8")
	}
	var tokens []token
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimLeftFunc(rest, unicode.IsSpace) {
		t, n, err := lexToken(rest)
		if err != nil {
			return nil, err
		}
		if rest = rest[n:]; t.kind == tokenName && strings.HasPrefix(strings.TrimSpace(rest), "(") {
			return nil, refuse("%s(...) is a transformation, and there are none: make it a column before the release", t)
		}
		tokens = append(tokens, t)
	}
	return append(tokens, token{kind: tokenEnd}), nil
}

// signs are the words of one character.
var signs = map[byte]tokenKind{'~': tokenTilde, '+': tokenPlus, '-': tokenMinus}

// lexToken reads the word that s, not empty, begins with, and tells its length.
func lexToken(s string) (token, int, error) {
	if kind, ok := signs[s[0]]; ok {
		return token{kind, s[:1]}, 1, nil
	}
	if s[0] == '`' {
		return lexQuoted(s)
	}
	n := strings.IndexFunc(s, func(r rune) bool { return !isNameRune(r) })
	if n < 0 {
		n = len(s)
	}
	switch word := s[:n]; {
	case n == 0:
		return token{}, 0, refuseRune(s)
	case word == ".":
		return token{tokenDot, word}, n, nil
	case word == "0":
		return token{tokenZero, word}, n, nil
	case word == "1":
		return token{tokenOne, word}, n, nil
	case isPlainName(word):
		return token{tokenName, word}, n, nil
	case isNumber(word):
		return token{tokenNumber, word}, n, nil
	default:
		return token{}, 0, refuse("the name %s needs backquotes", quoteName(word))
	}
}

func isNumber(word string) bool {
	_, err := ParseNumber(word)
	return err == nil
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
	}
	return refuse("the character %q has no meaning here", r)
}

// lexQuoted reads a name in backquotes.
func lexQuoted(s string) (token, int, error) {
	var name strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '`':
			if err := checkTyped(name.String()); err != nil {
				return token{}, 0, refuse("between backquotes %v", err)
			}
			return token{tokenName, name.String()}, i + 1, nil
		case '\\':
			if i++; i == len(s) || s[i] != '`' && s[i] != '\\' {
				return token{}, 0, refuse("within backquotes a backslash may only stand before a backquote or a backslash")
			}
		}
		name.WriteByte(s[i])
	}
	return token{}, 0, refuse("a backquote is not closed")
}

func isNameRune(r rune) bool {
	return r == '.' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

// isPlainName reports whether a formula may hold the name without backquotes: a
// letter, or a dot and no digit after it, then letters, digits, dots and underscores.
func isPlainName(name string) bool {
	if name == "." || len(name) > maxName || strings.ContainsFunc(name, func(r rune) bool { return !isNameRune(r) }) {
		return false
	}
	first, _ := utf8.DecodeRuneInString(strings.TrimPrefix(name, "."))
	if name != "" && name[0] == '.' {
		return !unicode.IsDigit(first)
	}
	return unicode.IsLetter(first)
}

// quoteName writes a name as a formula holds it, in backquotes where needed.
func quoteName(name string) string {
	if isPlainName(name) {
		return name
	}
	return "`" + strings.NewReplacer("\\", "\\\\", "`", "\\`").Replace(name) + "`"
}
