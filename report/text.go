package report

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// scientific stands for three digits and a power of ten in place of a number of
// decimals.
const scientific = -1

// precision is the number of decimals that shows three digits of an sd;
// scientific where there would be more than seven.
func precision(sd float64) int {
	if !(sd > 0) || math.IsInf(sd, 0) {
		return 3
	}
	// Rounding to three digits first: 0.9996 has the magnitude of 1.00.
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(sd, 'e', 2, 64), 64)
	decimals := 2 - int(math.Floor(math.Log10(rounded)))
	switch {
	case decimals > 7:
		return scientific
	case decimals < 0:
		return 0
	}
	return decimals
}

// longest is the most characters of a number with decimals in a table, unless
// its three leading digits would not tell it from a number an sd away.
const (
	longest = 9
	mostSDs = 50
)

// common is the number of decimals for a row of numbers with this sd.
func common(sd float64, row ...float64) int {
	d, long, most := precision(sd), false, 0.0
	for _, x := range row {
		long = long || len(number(x, d)) > longest
		most = max(most, math.Abs(x))
	}
	if long && most < mostSDs*sd {
		return scientific
	}
	return d
}

// number writes x with so many decimals; NA where it does not exist.
func number(x float64, decimals int) string {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return "NA"
	case decimals == scientific:
		return strconv.FormatFloat(x, 'e', 2, 64)
	}
	return unsigned(strconv.FormatFloat(x, 'f', decimals, 64))
}

// unsigned takes the sign off a zero such as -0.00.
func unsigned(text string) string {
	if text[0] != '-' {
		return text
	}
	for _, c := range text[1:] {
		if c != '0' && c != '.' {
			return text
		}
	}
	return text[1:]
}

// general writes a number that stands alone in a sentence, in four digits.
func general(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }

// exactly writes a number that has to be read back, such as a bound or ε.
func exactly(x float64) string {
	if a := math.Abs(x); a >= 1e-4 && a < 1e15 || a == 0 {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// percent is 100·level, with 0.95 giving 95 and not its neighbour.
func percent(level float64) float64 { return math.Round(level*1e12) / 1e10 }

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
