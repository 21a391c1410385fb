package release

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// A strict reader of JSON, value by value, into the fields they belong to. It
// differs from encoding/json's own in that unknown and repeated keys, missing
// fields, null and numbers out of range are errors that name the field's path,
// and in that memory grows with the values that are wanted only.

const (
	// maxBytes bounds the size of a release. A release of a thousand columns,
	// the matrix written whole in full precision, has about 25 MB.
	maxBytes = 64 << 20
	// maxArray bounds an array: a square matrix of more rows than this would
	// not fit in maxBytes.
	maxArray = 8192
	// maxDepth bounds the nesting of a value that is skipped.
	maxDepth = 64
)

var errTooLarge = fmt.Errorf("larger than the %d MiB that a release may have", maxBytes>>20)

// limited reads left bytes and then fails, where io.LimitReader would end.
type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooLarge
	}
	if int64(len(p)) > l.left {
		p = p[:l.left]
	}
	n, err := l.r.Read(p)
	l.left -= int64(n)
	return n, err
}

type decoder struct{ tokens *json.Decoder }

func newDecoder(r io.Reader) *decoder {
	d := json.NewDecoder(&limited{r: r, left: maxBytes + 1})
	d.UseNumber()
	return &decoder{d}
}

// token is the next token, with errors in a reader's words.
func (d *decoder) token() (json.Token, error) {
	t, err := d.tokens.Token()
	var syntax *json.SyntaxError
	switch {
	case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("the file ends early")
	case errors.As(err, &syntax) && d.tokens.InputOffset() == 0:
		// Perhaps the data themselves: repeat nothing of it.
		return nil, errors.New("not a JSON file")
	case errors.As(err, &syntax):
		return nil, fmt.Errorf("not JSON: %v (at byte %d)", syntax, d.tokens.InputOffset())
	}
	return t, err
}

// end refuses anything but white space after the value.
func (d *decoder) end() error {
	switch _, err := d.tokens.Token(); {
	case err == io.EOF:
		return nil
	case errors.Is(err, errTooLarge):
		return err
	}
	return fmt.Errorf("something follows the end of the release (at byte %d)", d.tokens.InputOffset())
}

// field is a key of an object and what reads its value. hint says what to
// write where a required field is missing.
type field struct {
	name     string
	hint     string
	optional bool
	read     func() error
}

// errUnknown is wrapped by the error for a key that the format does not have.
var errUnknown = errors.New("unknown field")

// object reads an object of these fields. An unknown key is reported only
// after the rest, so that a "format" further on can explain it.
func (d *decoder) object(fields []field) error {
	if err := d.delim('{', "an object"); err != nil {
		return err
	}
	var unknown error
	seen := make([]bool, len(fields))
	for d.tokens.More() {
		t, err := d.token()
		if err != nil {
			return err
		}
		key := t.(string) // the decoder accepts no other key
		i := find(fields, key)
		switch {
		case i < 0:
			if unknown == nil {
				unknown = within(abbreviate(key), fmt.Errorf("%w; the fields here are %s", errUnknown, names(fields)))
			}
			err = d.skip()
		case seen[i]:
			err = errors.New("stands twice")
		default:
			seen[i] = true
			err = fields[i].read()
		}
		if err != nil {
			return within(abbreviate(key), err)
		}
	}
	if _, err := d.token(); err != nil {
		return err
	}
	if unknown != nil {
		return unknown
	}
	for i, f := range fields {
		if !seen[i] && !f.optional {
			return within(f.name, fmt.Errorf("missing; %s", f.hint))
		}
	}
	return nil
}

// array reads an array, item by item.
func (d *decoder) array(item func() error) error {
	if err := d.delim('[', "an array"); err != nil {
		return err
	}
	for i := 0; d.tokens.More(); i++ {
		if i == maxArray {
			return fmt.Errorf("more than %d entries", maxArray)
		}
		if err := item(); err != nil {
			return within(index(i), err)
		}
	}
	_, err := d.token()
	return err
}

// skip reads over one value.
func (d *decoder) skip() error {
	for depth := 0; ; {
		t, err := d.token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
		if depth > maxDepth {
			return errors.New("nested too deeply")
		}
	}
}

func (d *decoder) delim(want json.Delim, what string) error {
	t, err := d.token()
	if err == nil && t != want {
		err = fmt.Errorf("must be %s", what)
	}
	return err
}

func find(fields []field, key string) int {
	for i, f := range fields {
		if f.name == key {
			return i
		}
	}
	return -1
}

func names(fields []field) string {
	all := make([]string, len(fields))
	for i, f := range fields {
		all[i] = f.name
	}
	return strings.Join(all, ", ")
}

// abbreviate keeps a stray key from filling the screen.
func abbreviate(key string) string {
	const most = 60
	if len(key) > most {
		return strings.ToValidUTF8(key[:most], "") + "..."
	}
	return key
}
