package schema

import (
	"errors"
	"fmt"
	"strings"

	"github.com/dpreg/dpreg/internal/files"
)

// Design is the regression that is asked for: a response, at least one covariate,
// all with public bounds, and whether there is an intercept. Its JSON is the
// "schema" object of a release file.
//
// The order of v, here and in every package, is (x_1, ..., x_p, y).
type Design struct {
	Response   Column   `json:"response"`
	Covariates []Column `json:"covariates"`
	Factors    []Factor `json:"factors,omitempty"` // those of which dummies are among the columns
	Intercept  bool     `json:"intercept"`
}

// MaxColumns is the largest number of columns of a design, response included. A
// release holds the products of every two: half a million numbers for so many.
const MaxColumns = 1000

// Columns returns the m = p+1 columns in the order of v: covariates, response.
func (d *Design) Columns() []Column {
	return append(append(make([]Column, 0, len(d.Covariates)+1), d.Covariates...), d.Response)
}

// Design resolves a formula (see ParseFormula) against the columns of s. The
// empty formula takes the last column as response and all others as covariates.
//
// A column with levels is coded by 0/1 dummies, as R codes it by default: one for
// each level but the first, which is the baseline. Without an intercept the first
// factor of the formula has one for each level.
//
// Errors: what ParseFormula refuses, a name that s has not, a response that is
// categorical, and what Validate refuses of the columns that are used; other
// columns may be as they are.
func (s *Schema) Design(formula string) (*Design, error) {
	if len(s.Columns) < 2 {
		return nil, errors.New("a regression needs two columns, a covariate and a response")
	}
	f := Formula{Response: s.Columns[len(s.Columns)-1].Name, All: true, Intercept: true}
	if strings.TrimSpace(formula) != "" {
		var err error
		if f, err = ParseFormula(formula); err != nil {
			return nil, err
		}
	}
	return s.vocabulary().design(f)
}

// Validate checks that there is a covariate and no more than MaxColumns in all,
// that names are sound and stand only
// once, that every column is a number, a boolean or the dummy of a level of one of
// the factors, and that its bounds are finite, in order
// and within reach of float64 arithmetic (half-widths of 1e-50 to 1e50).
func (d *Design) Validate() error {
	if len(d.Covariates) == 0 {
		return errors.New("a regression needs at least one covariate")
	}
	if m := len(d.Covariates) + 1; m > MaxColumns {
		return fmt.Errorf("%d columns are too many, at most %d are possible: name fewer covariates in the formula", m, MaxColumns)
	}
	seen := make(map[string]bool, len(d.Covariates))
	for i, c := range d.Covariates {
		if err := CheckName(c.Name); err != nil {
			return fmt.Errorf("covariate %d: %w", i+1, err)
		}
		if seen[c.Name] {
			return fmt.Errorf("covariate %q is given twice", c.Name)
		}
		seen[c.Name] = true
	}
	if err := CheckName(d.Response.Name); err != nil {
		return fmt.Errorf("response: %w", err)
	}
	if seen[d.Response.Name] {
		return fmt.Errorf("column %q is both response and covariate", d.Response.Name)
	}
	return d.validateBounds()
}

func (d *Design) validateBounds() error {
	columns := d.Columns()
	for _, c := range columns {
		if err := c.checkType(); err != nil {
			return err
		}
	}
	if err := checkBounded(columns); err != nil {
		return err
	}
	for _, c := range columns {
		if err := c.checkBounds(); err != nil {
			return fmt.Errorf("column %q: %w", c.Name, err)
		}
	}
	return d.validateFactors()
}

// checkType refuses a column that cannot be used.
func (c Column) checkType() error {
	switch c.Type {
	case "", typeBoolean:
		return nil
	case typeString:
		return fmt.Errorf("column %q is of type %q without public levels: list them in the schema, as \"constraints\": {\"enum\": [\"a\", \"b\"]}; "+
			"or name the columns to use in the formula and leave it out", c.Name, c.Type)
	}
	return fmt.Errorf("column %q is of type %q, and only numbers, booleans and texts with public levels can be used; "+
		"name the columns to use in the formula and leave it out", c.Name, c.Type)
}

// checkBounded names all columns that still need bounds, and what to type.
func checkBounded(columns []Column) error {
	var names, flags []string
	for _, c := range columns {
		if !c.Bounded() {
			names = append(names, fmt.Sprintf("%q", c.Name))
			flags = append(flags, "--bounds "+files.Quoted(c.Name+"=LOWER:UPPER"))
		}
	}
	if names == nil {
		return nil
	}
	return fmt.Errorf("no bounds for %s: give %s, or fill in the template that `dpreg schema data.csv` writes; "+
		"take them from public knowledge: bounds read off the data would break the privacy guarantee",
		strings.Join(names, ", "), strings.Join(flags, " "))
}
