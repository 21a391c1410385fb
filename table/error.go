package table

import (
	"errors"
	"fmt"
	"strings"
)

// Error is what is wrong with a file, and where. It never holds a cell's text, so
// that a log or a bug report does not publish a row.
type Error struct {
	File   string
	Line   int    // 1-based, 0 where the whole file is meant
	Column string // name from the schema, empty where the whole line is meant
	Err    error
}

// ErrMissing is the error of a cell that is missing, which Options can allow.
var ErrMissing = errors.New("missing value: every row must be complete in the columns of the model")

// Offer says of an error what else can be done, where a cell is missing.
func Offer(err error) error {
	if errors.Is(err, ErrMissing) {
		return fmt.Errorf("%w; or put the middle of the public bounds in place of such cells: --missing midpoint; "+
			"or, in a release, leave their rows out: --missing drop --neighbours add-remove", err)
	}
	return err
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": ")
	if e.Column != "" {
		fmt.Fprintf(&b, "column %q: ", e.Column)
	}
	b.WriteString(e.Err.Error())
	return b.String()
}

// Unwrap returns what is wrong, without the place.
func (e *Error) Unwrap() error { return e.Err }
