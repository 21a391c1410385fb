// Package schema holds what is public about a table: its columns, their bounds,
// the formula of a regression, and the affine maps between the data's units and
// the scaled units [-1, 1] in which statistics, noise and samplers live.
//
// Nothing here reads the data. Bounds come from the custodian, who knows them
// without looking at the rows: a bound read off the data would itself be an
// unprotected release.
package schema

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Column is one column of a table with its public bounds, in the data's units.
type Column struct {
	Name  string  `json:"name"`
	Lower float64 `json:"lower"` // NaN: not known yet
	Upper float64 `json:"upper"` // NaN: not known yet

	// Type is the Frictionless type where it is no number ("string", "date", ...),
	// and empty for numbers. A schema may hold any; a design has numbers and
	// booleans, which are 0 or 1.
	Type string `json:"type,omitzero"`

	// Factor and Level say of a column of a Design that it is the dummy of this
	// level: 1 where the factor has it, else 0. Both are empty for other columns.
	Factor string `json:"factor,omitzero"`
	Level  string `json:"level,omitzero"`

	// Term says of a column of a Design that it is made of others, the product of these factors:
	// functions of Sources, as a formula has them, and names of dummies. nil for other columns.
	Term []string `json:"term,omitzero"`

	// Levels are the public levels of a categorical column of a Schema, the
	// baseline first; nil for others. A Design has dummies and Factors instead.
	Levels []string `json:"-"`
}

// Frictionless types that are no numbers but can be used.
const (
	typeString  = "string"
	typeBoolean = "boolean"
)

// Binary reports whether the column is known to be 0 or 1: a dummy or a boolean.
func (c Column) Binary() bool { return c.Factor != "" || c.Type == typeBoolean }

// Boolean reports whether the column holds truth values.
func (c Column) Boolean() bool { return c.Type == typeBoolean }

// FactorName names the factor that the column is a dummy of: a truth value is its own. Empty for other columns.
func (c Column) FactorName() string {
	if c.Boolean() {
		return c.Name
	}
	return c.Factor
}

// Bounded reports whether both bounds are known.
func (c Column) Bounded() bool { return !math.IsNaN(c.Lower) && !math.IsNaN(c.Upper) }

// unbounded is a numeric column whose bounds nobody has told yet.
func unbounded(name string) Column {
	return Column{Name: name, Lower: math.NaN(), Upper: math.NaN()}
}

// Half-widths outside these limits would overflow where results are mapped back
// to the data's units: the map holds products such as (h_j h_k / h_y²).
const (
	minHalf = 1e-50
	maxHalf = 1e50
)

// checkBounds returns what is wrong with the bounds of c, without naming c.
func (c Column) checkBounds() error {
	switch {
	case !c.Bounded():
		return errors.New("has no bounds")
	case math.IsInf(c.Lower, 0) || math.IsInf(c.Upper, 0):
		return errors.New("has a bound that is not finite")
	case c.Lower >= c.Upper:
		return fmt.Errorf("lower bound %v is not below upper bound %v", c.Lower, c.Upper)
	}
	half := float64(c.Upper/2) - float64(c.Lower/2)
	if half < minHalf || half > maxHalf || max(math.Abs(c.Lower), math.Abs(c.Upper)) > maxHalf {
		return fmt.Errorf("bounds %v:%v are too close or too far apart: use other units", c.Lower, c.Upper)
	}
	return nil
}

// maxName bounds the length of a column's name, in bytes.
const maxName = 1024

// CheckName returns what is wrong with a column's name: empty, too long, not
// UTF-8, with control characters or others that are not seen, such as those that turn
// the direction of writing, or with spaces around it. The error does not repeat the
// name, since the header of a file without one is a row of data.
func CheckName(name string) error {
	switch {
	case name == "":
		return errors.New("the name is empty")
	case len(name) > maxName:
		return fmt.Errorf("the name is longer than %d bytes", maxName)
	case !utf8.ValidString(name):
		return errors.New("the name is not valid UTF-8")
	case strings.ContainsFunc(name, unicode.IsControl):
		return errors.New("the name has control characters in it")
	case strings.TrimSpace(name) != name:
		at, _ := utf8.DecodeRuneInString(name)
		if !unicode.IsSpace(at) {
			at, _ = utf8.DecodeLastRuneInString(name)
		}
		return fmt.Errorf("the name has spaces around it (%U): take them out", at)
	}
	if i := strings.IndexFunc(name, unseen); i >= 0 {
		r, _ := utf8.DecodeRuneInString(name[i:])
		return fmt.Errorf("the name has %U in it, which is not seen: take it out", r)
	}
	return nil
}

