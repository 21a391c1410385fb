package report

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// width is that of a line of text.
const width = 80

// wrap breaks text between words into lines of at most width characters; lines
// after the first are indented.
func wrap(text string) string {
	var b strings.Builder
	at := 0
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case at == 0:
		case at+1+n > width:
			b.WriteString("\n  ")
			at = 2
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String()
}

// fold breaks a name into lines of at most n ≥ 2 characters, so that nothing of what tells
// it from others is lost; lines after the first are indented. It breaks behind a mark,
// before a bracket or before the level of a factor where it can.
func fold(name string, n int) string {
	var lines []string
	rest := []rune(name)
	for len(rest) > n {
		at := foldAt(rest, n)
		lines = append(lines, strings.TrimRight(string(rest[:at]), " "))
		rest = []rune(" " + strings.TrimLeft(string(rest[at:]), " "))
	}
	return strings.Join(append(lines, string(rest)), "\n")
}

// foldAt is where to break text, which is longer than n: at least two characters from its
// beginning, so that a line behind an indent has one, and not before a combining mark.
func foldAt(text []rune, n int) int {
	for at := n; at > 2; at-- {
		before, behind := text[at-1], text[at]
		if strings.ContainsRune(" _-.,:;@/×=", before) || strings.ContainsRune("[(", behind) || unicode.IsLower(before) && unicode.IsUpper(behind) {
			return at
		}
	}
	at := n
	for at > 2 && unicode.Is(unicode.M, text[at]) {
		at--
	}
	return at
}

// truncate shortens text to at most n ≥ 1 characters, the last of which is then
// an ellipsis.
func truncate(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}
