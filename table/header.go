package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dpreg/dpreg/schema"
)

// publicNames are the names of the columns, where they are known to be names: Source.Header.
func (r *blockReader) publicNames(known []string) ([]string, error) {
	b := &block{}
	names, err := r.names(b, known)
	if err != nil || r.json || slices.ContainsFunc(names, func(name string) bool { return slices.Contains(known, name) }) {
		return names, err
	}
	if len(known) > 0 {
		err = fmt.Errorf("the first line may be a row of data, and is not shown: it has no column %s", schema.Listed(slices.Compact(slices.Sorted(slices.Values(known)))))
	} else {
		err = b.below(names)
	}
	if err != nil {
		return nil, &Error{File: r.name, Line: b.line - 1, Err: err}
	}
	return names, nil
}

// recognised tells whether all names that the user gave, of which there are some, stand in
// the first line.
func recognised(names, known []string) bool {
	return len(known) > 0 && !slices.ContainsFunc(known, func(name string) bool { return !slices.Contains(names, name) })
}

// maxBelow is how many rows below a header are looked at, if a block has so many.
const maxBelow = 1000

// wayOut is what to do about a header that looks like a row.
const wayOut = "; the first line must name the columns: if it does, name those of the model by --bounds, --levels, --formula or a schema"

var errUnknown = errors.New("the first line may be a row of data, since neither numbers nor truth values stand below it" + wayOut)

// below tells by the rows that follow whether a header can be one.
func (b *block) below(names []string) error {
	records, contrast := b.records("", len(names)), false
	for i := range maxBelow {
		record, err := records.next()
		if err == io.EOF && i == 0 {
			return nil // a table without rows
		}
		if err != nil {
			break // at the end, or where the rows will tell
		}
		for i, cell := range record {
			if cell = schema.Trim(cell); cell == "" || names[i] == "" {
				continue
			}
			if cell == names[i] {
				return fmt.Errorf("this looks like a row of data, since field %d stands again below it, on line %d"+wayOut, i+1, records.line(0))
			}
			contrast = contrast || number.MatchString(cell)
		}
	}
	if !contrast {
		return errUnknown
	}
	return nil
}

// header reads and checks the first record, and leaves in b, which is empty before, what follows it. known are the
// names that the user gave.
func (r *blockReader) header(b *block, known []string) ([]string, error) {
	for len(bytes.TrimLeft(b.text, "\r\n")) == 0 { // empty lines
		if err := r.next(b); err == io.EOF {
			return nil, &Error{File: r.name, Err: errors.New("the file is empty; its first line must name the columns")}
		} else if err != nil {
			return nil, err
		}
		if err := checkEncoding(b.text); err != nil {
			return nil, &Error{File: r.name, Err: err}
		}
	}
	var err error
	if r.form.Delim, err = r.form.delimOf(b.text, known); err != nil {
		return nil, &Error{File: r.name, Line: 1, Err: err}
	}
	b.delim = r.form.Delim
	records := b.records(r.name, 0)
	record, err := records.next() // there is one
	if err != nil {
		return nil, err
	}
	names, err := checkHeader(record, known)
	if err != nil {
		return nil, &Error{File: r.name, Line: records.line(0), Err: err}
	}
	b.skip(min(int(records.csv.InputOffset()), len(b.text)))
	return names, nil
}

// These are values rather than names of columns. number fits texts with digits and without
// letters, as numbers, dates and telephone numbers are, numbers with an exponent or a unit,
// times and truth values; other fits what means missing, and addresses of e-mail.
var (
	units  = `[kmµ]?g|[cmk]?m|[dm]?l|lbs?|oz|ft|in|mmhg|bpm|°?[cf]|y|yrs?|years?|h|min|s|usd|eur`
	number = regexp.MustCompile(`^(\P{L}*[0-9]\P{L}*|[-+.0-9]+[eE][-+0-9]+|[0-9]{4}-[0-9]{2}-[0-9]{2}T.*|\P{L}*[0-9] ?(?i:[ap]\.?m\.?|` + units + `)|(?i:true|false))$`)
	other  = regexp.MustCompile(`^((?i:#?n/a|<?na>?|nan|null|none|[-+]?inf(inity)?)|\\N|[-.?]|\S+@\S+\.\S+)$`)
)

// checkHeader returns the trimmed names. Its errors give positions and not the
// names: where there is no header, the first line is somebody's row.
func checkHeader(record, known []string) ([]string, error) {
	names, unnamed := make([]string, len(record)), 0
	for i, field := range record {
		names[i] = schema.Trim(field)
	}
	sure := recognised(names, known)
	for i, field := range record {
		if !utf8.ValidString(field) {
			return nil, errEncoding
		}
		if strings.Contains(names[i], "\r") {
			return nil, errors.New("lines end with a carriage return alone; they must end with a line feed")
		}
		if sure {
			continue
		}
		if number.MatchString(names[i]) || other.MatchString(names[i]) {
			return nil, fmt.Errorf("this looks like a row of data, since field %d is no name but a value"+wayOut, i+1)
		}
		if names[i] == "" {
			unnamed++
		}
	}
	if 2*unnamed > len(names) {
		return nil, fmt.Errorf("this looks like a row of data, since %d of %d fields are empty"+wayOut, unnamed, len(names))
	}
	if _, err := schema.FromHeader(names); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	return names, nil
}

// errEncoding is of a text that is not UTF-8. Windows-1252 has all letters of Latin-1.
var errEncoding = errors.New("this is not UTF-8, but probably Windows-1252 or Latin-1: --encoding latin1 reads it")

// checkEncoding tells UTF-16 and UTF-32 by their byte order mark, or by the zeros between
// the bytes of ASCII in the first line, of which UTF-32 has three for each.
func checkEncoding(text []byte) error {
	start, _, _ := strings.Cut(string(text[:min(len(text), 256)]), "\n")
	order, width, zeros := "", 16, strings.Count(start, "\x00")
	if 5*zeros > 3*len(start) {
		width = 32
	}
	switch zero := strings.IndexByte(start, 0); {
	case strings.HasPrefix(start, "\xff\xfe"), zero%2 == 1 && zeros > len(start)/4:
		order = "LE"
	case strings.HasPrefix(start, "\xfe\xff"), zero == 0 && zeros > len(start)/4:
		order = "BE"
	default:
		return nil
	}
	if width == 16 && (order == "LE" || strings.HasPrefix(start, "\xfe\xff")) {
		return errors.New("this is not UTF-8, but UTF-16: --encoding utf-16 reads it")
	}
	return fmt.Errorf("this is not UTF-8, but UTF-%d: convert the file, by iconv -f UTF-%[1]d%s -t UTF-8", width, order)
}
