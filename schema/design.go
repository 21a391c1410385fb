package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dpreg/dpreg/internal/files"
)

// Design is the regression that is asked for: a response, covariates, all with public
// bounds, and whether there is an intercept; where there is no covariate, there is one. Its JSON is the
// "schema" object of a release file.
//
// The order of v, here and in every package, is (x_1, ..., x_p, y).
type Design struct {
	Response   Column   `json:"response"`
	Covariates []Column `json:"covariates"`
	Factors    []Factor `json:"factors,omitempty"` // those of which dummies are among the columns, or in terms
	Sources    []Column `json:"sources,omitempty"` // columns of rows that terms are made of
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
	var f Formula
	var err error
	switch {
	case strings.TrimSpace(formula) != "":
		if f, err = ParseFormula(formula); err != nil {
			return nil, err
		}
	case len(s.Columns) < 2:
		return nil, errors.New("a regression needs two columns, a covariate and a response; or the formula says so, as in 'y ~ 1'")
	default:
		f = Formula{Response: s.Columns[len(s.Columns)-1].Name, All: true, Intercept: true}
	}
	d, err := s.vocabulary().design(f)
	if err == nil {
		err = d.checkTwice()
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Validate checks that there is a covariate or an intercept and no more than MaxColumns in all,
// that names are sound and stand only
// once, that every column is a number, a boolean or the dummy of a level of one of
// the factors, and that its bounds are finite, in order
// and within reach of float64 arithmetic (half-widths of 1e-50 to 1e50).
func (d *Design) Validate() error {
	if len(d.Covariates) == 0 && !d.Intercept {
		return errors.New("a regression needs a covariate or an intercept")
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
	if err := d.validateFactors(); err != nil {
		return err
	}
	return d.validateMade()
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

// Factor is a categorical column with its public levels, of which the first is
// the baseline.
type Factor struct {
	Name   string   `json:"name"`
	Levels []string `json:"levels"`
}

// dummy is the 0/1 column of a level, named as R's model.matrix names it: the
// column's name immediately followed by the level.
func (f Factor) dummy(level string) Column {
	return Column{Name: f.Name + level, Lower: 0, Upper: 1, Factor: f.Name, Level: level}
}

// coding lists the levels that get a dummy: all but the baseline, or where full
// all of them. R codes the first factor of a formula fully where there is no
// intercept, since its dummies add up to the one that is left out.
func (f Factor) coding(full bool) []string {
	if full {
		return f.Levels
	}
	return f.Levels[1:]
}

// checkLevels returns what is wrong with the levels of a factor. Cells are
// compared without the spaces around them, so that levels must have none.
func checkLevels(levels []string) error {
	switch n := len(levels); {
	case n == 0:
		return errors.New("a factor needs levels, and there is none")
	case n == 1:
		return errors.New("a factor needs at least two levels: with one only it is a constant")
	case n > MaxColumns:
		return fmt.Errorf("%d levels are too many, at most %d are possible: merge some", n, MaxColumns)
	}
	for i, level := range levels {
		if err := checkTyped(level); err != nil {
			return fmt.Errorf("level %d: %w", i+1, err)
		}
		if slices.Contains(levels[:i], level) {
			return fmt.Errorf("level %q stands twice", level)
		}
	}
	return nil
}

// FactorNamed returns the factor with that name, nil where there is none.
func FactorNamed(factors []Factor, name string) *Factor {
	for i := range factors {
		if factors[i].Name == name {
			return &factors[i]
		}
	}
	return nil
}

func (d *Design) factor(name string) *Factor { return FactorNamed(d.Factors, name) }

// validateFactors checks the factors and their dummies: every dummy is one of a
// level of a factor, named after both, from 0 to 1 (or from -1 to 1, as the bounds
// of columns that were scaled without a shift are restated); no factor is without
// dummies, has a column's name, or is coded so that an intercept is a sum of dummies.
func (d *Design) validateFactors() error {
	columns, of := d.Columns(), d.columnsOf()
	for _, c := range columns {
		if err := d.validateDummy(c); err != nil {
			return fmt.Errorf("column %q: %w", c.Name, err)
		}
	}
	for i, f := range d.Factors {
		if err := CheckName(f.Name); err != nil {
			return fmt.Errorf("factor %d: %w", i+1, err)
		}
		if err := checkLevels(f.Levels); err != nil {
			return fmt.Errorf("factor %q: %w", f.Name, err)
		}
		switch {
		case FactorNamed(d.Factors[:i], f.Name) != nil:
			return fmt.Errorf("factor %q is given twice", f.Name)
		case !slices.Contains(of, f.Name):
			return fmt.Errorf("factor %q has no column", f.Name)
		case Index(columns, f.Name) >= 0:
			return fmt.Errorf("%q is both a factor and a column", f.Name)
		}
	}
	return d.validateCoding()
}

// validateDummy checks what Factor, Level and Type say of a column.
func (d *Design) validateDummy(c Column) error {
	if c.Factor == "" && c.Level == "" && c.Type != typeBoolean {
		return nil
	}
	if c.Upper != 1 || c.Lower != 0 && c.Lower != -1 {
		return fmt.Errorf("it is 0 or 1, and cannot have the bounds %v:%v", c.Lower, c.Upper)
	}
	if c.Type == typeBoolean {
		if c.Factor != "" || c.Level != "" {
			return errors.New("it is both boolean and a level of a factor")
		}
		return nil
	}
	f := d.factor(c.Factor)
	switch {
	case f == nil:
		return fmt.Errorf("it is a level of a factor %q, which is not described", c.Factor)
	case !slices.Contains(f.Levels, c.Level):
		return fmt.Errorf("factor %q has no level %q", c.Factor, c.Level)
	case c.Name != c.Factor+c.Level:
		return fmt.Errorf("level %q of factor %q must have the name %q", c.Level, c.Factor, c.Factor+c.Level)
	}
	return nil
}

// validateCoding refuses covariates that are collinear by their coding: the
// dummies of all levels add up to 1, which the intercept is already, or another
// factor with all levels.
func (d *Design) validateCoding() error {
	count := make(map[string]int)
	for _, c := range d.Covariates {
		count[c.Factor]++
	}
	constant := ""
	if d.Intercept {
		constant = "the intercept"
	}
	for _, f := range d.Factors {
		switch {
		case count[f.Name] < len(f.Levels):
		case constant != "":
			return fmt.Errorf("the dummies of all levels of %q add up to 1, and so does %s: leave one of them out, such as %q",
				f.Name, constant, f.Name+f.Levels[0])
		default:
			constant = fmt.Sprintf("all levels of %q", f.Name)
		}
	}
	return nil
}
