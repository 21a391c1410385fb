// Package jsontree reads JSON files that may be anything: strictly, and with errors that
// repeat nothing of them.
package jsontree

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Number is a number as it is written.
type Number string

// maxDepth bounds how deep values may nest.
const maxDepth = 64

var errDeep = fmt.Errorf("nested deeper than %d levels", maxDepth)

// Error is what is wrong, and where.
type Error struct {
	Pointer jsontext.Pointer // of the value
	Line    int
	Err     error
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap gives the mistake itself.
func (e *Error) Unwrap() error { return e.Err }

// Decode reads one JSON value into maps, slices, strings, bools, nil and Numbers. Keys that
// stand twice are refused, and those that differ in case are told apart, so that a file
// cannot mean two things to two readers. Errors are *Error.
func Decode(text []byte) (tree any, err error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowInvalidUTF8(true))
	err = json.UnmarshalDecode(d, &tree, json.WithUnmarshalers(json.UnmarshalFromFunc(
		func(d *jsontext.Decoder, v *any) error {
			switch {
			case d.StackDepth() > maxDepth:
				return errDeep
			case d.PeekKind() != '0':
				return errors.ErrUnsupported // the library's own way
			}
			number, err := d.ReadValue()
			*v = Number(number)
			return err
		})))
	at, wrong, syntax := jsontext.Pointer(""), errors.New("not valid JSON"), new(jsontext.SyntacticError)
	if errors.As(err, &syntax) {
		at = syntax.JSONPointer
	}
	switch {
	case err == nil:
		if _, err = d.ReadToken(); err == io.EOF {
			return tree, nil
		}
		wrong = errors.New("something follows the end of the JSON value")
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		wrong = errors.New("not valid JSON: it ends too early")
	case errors.Is(err, jsontext.ErrDuplicateName):
		wrong = errors.New("a key stands twice in one object")
	case errors.Is(err, errDeep):
		wrong = errDeep
	}
	end := d.InputOffset()
	if errors.As(err, &syntax) {
		end = syntax.ByteOffset
	}
	return nil, &Error{at, 1 + bytes.Count(text[:end], []byte("\n")), wrong}
}
