package table

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dpreg/dpreg/schema"
)

// wrongCell is what is wrong with a cell, and what an Options can do about it.
type wrongCell struct{ wrong, offer string }

func (e *wrongCell) Error() string { return e.wrong + e.offer }

// orMissing is said of every such cell, so that it tells nothing of the one.
const orMissing = "; if its text means missing, as NaN or a dot may, name it: --na TEXT"

var (
	errCell    = &wrongCell{"a cell is not a finite decimal number such as -1.5 or 2e3; --decimal , reads -1,5", orMissing}
	errComma   = &wrongCell{"a cell is not a finite decimal number such as -1,5 or 2e3, without a point", orMissing}
	errBoolean = &wrongCell{"a cell is neither true nor false, 1 nor 0", "; others, as yes and no, are levels: --levels NAME=no,yes" + orMissing}
	errLevel   = &wrongCell{"a cell is none of the levels that are listed", orMissing + "; --other LEVEL counts such cells as one level"}
)

// field is a column of a file, and what its cells give to a row: a number, or the
// dummies of a factor.
type field struct {
	label   string
	place   int // in a record
	boolean bool
	at      int            // of the value in the row, where it is no factor
	levels  map[string]int // of a factor: the dummy's place in the row, -1 where it has none
	dummy   []int          // places of all dummies
	person  *PersonHash    // of the column that says whose a row is
	half    int            // which of its values, from 0
}

// fieldsOf lists the columns of a file that hold these columns, in the order in
// which a row needs them first. factors are those of the dummies; na are the texts
// that mean missing, and must not be levels. name is what errors call the file.
func fieldsOf(name string, header []string, columns []schema.Column, factors []schema.Factor, na []string) ([]field, error) {
	var list []field
	for j, c := range columns {
		if c.Factor != "" {
			i := slices.IndexFunc(list, func(f field) bool { return f.levels != nil && f.label == c.Factor })
			if i < 0 {
				i = len(list)
				list = append(list, field{label: c.Factor, levels: make(map[string]int)})
				for _, level := range schema.FactorNamed(factors, c.Factor).Levels {
					list[i].levels[level] = -1
				}
			}
			list[i].levels[c.Level] = j
			list[i].dummy = append(list[i].dummy, j)
			continue
		}
		list = append(list, field{label: c.Name, boolean: c.Boolean(), at: j})
	}
	return list, place(list, name, header, na)
}

// place finds the fields in the header, and refuses texts that mean missing and are levels, too.
func place(list []field, name string, header, na []string) error {
	for i := range list {
		if list[i].place = slices.Index(header, list[i].label); list[i].place < 0 {
			return &Error{name, 1, list[i].label, errors.New("the header has no such column")}
		}
		for _, text := range na {
			if _, ok := list[i].levels[text]; ok {
				return &Error{File: name, Column: list[i].label, Err: fmt.Errorf(
					"%q is a level, and means that a cell is missing, too: say which texts mean so (--na TEXT), or rename the level", text)}
			}
		}
	}
	return nil
}

// number tells whether cells hold numbers.
func (f *field) number() bool { return f.numeric() && !f.boolean }

// numeric tells whether a number can be a cell: truth values are 0 and 1.
func (f *field) numeric() bool { return f.levels == nil && f.person == nil }

// parse reads a cell: a number, or of a factor the place of the level's dummy, -1 of a
// level that has none. ErrMissing tells that the cell is missing, which may be no error.
func (f *field) parse(text string, o *Options) (v float64, err error) {
	text = schema.Trim(text)
	switch {
	case slices.Contains(o.NA, text):
		return 0, ErrMissing
	case f.number() && o.Form.Comma:
		if strings.Contains(text, ".") {
			return math.NaN(), errComma
		}
		if v, err := parseNumber(strings.Replace(text, ",", ".", 1)); err == nil {
			return v, nil
		}
		return math.NaN(), errComma
	case f.number():
		return parseNumber(text)
	case f.boolean:
		return parseBoolean(text)
	case f.person != nil:
		return f.person.Of(text)[f.half], nil
	}
	at, ok := f.levels[text]
	switch {
	case !ok && !utf8.ValidString(text):
		return 0, errEncoding
	case !ok:
		if at, ok = f.levels[o.Other]; !ok {
			return 0, errLevel
		}
	}
	return float64(at), nil
}

