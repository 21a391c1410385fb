package custody

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/mechanisms/ledger"
	"github.com/dpreg/dpreg/persons"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

// What a custodian types of privacy, as decimals. Errors are *Error.

// ParsePrivacy reads a promise; delta is empty where there is none.
func ParsePrivacy(epsilon, delta, neighbours string) (p release.Privacy, err error) {
	p.Neighbours = release.Neighbours(neighbours)
	if p.Neighbours != release.ReplaceOne && p.Neighbours != release.AddRemove {
		return p, Misusef("--neighbours %q: %s or %s", neighbours, release.ReplaceOne, release.AddRemove)
	}
	if p.Delta, err = ParseDelta(delta); err != nil {
		return p, err
	}
	p.Epsilon, err = ParseEpsilon(epsilon)
	return p, err
}

// ParseEpsilon reads ε.
func ParseEpsilon(text string) (float64, error) {
	if text == "" {
		return 0, Misusef("--eps is missing: say how much privacy to spend, as in --eps 1 (from 0.1, strong, to 10, weak)")
	}
	eps, err := schema.ParseNumber(text)
	if err == nil {
		err = ssp.CheckEpsilon(eps)
	}
	if err != nil {
		return 0, Misusef("--eps %q: %w", text, err)
	}
	return eps, nil
}

// ParseDelta reads δ, 0 where text is empty.
func ParseDelta(text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	delta, err := schema.ParseNumber(text)
	if err == nil {
		err = ssp.CheckDelta(delta)
	}
	if err != nil {
		return 0, Misusef("--delta %q: %w; leave --delta out for pure ε, with Laplace noise", text, err)
	}
	return delta, nil
}

// ParseSteps reads a number of looks, or auto.
func ParseSteps(text string) (int, error) {
	if text == "auto" {
		return AutoSteps, nil
	}
	if k, err := strconv.Atoi(text); err == nil && k >= 1 && k <= MaxSteps {
		return k, nil
	}
	return 0, Misusef("--steps %q: a whole number from 1 to %d, or auto", text, MaxSteps)
}

// ParsePersons reads whose rows these are; rows is empty where it is not said.
func ParsePersons(column, rows string) (p Persons, err error) {
	if p.Column = column; rows != "" {
		if p.Rule, err = persons.ParseRule(rows); err != nil {
			return p, Misusef("--person-rows %w", err)
		}
	}
	return p, nil
}

// Named gives the columns of the rows called data, of these names and without bounds, and what the schema file, if there is
// one, describes of them: all but the column that says whose a row is, if there is one, which is none of a model.
func Named(names []string, person string, described *schema.Schema, data string) (all, _ *schema.Schema, err error) {
	if person != "" {
		at := slices.Index(names, person)
		if at < 0 {
			return nil, nil, Misusef("--person %s: %s has no such column", person, data)
		}
		names = slices.Delete(slices.Clone(names), at, at+1)
		if described != nil {
			others := *described
			others.Columns = slices.DeleteFunc(slices.Clone(described.Columns), func(c schema.Column) bool { return c.Name == person })
			described = &others
		}
	}
	if all, err = schema.FromHeader(names); err != nil {
		return nil, nil, Misusef("%s: %w", data, err)
	}
	return all, described, nil
}

// ReadSchema reads the schema file at path or, where that is empty, the one beside the rows,
// if it is there; s is nil where there is none. from is the file that was read.
func ReadSchema(path, beside string) (s *schema.Schema, from string, err error) {
	if path == "" {
		path = beside
		if _, err := os.Stat(path); path == "" || errors.Is(err, fs.ErrNotExist) {
			return nil, "", nil
		}
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, "", Misuse(err)
	}
	defer file.Close()
	s, err = schema.ReadSchema(file, path)
	return s, path, Misuse(err)
}

// Columns gives the columns that the rows called data have, all, with their public bounds:
// those of the schema that was read from a file, if it is not nil, and over them bounds. Where
// there is a schema, columns that it leaves out are not used unless bounds names them. say, if
// not nil, is told so.
func Columns(all, described *schema.Schema, bounds schema.Bounds, data, from string, say func(text string)) (*schema.Schema, error) {
	if described != nil {
		var err error
		if all, err = merge(all, described, bounds, data, from, say); err != nil {
			return nil, err
		}
	}
	all, err := all.WithBounds(bounds)
	if err != nil {
		return nil, Misusef("--%w", err)
	}
	return all, nil
}

// merge gives the columns in the rows' order with the schema's bounds.
func merge(all, described *schema.Schema, bounds schema.Bounds, data, from string, say func(text string)) (*schema.Schema, error) {
	for _, c := range described.Columns {
		if all.Index(c.Name) < 0 {
			return nil, Misusef("%s: it describes a column %q, which %s does not have; correct the name, or delete the field", from, c.Name, data)
		}
	}
	out := &schema.Schema{}
	var left []string
	for _, c := range all.Columns {
		switch i := described.Index(c.Name); {
		case i >= 0:
			out.Columns = append(out.Columns, described.Columns[i])
		case schema.Index(bounds, c.Name) >= 0:
			out.Columns = append(out.Columns, c)
		default:
			left = append(left, fmt.Sprintf("%q", c.Name))
		}
	}
	if say != nil {
		say("bounds from " + from)
		if left != nil {
			say("columns that it does not describe are left out: " + strings.Join(left, ", "))
		}
	}
	return out, nil
}

// Error says that an order was refused: nothing was released, and nobody saw noise.
type Error struct {
	Private bool // it was refused for privacy; else it is a mistake in the order or its files
	err     error
}

func (e *Error) Error() string { return e.err.Error() }
func (e *Error) Unwrap() error { return e.err }

// Misuse marks an error as one of the order. A run that was interrupted failed of that.
func Misuse(err error) error {
	var marked *Error
	if err == nil || errors.Is(err, context.Canceled) || errors.As(err, &marked) {
		return err
	}
	return &Error{err: err}
}

// Misusef is an error of the order.
func Misusef(format string, args ...any) error { return Misuse(fmt.Errorf(format, args...)) }

// Refusef is a refusal for privacy.
func Refusef(format string, args ...any) error { return &Error{true, fmt.Errorf(format, args...)} }

// LedgerError makes an *Error of what a ledger refuses.
func LedgerError(err error) error {
	var e *ledger.ExhaustedError
	var other *ledger.OtherDataError
	switch {
	case errors.As(err, &e):
		left, err := Left(e.History, e.Charge.Noise, e.Charge.Delta)
		if err != nil {
			return err
		}
		return Refusef("%s, the ledger of %s, has no room for epsilon = %s, delta = %s: nothing was charged or released.\n  Left for one more release: %s",
			e.Path, e.History.Budget.Data, Rational(e.Charge.Epsilon), Rational(e.Charge.Delta), left)
	case errors.As(err, &other):
		return Misusef("%w: nothing was charged or released.\n"+
			"  Of other persons:                   --ledger FILE names another ledger\n"+
			"  The same, with cells or rows anew:  dpreg ledger rebind %s", err, files.Quoted(other.Path))
	case errors.Is(err, ledger.ErrUnusable):
		return Misuse(err)
	}
	return err
}
