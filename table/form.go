package table

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

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
// byte order mark of UTF-16 tells its order, little-endian without one.
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
		return &decoder{in: bufio.NewReader(r), next: windows1252}
	case "utf-16":
		return &decoder{in: bufio.NewReader(r), next: (&wide{}).next}
	}
	return r
}

// decoder reads letters, and hands them on in UTF-8.
type decoder struct {
	in   *bufio.Reader
	next func(in *bufio.Reader) (rune, error)
	rest []byte // decoded, and not handed on yet
	err  error
}

func (d *decoder) Read(p []byte) (int, error) {
	for len(d.rest) < len(p) && d.err == nil {
		var r rune
		if r, d.err = d.next(d.in); d.err == nil {
			d.rest = utf8.AppendRune(d.rest, r)
		}
	}
	n := copy(p, d.rest)
	d.rest = d.rest[:copy(d.rest, d.rest[n:])]
	if n == 0 {
		return 0, d.err
	}
	return n, nil
}

// The letters of Windows-1252 from 0x80 to 0x9f, where Latin-1 has none; all others are Latin-1's.
var between = []rune("€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ")

func windows1252(in *bufio.Reader) (rune, error) {
	b, err := in.ReadByte()
	if b >= 0x80 && b < 0xa0 {
		return between[b-0x80], err
	}
	return rune(b), err
}

// wide reads UTF-16.
type wide struct {
	begun bool
	big   bool
}

// unit is the next of 16 bits; half of one at the end is the end of a file that was cut.
func (w *wide) unit(in *bufio.Reader) (uint16, error) {
	var two [2]byte
	if _, err := io.ReadFull(in, two[:]); err != nil {
		return 0, err
	}
	if w.big {
		return uint16(two[0])<<8 | uint16(two[1]), nil
	}
	return uint16(two[1])<<8 | uint16(two[0]), nil
}

func (w *wide) next(in *bufio.Reader) (rune, error) {
	u, err := w.unit(in)
	if err == nil && !w.begun {
		if w.begun, w.big = true, u == 0xfffe; w.big || u == 0xfeff {
			return w.next(in)
		}
	}
	if err != nil || !utf16.IsSurrogate(rune(u)) {
		return rune(u), err
	}
	low, err := w.unit(in)
	return utf16.DecodeRune(rune(u), rune(low)), err
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
	for _, d := range Delims {
		if bytes.IndexByte(several, d.Delim) >= 0 {
			names = append(names, d.Name)
		}
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
