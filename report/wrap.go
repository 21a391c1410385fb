package report

import (
	"strings"
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

// truncate shortens text to at most n ≥ 1 characters, the last of which is then
// an ellipsis.
func truncate(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}
