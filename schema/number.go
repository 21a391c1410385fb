package schema

import (
	"errors"
	"math"
	"strconv"
)

// Space is what may stand around a cell, a name or a number and does not count: spaces
// and tabs, in files and in databases. Anything else, such as a line feed or a no-break
// space, is part of the text.
const Space = " \t"

// Trim returns text without the space around it.
func Trim(text string) string {
	for text != "" && space(text[0]) {
		text = text[1:]
	}
	for text != "" && space(text[len(text)-1]) {
		text = text[:len(text)-1]
	}
	return text
}

func space(c byte) bool { return c == Space[0] || c == Space[1] }

// errNumber does not repeat the text: where that is a cell, it is secret.
var errNumber = errors.New("not a finite decimal number")

// ParseNumber reads a finite decimal number such as -1.5 or 2e3, with Space
// around it allowed. Infinities, NaN, hexadecimal floats and underscores are
// errors. The error never repeats the text, which may be a cell of the data.
func ParseNumber(text string) (float64, error) {
	text = Trim(text)
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '0' && c <= '9', c == '+', c == '-', c == '.', c == 'e', c == 'E':
		default:
			return math.NaN(), errNumber
		}
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN(), errNumber
	}
	return v, nil
}
