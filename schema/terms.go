package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpreg/dpreg/internal/expression"
)

// vocabulary is what the names in a formula stand for.
type vocabulary struct {
	listed  []Column // as an error lists them
	columns []Column // that can be named one by one
	factors []Factor // that can be named as a whole
	all     []string // what "." stands for, and the response
	sources []Column // that terms among the columns are made of
	make    bool     // dummies and terms are made: else they are among the columns
}

// vocabulary of a schema: columns, and factors of which dummies are made.
func (s *Schema) vocabulary() *vocabulary {
	v := &vocabulary{listed: s.Columns, make: true}
	for _, c := range s.Columns {
		v.all = append(v.all, c.Name)
		if c.Levels != nil {
			v.factors = append(v.factors, Factor{c.Name, c.Levels})
		} else {
			v.columns = append(v.columns, c)
		}
	}
	return v
}

// Select resolves a formula against the columns of d itself: those that are there,
// with their bounds and no others. A factor is named as a whole, which takes the
// dummies that it has by R's rule (see Design), or a dummy is named by itself as any
// other column.
//
// Errors are those of Schema.Design; and a factor of which d has not the dummies.
func (d *Design) Select(formula string) (*Design, error) {
	f, err := ParseFormula(formula)
	if err != nil {
		return nil, err
	}
	columns := d.Columns()
	v := &vocabulary{listed: columns, columns: columns, factors: d.Factors, sources: d.Sources}
	others := slices.DeleteFunc(slices.Clone(columns), func(c Column) bool { return c.Name == f.Response })
	for _, c := range others {
		name := c.Name
		if whole := d.factor(c.Factor); whole != nil && whole.complete(others) {
			name = c.Factor
		}
		if !slices.Contains(v.all, name) {
			v.all = append(v.all, name)
		}
	}
	return v.design(f)
}

// complete tells whether all dummies are there, but for the baseline's.
func (f Factor) complete(columns []Column) bool {
	for _, level := range f.coding(false) {
		if !slices.ContainsFunc(columns, func(c Column) bool { return c.Factor == f.Name && c.Level == level }) {
			return false
		}
	}
	return true
}

// design looks the names of f up and checks what they make.
func (v *vocabulary) design(f Formula) (*Design, error) {
	d, err := v.resolve(f)
	if err != nil {
		return nil, err
	}
	if err := d.Validate(); err != nil {
		return nil, err
	}
	return d, nil
}

func (v *vocabulary) resolve(f Formula) (*Design, error) {
	terms := f.Terms
	if f.All {
		terms = slices.DeleteFunc(slices.Clone(v.all), func(name string) bool { return name == f.Response })
	}
	d := &Design{Intercept: f.Intercept}
	full := !f.Intercept
	for _, name := range f.factors {
		if v.factor(name) == nil {
			return nil, fmt.Errorf("formula: factor(%s): %[1]q has no levels: list them in the schema, as {\"name\": %[1]q, \"type\": \"string\", \"constraints\": {\"enum\": [\"a\", \"b\"]}}", name)
		}
	}
	for _, name := range terms {
		columns, whole, err := v.named(f, name, full)
		if err != nil {
			return nil, err
		}
		d.Covariates, full = append(d.Covariates, columns...), full && !whole
	}
	response, _, err := v.named(f, f.Response, false)
	if err != nil {
		return nil, err
	}
	if len(response) > 1 { // ParseFormula has no other of several columns
		return nil, fmt.Errorf("formula: the response %q is categorical, of more than two levels, and regression needs a number or one of two levels: name another response, as in 'y ~ .'", f.Response)
	}
	d.Response = response[0]
	if v.make {
		return d, v.source(d)
	}
	d.Factors, d.Sources = v.factors, v.sources
	d.prune()
	return d, nil
}

// named gives the columns that a name in f stands for, and tells whether it is that of a factor as a whole, which has a
// dummy for each level where full.
func (v *vocabulary) named(f Formula, name string, full bool) (columns []Column, whole bool, err error) {
	if c := v.column(name); c != nil {
		return []Column{*c}, false, nil
	}
	if parts := f.Made[name]; parts != nil {
		columns, err = v.made(f, parts)
		return columns, false, err
	}
	if factor := v.factor(name); factor != nil {
		columns, err = v.dummies(*factor, full)
		return columns, true, err
	}
	return nil, false, v.unknown(name)
}

// made gives the columns of a term: new ones, or those that are there. A factor in a product has
// a dummy for each level but where the product without it is a term, too (Chambers and Hastie 1992,
// Statistical Models in S, 2.4.1): R's rule.
func (v *vocabulary) made(f Formula, parts []string) ([]Column, error) {
	full := func(factor string) bool {
		others := slices.DeleteFunc(slices.Clone(parts), func(part string) bool { return part == expression.Quote(factor) })
		name := strings.Join(others, ":")
		if len(others) == 1 && f.Made[name] == nil {
			name = plain(others)[0]
		}
		return !f.has(name) && !f.All
	}
	columns, err := v.makeTerm(parts, full)
	if err != nil || v.make {
		return columns, err
	}
	for i, c := range columns {
		have := slices.IndexFunc(v.columns, func(other Column) bool {
			return other.Name == c.Name || other.Term != nil && sameParts(other.Term, c.Term)
		})
		if have < 0 {
			return nil, fmt.Errorf("formula: there is no column %s; the columns are %s; only the custodian, who has the rows, can add it, by a release with that term in its formula", c.Name, listed(v.listed))
		}
		columns[i] = v.columns[have]
	}
	return columns, nil
}