// put writes what parse returned to a row, in the data's units. missing tells that the
// cell was, where that is no error: NaN stands for it.
func (f *field) put(row []float64, v float64, err error, o *Options) (missing bool, _ error) {
	if err != nil && f.person == nil && o.BadCell == BadMissing {
		err = ErrMissing
	}
	missing = err == ErrMissing && o.Missing != MissingError
	if err == ErrMissing && f.person != nil && o.Missing != Drop {
		return false, ErrNobody
	}
	if err != nil && !missing {
		return false, err
	}
	if f.levels == nil {
		if missing {
			v = math.NaN()
		}
		row[f.at] = v
		return missing, nil
	}
	other := 0.
	if missing {
		other = math.NaN()
	}
	for _, j := range f.dummy {
		row[j] = other
	}
	if at := int(v); !missing && at >= 0 {
		row[at] = 1
	}
	return missing, nil
}

// TrueTexts and FalseTexts are the texts of truth values, as Frictionless writes them. A column of numbers may
// have zeros after the point of 1 and 0.
var (
	TrueTexts  = []string{"true", "True", "TRUE", "1"}
	FalseTexts = []string{"false", "False", "FALSE", "0"}
)

func parseBoolean(text string) (float64, error) {
	if len(text) > 2 && text[1] == '.' && strings.Trim(text[2:], "0") == "" {
		text = text[:1]
	}
	switch {
	case slices.Contains(TrueTexts, text):
		return 1, nil
	case slices.Contains(FalseTexts, text):
		return 0, nil
	}
	return 0, errBoolean
}

// A decimal of this many digits, as an integer, fits in 64 bits; so do the powers of ten
// that divide it.
const maxDigits = 19

// powers are 10^i, and normal ones are shifted until the highest of the 64 bits is set.
var powers, normal = func() (powers [maxDigits + 1]float64, normal [maxDigits + 1]uint64) {
	power := uint64(1)
	for i := range powers {
		powers[i], normal[i] = float64(power), power<<bits.LeadingZeros64(power)
		power *= 10
	}
	return powers, normal
}()

// decimal reads a decimal number such as -12.5, of up to 19 digits and without exponent,
// at the beginning of text, and returns of how many bytes it is, 0 where there is none.
// The value is that of strconv.ParseFloat, to the bit.
func decimal(text []byte) (v float64, n int) {
	if len(text) > 0 && text[0] == '-' {
		n = 1
	}
	start, fraction := n, -1 // where the digits begin, and those behind the point
	var mantissa uint64
	for ; n < len(text); n++ {
		if digit := uint64(text[n]) - '0'; digit <= 9 {
			mantissa = 10*mantissa + digit
		} else if text[n] == '.' && fraction < 0 {
			fraction = n + 1
		} else {
			break
		}
	}
	digits, point := n-start, 0
	if fraction >= 0 {
		digits, point = digits-1, n-fraction
	}
	switch {
	case digits == 0 || digits > maxDigits:
		return 0, 0
	case mantissa <= 1<<53:
		// Both are float64, so that the quotient is rounded once (Clinger, How to Read
		// Floating Point Numbers Accurately, PLDI 1990).
		v = float64(mantissa) / powers[point]
	default:
		v = quotient(mantissa, point)
	}
	if start > 0 {
		v = -v
	}
	return v, n
}

// quotient is w/10^e, w > 0, rounded to nearest, ties to even. With w and 10^e shifted
// into [2⁶³, 2⁶⁴), q = ⌊2⁶³w/10^e⌋ has 63 bits at least: nine more than a float64 and the
// bit that decides how it is rounded, but for a tie, which the remainder breaks. In q's
// last bit it does the same.
func quotient(w uint64, e int) float64 {
	shift := bits.LeadingZeros64(w)
	w <<= shift
	q, remainder := bits.Div64(w>>1, w<<63, normal[e])
	if remainder != 0 {
		q |= 1
	}
	exponent := bits.LeadingZeros64(uint64(powers[e])) - shift - 63
	return float64(q) * math.Float64frombits(uint64(1023+exponent)<<52) // 2^exponent
}

// parseNumber reads a number. Its errors do not hold the text, unlike strconv's.
func parseNumber(text string) (float64, error) {
	v, err := schema.ParseNumber(text)
	if err != nil {
		return math.NaN(), errCell
	}
	return v, nil
}
