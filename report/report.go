// Package report writes results as text, pictures and pages: fits, checks, plans, studies
// and what releases say. Text is for people, at most 80 columns
// wide where names are reasonable; programs read the JSON of package posterior.
package report

import (
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// block is one thing of a result: the field that is not empty. A table may have a text right
// below it.
type block struct {
	Table   *table
	Text    string
	Warning string
	Picture *picture
	Facts   []fact
	Command string
}

// fact is a line of a list: what is the case of what.
type fact struct{ Name, Value string }

// say makes a block of each text that says something.
func say(texts ...string) (blocks []block) {
	for _, text := range texts {
		if text != "" {
			blocks = append(blocks, block{Text: text})
		}
	}
	return blocks
}

func warn(warnings []string) (blocks []block) {
	for _, text := range warnings {
		blocks = append(blocks, block{Warning: "Warning: " + strings.TrimRight(text, ".") + "."})
	}
	return blocks
}

func show(tables ...table) []block {
	blocks := make([]block, len(tables))
	for i := range tables {
		blocks[i].Table = &tables[i]
	}
	return blocks
}

// blank is an empty line of a text.
var blank = []block{{}}

// write writes blocks as text, with an empty line around each table.
func write(w io.Writer, parts ...[]block) error { return writeWide(w, width, parts...) }

// writeWide is write for lines of at most so many characters.
func writeWide(w io.Writer, width int, parts ...[]block) error {
	var b strings.Builder
	apart := false // from what was before
	for i, x := range slices.Concat(parts...) {
		text := x.Text + x.Warning
		if x.Table == nil && text == "" {
			apart = true
			continue
		}
		if apart || x.Table != nil && i > 0 {
			b.WriteByte('\n')
		}
		if apart = x.Table != nil; apart {
			if err := x.Table.write(&b); err != nil {
				return err
			}
		}
		if text != "" {
			b.WriteString(wrap(text, width) + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Count writes a number of things.
func Count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}

// scientific stands for three digits and a power of ten in place of a number of
// decimals.
const scientific = -1

// usualDigits are those of an sd that tables show.
const usualDigits = 3

// precision is the number of decimals that shows three digits of an sd;
// scientific where there would be more than seven.
func precision(sd float64) int { return decimalsOf(sd, usualDigits) }

// decimalsOf is precision of so many digits, and four decimals more than they.
func decimalsOf(sd float64, digits int) int {
	if !(sd > 0) || math.IsInf(sd, 0) {
		return digits
	}
	// Rounding to the digits first: 0.9996 has the magnitude of 1.00.
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(sd, 'e', digits-1, 64), 64)
	decimals := digits - 1 - int(math.Floor(math.Log10(rounded)))
	switch {
	case decimals > digits+4:
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
func common(sd float64, row ...float64) int { return commonOf(usualDigits, sd, row...) }

// commonOf is common with so many digits of the sd.
func commonOf(digits int, sd float64, row ...float64) int {
	d, long, most := decimalsOf(sd, digits), false, 0.0
	for _, x := range row {
		long = long || len(number(x, d)) > longest+digits-usualDigits
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
	text := strconv.FormatFloat(x, 'f', decimals, 64)
	if strings.Trim(text, "-0.") == "" { // no sign of a zero such as -0.00
		return strings.TrimPrefix(text, "-")
	}
	return text
}

// known is number of what may not be known: NA then.
func known(v *float64, decimals int) string {
	if v == nil {
		return "NA"
	}
	return number(*v, decimals)
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

// percent writes 100·level, with 0.95 giving 95 and not its neighbour.
func percent(level float64) string { return exactly(math.Round(level*1e12) / 1e10) }

// width is that of a line of text.
const width = 80

// wrap breaks text between words into lines of at most width characters; lines
// after the first are indented.
func wrap(text string, width int) string {
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
