package schema

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/dpreg/dpreg/internal/expression"
)

// A made column is a product of factors, each a function of columns or the dummy of a level. Its
// name is what a formula calls it, the factors with ":" between them, and its bounds follow from
// those of the columns by interval arithmetic: rows have them before anybody looks.

// factorOfTerm is a factor of a made column.
type factorOfTerm struct {
	of                  *expression.Node // nil: a dummy
	factor, level, text string
}

// factors reads what Term has of a column of d.
func (d *Design) factors(c Column) (all []factorOfTerm, err error) {
	for _, text := range c.Term {
		p, err := d.factorOf(text)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// factorOf reads a factor: a dummy's name, or an expression.
func (d *Design) factorOf(text string) (factorOfTerm, error) {
	for _, f := range d.Factors {
		for _, level := range f.Levels {
			if f.Name+level == text {
				return factorOfTerm{factor: f.Name, level: level, text: text}, nil
			}
		}
	}
	e, err := parseFactor(text)
	if err == nil && len(e) != 1 {
		err = fmt.Errorf("%q is several columns", text)
	}
	if err != nil {
		return factorOfTerm{}, err
	}
	return factorOfTerm{of: e[0], text: text}, nil
}

// parseFactor reads a factor of a term as a formula has it, poly(x, k) as all that it stands for.
func parseFactor(text string) (all []*expression.Node, err error) {
	p, err := parserOf(text)
	if err != nil {
		return nil, err
	}
	var e *expression.Node
	switch t := p.Take(); {
	case !t.Name():
		err = refuse("%s is no factor of a term", t)
	case !p.Is("("):
		e = variable(t)
	case t.Text == "poly":
		all, err = poly(p)
	case t.Text == scaled:
		e, err = scale(p)
	default:
		e, err = p.Call(t.Text)
	}
	if e != nil {
		all = []*expression.Node{e}
	}
	if err == nil && p.Next() != expression.End {
		err = refuse("%s stands behind a factor of a term", p.Next())
	}
	return all, err
}

// make gives the columns that a term stands for: all products of what its components stand for,
// those of the first varying fastest. full tells which of its factors have a dummy for each level.
func (v *vocabulary) makeTerm(parts []string, full func(factor string) bool) ([]Column, error) {
	columns := []Column{{}}
	for _, part := range parts {
		texts, err := v.texts(part, full)
		if err != nil {
			return nil, err
		}
		var all []Column
		for _, text := range texts {
			for _, c := range columns {
				all = append(all, Column{Term: append(slices.Clone(c.Term), text)})
			}
		}
		columns = all
	}
	for i := range columns {
		columns[i].Name = strings.Join(columns[i].Term, ":")
	}
	return columns, nil
}

// texts are the columns that a component of a term stands for.
func (v *vocabulary) texts(part string, full func(factor string) bool) (texts []string, err error) {
	all, err := parseFactor(part)
	if err != nil {
		return nil, err
	}
	if e := all[0]; e.Op == expression.Variable {
		if f := v.factor(e.Name); f != nil {
			for _, level := range f.coding(full(f.Name)) {
				texts = append(texts, f.Name+level)
			}
			return texts, nil
		}
	}
	for _, e := range all {
		texts = append(texts, e.String())
	}
	return texts, nil
}

// source finds what the made columns of d are made of, and gives each its bounds.
func (v *vocabulary) source(d *Design) error {
	columns := []*Column{&d.Response}
	for j := range d.Covariates {
		columns = append(columns, &d.Covariates[j])
	}
	var names []string
	for _, c := range columns {
		for _, text := range c.Term {
			if v.dummyOf(text) != nil {
				continue
			}
			all, err := parseFactor(text)
			if err != nil {
				return err
			}
			for _, name := range all[0].Variables(nil) {
				source := v.column(name)
				switch {
				case source == nil && v.factor(name) != nil:
					return fmt.Errorf("formula: %s: %q is categorical, and a number is needed", text, name)
				case source == nil:
					return v.unknown(name)
				case !source.Bounded():
					return checkBounded([]Column{*source})
				case source.Type != "" && !source.Boolean():
					return source.checkType()
				case !slices.Contains(names, name):
					names = append(names, name)
					d.Sources = append(d.Sources, *source)
				}
			}
		}
	}
	d.Factors = v.factors // those that nothing is of go again
	for _, c := range columns {
		if len(c.Term) == 0 {
			continue
		}
		bounds, err := d.over(*c)
		if err != nil {
			return fmt.Errorf("formula: %s: %w: change the bounds, which are public, or the term", c.Name, err)
		}
		if c.Lower, c.Upper = bounds.lower, bounds.upper; c.Lower >= c.Upper {
			return fmt.Errorf("formula: %s is %v everywhere between the bounds of its columns", c.Name, c.Lower)
		}
	}
	d.prune()
	return nil
}

// prune leaves out factors and sources of which no column is, or is made.
func (d *Design) prune() {
	var factors []Factor
	for _, f := range d.Factors {
		if d.uses(f.Name) {
			factors = append(factors, f)
		}
	}
	var sources []Column
	for _, s := range d.Sources {
		if d.usesSource(s.Name) {
			sources = append(sources, s)
		}
	}
	d.Factors, d.Sources = factors, sources
}

// dummyOf is the factor of which a text is a dummy's name, nil where it is none.
func (v *vocabulary) dummyOf(text string) *Factor {
	for i, f := range v.factors {
		if slices.ContainsFunc(f.Levels, func(level string) bool { return f.Name+level == text }) {
			return &v.factors[i]
		}
	}
	return nil
}

// uses tells whether a column of d is a dummy of a factor, or made of one.
func (d *Design) uses(factor string) bool {
	return slices.ContainsFunc(d.Columns(), func(c Column) bool {
		if c.Factor == factor {
			return true
		}
		all, _ := d.factors(c)
		return slices.ContainsFunc(all, func(p factorOfTerm) bool { return p.factor == factor })
	})
}

// usesSource tells whether a column is made of a source.
func (d *Design) usesSource(name string) bool {
	return slices.ContainsFunc(d.Columns(), func(c Column) bool {
		all, _ := d.factors(c)
		return slices.ContainsFunc(all, func(p factorOfTerm) bool {
			return p.of != nil && slices.Contains(p.of.Variables(nil), name)
		})
	})
}

// sourced is the column of a name that terms are made of; without bounds where there is none.
func (d *Design) sourced(name string) Column {
	if i := indexOf(d.Sources, name); i >= 0 {
		return d.Sources[i]
	}
	return unbounded(name)
}

// over bounds a made column.
func (d *Design) over(c Column) (interval, error) {
	out := interval{1, 1}
	all, err := d.factors(c)
	if err != nil {
		return out, err
	}
	for _, p := range all {
		next := interval{0, 1}
		if p.of != nil {
			if next, err = over(p.of, d.sourced); err != nil {
				return out, err
			}
		}
		out = hull(out.lower*next.lower, out.lower*next.upper, out.upper*next.lower, out.upper*next.upper)
	}
	if math.IsNaN(out.lower+out.upper) || math.IsInf(out.lower, 0) || math.IsInf(out.upper, 0) {
		return out, errors.New("its bounds are not finite")
	}
	return out, nil
}

// roundedBounds is how far stated bounds of a made column may lie inside the computed ones.
const roundedBounds = 1e-9

// validateMade checks that made columns are made of columns that d has, that their bounds hold
// what these can make, and that no source is idle.
func (d *Design) validateMade() error {
	for i, s := range d.Sources {
		switch err := cmp.Or(CheckName(s.Name), s.checkType(), s.checkBounds()); {
		case err != nil:
			return fmt.Errorf("source %d of terms: %w", i+1, err)
		case s.Factor != "" || s.Term != nil || indexOf(d.Sources[:i], s.Name) >= 0:
			return fmt.Errorf("source %d of terms: it stands twice, or is no column of rows", i+1)
		}
	}
	idle := make(map[string]bool)
	for _, s := range d.Sources {
		idle[s.Name] = true
	}
	for _, c := range d.Columns() {
		if c.Term == nil {
			continue
		}
		if c.Name != strings.Join(c.Term, ":") || c.Type != "" || c.Factor != "" {
			return fmt.Errorf("column %q is made of %q, and must have the name and no type of it", c.Name, c.Term)
		}
		all, err := d.factors(c)
		if err != nil {
			return fmt.Errorf("column %q: %w", c.Name, err)
		}
		for _, p := range all {
			if p.of == nil {
				continue
			}
			if p.of.String() != p.text {
				return fmt.Errorf("column %q: %q must be written %s", c.Name, p.text, p.of)
			}
			for _, name := range p.of.Variables(nil) {
				if indexOf(d.Sources, name) < 0 {
					return fmt.Errorf("column %q is made of %q, which is none of the sources", c.Name, name)
				}
				idle[name] = false
			}
		}
		bounds, err := d.over(c)
		if err != nil {
			return fmt.Errorf("column %q: %w", c.Name, err)
		}
		if slack := roundedBounds * (bounds.upper - bounds.lower); c.Lower > bounds.lower+slack || c.Upper < bounds.upper-slack {
			return fmt.Errorf("column %q lies between %v and %v by the bounds of what it is made of, and cannot have the bounds %v:%v", c.Name, bounds.lower, bounds.upper, c.Lower, c.Upper)
		}
	}
	for name, none := range idle {
		if none {
			return fmt.Errorf("no term is made of the source %q", name)
		}
	}
	return nil
}

// checkTwice refuses a covariate that is a linear function of those before it at every row, such
// as I(2 * x) beside x: it would be in the model twice. Whether one is shows at random rows
// between the bounds, which are public.
func (d *Design) checkTwice() error {
	if d.Sources == nil && !slices.ContainsFunc(d.Covariates, func(c Column) bool { return c.Term != nil }) {
		return nil
	}
	m, err := d.Maker(d.Columns(), false)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(1, 1))
	columns, frame, rows := d.Columns(), d.Frame(), 4*len(d.Covariates)+8
	table := make([][]float64, len(columns)) // of scaled values
	if d.Intercept {
		table = append(table, nil)
	}
	base, row := make([]float64, len(m.Columns)), make([]float64, len(columns))
	for range rows {
		level := make(map[string]int)
		for i, c := range m.Columns {
			switch {
			case c.Factor != "":
				f := d.factor(c.Factor)
				if _, drawn := level[f.Name]; !drawn {
					level[f.Name] = rng.IntN(len(f.Levels))
				}
				base[i] = 0
				if f.Levels[level[f.Name]] == c.Level {
					base[i] = 1
				}
			case c.Boolean():
				base[i] = float64(rng.IntN(2))
			default:
				base[i] = c.Lower + (c.Upper-c.Lower)*rng.Float64()
			}
		}
		m.Row(row, base)
		frame.Scale(row, row)
		for j, v := range row {
			table[j] = append(table[j], v)
		}
		if d.Intercept {
			table[len(columns)] = append(table[len(columns)], 1)
		}
	}
	var before [][]float64 // orthonormal
	if d.Intercept {
		before = append(before, normalised(table[len(columns)]))
	}
	for j, c := range d.Covariates {
		v := normalised(table[j])
		for range 2 { // twice is enough (Parlett 1980)
			for _, u := range before {
				dot := 0.0
				for i := range v {
					dot += u[i] * v[i]
				}
				for i := range v {
					v[i] -= dot * u[i]
				}
			}
		}
		length := 0.0
		for _, x := range v {
			length += x * x
		}
		if !(math.Sqrt(length) > 1e-9) {
			return fmt.Errorf("formula: %q is a linear function of the covariates before it, or of the intercept: it would be in the model twice", c.Name)
		}
		before = append(before, normalised(v))
	}
	return nil
}

func normalised(v []float64) []float64 {
	length, out := 0.0, slices.Clone(v)
	for _, x := range v {
		length += x * x
	}
	for i := range out {
		out[i] /= math.Sqrt(length)
	}
	return out
}

// Related names the covariates that are made of what a covariate before them is, or is made of, so
// that together they are not normal.
func (d *Design) Related() (names []string) {
	seen := make(map[string]bool)
	for _, c := range d.Covariates {
		of := []string{cmp.Or(c.Factor, c.Name)}
		if all, _ := d.factors(c); c.Term != nil {
			of = nil
			for _, p := range all {
				if p.of != nil {
					of = p.of.Variables(of)
				} else {
					of = append(of, p.factor)
				}
			}
			if slices.ContainsFunc(of, func(name string) bool { return seen[name] }) {
				names = append(names, c.Name)
			}
		}
		for _, name := range of {
			seen[name] = true
		}
	}
	return names
}

// Made tells whether a column of d is made of others.
func (d *Design) Made() bool {
	return slices.ContainsFunc(d.Columns(), func(c Column) bool { return c.Term != nil })
}
