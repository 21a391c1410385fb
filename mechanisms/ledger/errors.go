package ledger

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
)

// ErrUnusable is wrapped by errors that say that a file or a charge is not what it
// would have to be.
var ErrUnusable = errors.New("unusable ledger")

// unusableError hides its mark from what the user reads.
type unusableError struct{ error }

func (e *unusableError) Is(target error) bool { return target == ErrUnusable }
func (e *unusableError) Unwrap() error        { return e.error }

func unusable(format string, args ...any) error {
	return &unusableError{fmt.Errorf(format, args...)}
}

// ExhaustedError says that a budget has no room for a charge.
type ExhaustedError struct {
	Path    string
	Charge  Charge
	History *History // without the charge
}

func (e *ExhaustedError) Error() string {
	return fmt.Sprintf("%s has no room for ε = %s, δ = %s", e.Path, e.Charge.Epsilon.RatString(), e.Charge.Delta.RatString())
}

// The result codes of SQLite that have a cause outside the program: see
// https://www.sqlite.org/rescode.html.
var causes = map[int]string{
	5:  "another process has kept it busy for too long: run this again, or see what holds it",
	8:  "it cannot be written to: a ledger has to be, before anything is released",
	11: "it is damaged: take a copy that is not, and charge what was released since",
	13: "the disk is full",
	14: "it cannot be opened: a ledger needs the right to read and write the file and its directory",
	26: "it is not a ledger: no SQLite database",
}

// isBusy tells whether an error is that of another process that reads or writes.
func isBusy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == 5
}

// plain says what an error of SQLite means.
func plain(path string, err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	if cause, ok := causes[e.Code()&0xff]; ok {
		return unusable("%s: %s", path, cause)
	}
	return fmt.Errorf("%s: %w", path, err)
}
