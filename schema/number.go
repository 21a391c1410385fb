package schema

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// errNumber does not repeat the text: where that is a cell, it is secret.
var errNumber = errors.New("not a finite decimal number")

// ParseNumber reads a finite decimal number such as -1.5 or 2e3, with spaces
// around it allowed. Infinities, NaN, hexadecimal floats and underscores are
// errors. The error never repeats the text, which may be a cell of the data.
func ParseNumber(text string) (float64, error) {
	text = strings.TrimSpace(text)
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
