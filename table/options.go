package table

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dpreg/dpreg/schema"
)

// Missing says what becomes of a row in which a cell of the model is missing.
type Missing string

const (
	// MissingError ends the sequence with ErrMissing; the empty Missing means it too.
	MissingError Missing = "error"
	// Midpoint puts the middle of the public bounds in place of the cell; a factor
	// has all its dummies at ½. Rows stay rows, so any neighbours are served; slopes
	// are biased, as a rule towards 0.
	Midpoint Missing = "midpoint"
	// Drop leaves the row out. Exchanging one row for another may then change the
	// number of rows, so this is for add-remove neighbours only: the caller sees
	// to it. That no row is left is not an error, which would tell of the rows.
	Drop Missing = "drop"
)

// Options say how cells are read. The zero value serves.
type Options struct {
	Missing Missing
	// NA are the texts of cells that mean missing, compared without schema.Space
	// around them. An empty cell always does. nil stands for "NA"; a list without
	// texts for none but the empty one.
	NA []string
	// Empty says that a table may be without rows. Else that is an error, which tells it
	// from a table with a row: a release for add-remove neighbours must not.
	Empty bool
}

// Settle returns o with its defaults, or what is wrong with it.
func (o Options) Settle() (Options, error) {
	if o.Missing == "" {
		o.Missing = MissingError
	}
	if !slices.Contains([]Missing{MissingError, Midpoint, Drop}, o.Missing) {
		return o, fmt.Errorf("missing cells: %q is none of error, midpoint and drop", o.Missing)
	}
	if o.NA == nil {
		o.NA = []string{"NA"}
	}
	texts := []string{""}
	for _, text := range o.NA {
		texts = append(texts, schema.Trim(text))
	}
	o.NA = texts
	return o, nil
}

// scaled is what the rows of a design hold, in scaled units.
func (o Options) scaled(d *schema.Design) (wanted, error) {
	if err := d.Validate(); err != nil {
		return wanted{}, err
	}
	o, err := o.Settle()
	frame := d.Frame()
	return wanted{columns: d.Columns(), factors: d.Factors, frame: &frame, options: o}, err
}

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
