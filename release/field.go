package release

import "strings"

// FieldError is a mistake in one field of a release. Field is its JSON path,
// such as statistics.sum_xx[1][0].
type FieldError struct {
	Field string
	Err   error
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Err.Error() }

// Unwrap gives the mistake itself.
func (e *FieldError) Unwrap() error { return e.Err }

// within puts a segment of the path in front of an error: a key, or an index
// in brackets.
func within(segment string, err error) error {
	if err == nil {
		return nil
	}
	inner, ok := err.(*FieldError)
	if !ok {
		return &FieldError{Field: segment, Err: err}
	}
	if !strings.HasPrefix(inner.Field, "[") {
		segment += "."
	}
	return &FieldError{Field: segment + inner.Field, Err: inner.Err}
}
