package table

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"github.com/dpreg/dpreg/schema"
)

// Form says how the text of a file is written. The zero value is found by itself: UTF-8, what
// separates fields as the header has it, and decimal points.
type Form struct {
	// Delim separates fields; 0: it is looked for in the header, among Delims.
	Delim byte
	// Comma tells of decimal commas in place of points: 3,5.
	Comma bool
	// Encoding is one of Encodings; empty is the first.
	Encoding string
}

// Delims are what separates fields, the usual one first, with their names.
var Delims = []struct {
	Delim byte
	Name  string
}{{',', "comma"}, {';', "semicolon"}, {'\t', "tab"}, {'|', "pipe"}}

// Encodings are those of texts. Latin-1 is read as Windows-1252, which has all its letters; the
// byte order mark of UTF-16 tells its order, little-endian without one. What is no letter becomes U+FFFD.
var Encodings = []string{"utf-8", "latin1", "utf-16"}

// ParseDelim reads a delimiter: a name, or a character that no number and no name has. Empty is
// that of the header.
func ParseDelim(text string) (byte, error) {
	for _, d := range Delims {
		if strings.EqualFold(text, d.Name) {
			return d.Delim, nil
		}
	}
	switch {
	case text == "":
		return 0, nil
	case text == `\t`:
		return '\t', nil
	case len(text) == 1 && (text == "\t" || text[0] > ' ' && text[0] < 0x7f) && !strings.ContainsAny(text, `"'+-._#`) && strings.ToUpper(text) == strings.ToLower(text) && (text[0] < '0' || text[0] > '9'):
		return text[0], nil
	}
	return 0, fmt.Errorf("%q: give comma, semicolon, tab or pipe, or one character that is no letter, digit, sign, point or quotation mark", text)
}

// settle checks a form.
func (f Form) settle() error {
	switch {
	case f.Comma && f.Delim == ',':
		return errors.New("a comma cannot separate fields and be the decimal sign, too")
	case f.Encoding != "" && !slices.Contains(Encodings, f.Encoding):
		return fmt.Errorf("encoding %q is none of %s", f.Encoding, strings.Join(Encodings, ", "))
	}
	return nil
}

// decoded reads a text as UTF-8.
func (f Form) decoded(r io.Reader) io.Reader {
	switch f.Encoding {
	case "latin1":
		return charmap.Windows1252.NewDecoder().Reader(r)
	case "utf-16":
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder().Reader(r)
	}
	return r
}

// Writer writes fields between what separates those that were read, as UTF-8.
func (f Form) Writer(w io.Writer) *csv.Writer {
	out := csv.NewWriter(w)
	out.Comma = rune(f.Delim)
	return out
}

// Number writes a number in full precision, with the decimal sign of those that were read.
func (f Form) Number(v float64) string {
	text := strconv.FormatFloat(v, 'g', -1, 64)
	if f.Comma {
		text = strings.Replace(text, ".", ",", 1)
	}
	return text
}

// delimOf finds what separates fields by the first record: that with which all known names stand in
// it, or else the only one with which it has several fields. It looks at nothing else, and its
// error shows nothing of the text.
func (f Form) delimOf(text []byte, known []string) (byte, error) {
	if f.Delim != 0 {
		return f.Delim, nil
	}
	var several, fitting []byte
	for _, d := range Delims {
		if f.Comma && d.Delim == ',' {
			continue
		}
		r := csv.NewReader(bytes.NewReader(text))
		r.Comma = rune(d.Delim)
		record, err := r.Read()
		if err != nil || len(record) < 2 {
			continue
		}
		for i := range record {
			record[i] = schema.Trim(record[i])
		}
		several = append(several, d.Delim)
		if recognised(record, known) {
			fitting = append(fitting, d.Delim)
		}
	}
	switch {
	case len(fitting) == 1:
		return fitting[0], nil
	case len(several) == 1:
		return several[0], nil
	case len(several) == 0 && f.Comma:
		return ';', nil
	case len(several) == 0:
		return ',', nil
	}
	var names []string
	for _, delim := range several {
		names = append(names, delimName(delim))
	}
	return 0, fmt.Errorf("fields may be separated by %s: say which, by --delim", strings.Join(names, " or by "))
}

// delimName is how errors call a delimiter.
func delimName(delim byte) string {
	for _, d := range Delims {
		if d.Delim == delim {
			return d.Name
		}
	}
	return fmt.Sprintf("%q", delim)
}