// unseen tells of format characters, of separators of lines and paragraphs, and of the
// letters that fill up Korean syllables. The two that join letters, or keep them apart,
// Persian and others are written with.
func unseen(r rune) bool {
	return strings.ContainsRune("\u115f\u1160\u3164\uffa0", r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) && !unicode.Is(unicode.Join_Control, r)
}

// checkTyped is CheckName of a name that somebody wrote, which the error can show.
func checkTyped(name string) error {
	err := CheckName(name)
	if err != nil && name != "" && len(name) <= maxName {
		err = fmt.Errorf("%+q: %w", name, err)
	}
	return err
}

// Schema lists the columns of a table in file order. A column may have no bounds
// yet; a Design asks for those of the columns it uses.
type Schema struct {
	Columns []Column
}

// FromHeader returns the schema of a table of which only the header is known: its
// names in order, without bounds. Unnamed columns, such as the row numbers that R
// and pandas write, are left out. Errors: a bad or repeated name, no name at all.
func FromHeader(names []string) (*Schema, error) {
	s := &Schema{}
	seen := make(map[string]int, len(names))
	for i, name := range names {
		if name == "" {
			continue
		}
		if err := CheckName(name); err != nil {
			return nil, fmt.Errorf("column %d: %w", i+1, err)
		}
		if first, ok := seen[name]; ok {
			return nil, fmt.Errorf("columns %d and %d have the same name", first, i+1)
		}
		seen[name] = i + 1
		s.Columns = append(s.Columns, unbounded(name))
	}
	if len(s.Columns) == 0 {
		return nil, errors.New("no column has a name")
	}
	return s, nil
}

// Index returns the position of the column with that name, or -1.
func (s *Schema) Index(name string) int { return Index(s.Columns, name) }

// Known lists the names of columns that a user gave: by a schema, nil where there is none,
// by bounds, and by a formula. What is wrong with a formula is told elsewhere.
func Known(described *Schema, bounds Bounds, formula string) (names []string) {
	columns := slices.Clone(bounds)
	if described != nil {
		columns = append(columns, described.Columns...)
	}
	names = Names(columns)
	if f, err := ParseFormula(formula); err == nil {
		names = append(names, f.Columns()...)
	}
	return names
}

// WithBounds returns a copy of s in which the bounds and levels b stand in place of those
// that s had. Those of a column that s has not, and bounds of one that is categorical, are an error.
func (s *Schema) WithBounds(b Bounds) (*Schema, error) {
	out := &Schema{Columns: append([]Column(nil), s.Columns...)}
	for _, c := range b {
		i := s.Index(c.Name)
		if i < 0 {
			what := "bounds"
			if c.Levels != nil {
				what = "levels"
			}
			return nil, fmt.Errorf("%s: no column %q; the columns are %s", what, c.Name, listed(s.Columns))
		}
		if c.Levels != nil {
			out.Columns[i] = c
			continue
		}
		if out.Columns[i].Boolean() && c.Lower == 0 && c.Upper == 1 {
			continue
		}
		if out.Columns[i].Levels != nil || out.Columns[i].Boolean() {
			return nil, fmt.Errorf("bounds: column %q is no number, and needs none: its levels are public", c.Name)
		}
		out.Columns[i].Lower, out.Columns[i].Upper = c.Lower, c.Upper
	}
	return out, nil
}

// WithOther returns a copy of s with a level for what has none: where a factor has one of this name, that is it, and other
// factors are left as they are; else every factor gets it as its last. s itself where other is empty. It is an error where no
// column is a factor, or the level cannot be one.
func (s *Schema) WithOther(other string) (*Schema, error) {
	if other == "" || slices.ContainsFunc(s.Columns, func(c Column) bool { return slices.Contains(c.Levels, other) }) {
		return s, nil
	}
	out, factors := &Schema{Columns: slices.Clone(s.Columns)}, 0
	for i, c := range out.Columns {
		if c.Levels == nil {
			continue
		}
		factors++
		out.Columns[i].Levels = append(slices.Clone(c.Levels), other)
		if err := checkLevels(out.Columns[i].Levels); err != nil {
			return nil, fmt.Errorf("other %q: %w", other, err)
		}
	}
	if factors == 0 {
		return nil, fmt.Errorf("other %q: no column has levels", other)
	}
	return out, nil
}

// maxListed is how many names an error lists.
const maxListed = 20

// Listed quotes names for a message, and counts those that are too many.
func Listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = strconv.Quote(name)
	}
	if more := len(names) - maxListed; more > 0 {
		quoted = append(quoted[:maxListed], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(quoted, ", ")
}

func listed(columns []Column) string { return Listed(Names(columns)) }

// Names are those of columns.
func Names(columns []Column) (names []string) {
	for _, c := range columns {
		names = append(names, c.Name)
	}
	return names
}