func (v *vocabulary) column(name string) *Column {
	if i := Index(v.columns, name); i >= 0 {
		return &v.columns[i]
	}
	return nil
}

func (v *vocabulary) factor(name string) *Factor { return FactorNamed(v.factors, name) }

func (v *vocabulary) dummies(f Factor, full bool) ([]Column, error) {
	var dummies []Column
	for _, level := range f.coding(full) {
		dummy := f.dummy(level)
		if !v.make {
			have := v.column(dummy.Name)
			if have == nil || have.Factor != f.Name {
				return nil, v.incomplete(f, level, full)
			}
			dummy = *have
		}
		dummies = append(dummies, dummy)
	}
	return dummies, nil
}

// incomplete is the error of a factor without the dummy of a level.
func (v *vocabulary) incomplete(f Factor, level string, full bool) error {
	why := "it takes all levels but the first"
	if full {
		why = "without an intercept the first factor takes all levels"
	}
	return fmt.Errorf("formula: factor %q cannot be named as a whole: %s, and there is no column for level %q; name the columns of single levels instead",
		f.Name, why, level)
}

// unknown is the error of a name that stands for nothing.
func (v *vocabulary) unknown(name string) error {
	for _, f := range v.factors {
		for i, level := range f.Levels {
			switch {
			case f.dummy(level).Name != name:
			case v.make:
				return fmt.Errorf("formula: no column %q: it is a level of the factor %q, so name the factor", name, f.Name)
			case i == 0:
				return fmt.Errorf("formula: no column %q: it is the baseline of the factor %q, with which the other levels are compared", name, f.Name)
			}
		}
	}
	return fmt.Errorf("formula: no column %q; the columns are %s", name, listed(v.listed))
}

// Formula is the design's model.
func (d *Design) Formula() Formula {
	f := Formula{Response: d.Response.Name, Terms: d.Terms(), Intercept: d.Intercept}
	for _, c := range d.Columns() {
		if c.Term != nil {
			if f.Made == nil {
				f.Made = make(map[string][]string)
			}
			f.Made[c.Name] = c.Term
		}
	}
	return f
}

// Terms lists the names by which a formula gives the covariates: that of a factor
// for all the dummies that it stands for, and otherwise a column's.
func (d *Design) Terms() []string {
	var terms []string
	full := !d.Intercept
	for i := 0; i < len(d.Covariates); {
		c := d.Covariates[i]
		if f := d.factor(c.Factor); f != nil && f.begins(d.Covariates[i:], full) {
			terms = append(terms, f.Name)
			i += len(f.coding(full))
			full = false
			continue
		}
		terms = append(terms, c.Name)
		i++
	}
	return terms
}

// Whole is the design's model, in which all columns that a factor makes are one term, products with it, too; and of each
// covariate the number of its term. Where there are some of a factor's dummies alone, each is a term.
func (d *Design) Whole() (f Formula, of []int) {
	whole := func(name string) bool {
		own := func(c Column) bool { return c.Factor == name }
		f := d.factor(name)
		return f != nil && (f.complete(d.Covariates) || !slices.ContainsFunc(d.Covariates, own))
	}
	f = d.Formula()
	f.Terms = nil
	for _, c := range d.Covariates {
		name, parts := c.Name, slices.Clone(c.Term)
		if whole(c.Factor) {
			name = c.Factor
		}
		for i, text := range parts {
			if p, err := d.factorOf(text); err == nil && whole(p.factor) {
				parts[i] = expression.Quote(p.factor)
			}
		}
		if parts != nil {
			name = strings.Join(parts, ":")
			f.Made[name] = parts
		}
		at := slices.Index(f.Terms, name)
		if at < 0 {
			at, f.Terms = len(f.Terms), append(f.Terms, name)
		}
		of = append(of, at)
	}
	return f, of
}

// begins tells whether the first of the columns are the dummies of f.
func (f Factor) begins(columns []Column, full bool) bool {
	levels := f.coding(full)
	if len(columns) < len(levels) {
		return false
	}
	for i, level := range levels {
		if columns[i].Factor != f.Name || columns[i].Level != level {
			return false
		}
	}
	return true
}

// Begins is how much of a text is a name with which it begins, 0 where it does not. Spaces do not
// count but in backquotes.
func Begins(text, name string) int {
	at, quoted := 0, false
	for i := range len(name) {
		if name[i] == ' ' && !quoted {
			continue
		}
		for !quoted && at < len(text) && text[at] == ' ' {
			at++
		}
		if at == len(text) || text[at] != name[i] {
			return 0
		}
		quoted = quoted != (name[i] == '`')
		at++
	}
	return at
}
