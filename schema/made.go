package schema

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/dpreg/dpreg/internal/expression"
	"github.com/dpreg/dpreg/internal/number"
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
	if dummy := dummyOf(d.Factors, text); dummy != nil {
		return factorOfTerm{factor: dummy.Factor, level: dummy.Level, text: text}, nil
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
	switch t := p.Take(); {
	case !t.Name():
		err = refuse("%s is no factor of a term", t)
	case !p.Is("("):
		all = []*expression.Node{variable(t)}
	default:
		all, err = call(p, t.Text)
	}
	if err == nil && p.Next() != expression.End {
		err = refuse("%s stands behind a factor of a term", p.Next())
	}
	return all, err
}

// makeTerm gives the columns that a term stands for: all products of what its components stand for,
// those of the first varying fastest. full tells which of its factors have a dummy for each level.
func (v *vocabulary) makeTerm(parts []string, full func(factor string) bool) ([]Column, error) {
	var lists [][]string
	for _, part := range parts {
		texts, err := v.texts(part, full)
		if err != nil {
			return nil, err
		}
		lists = append(lists, texts)
	}
	var columns []Column
	for _, term := range products(lists) {
		columns = append(columns, product(term))
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
			if dummyOf(v.factors, text) != nil {
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
	of := d.columnsOf()
	d.Factors = keep(d.Factors, func(f Factor) bool { return slices.Contains(of, f.Name) })
	d.Sources = keep(d.Sources, func(s Column) bool { return slices.Contains(of, s.Name) })
}

// keep are those of some, in another slice; nil where none is.
func keep[T any](some []T, wanted func(T) bool) (kept []T) {
	for _, x := range some {
		if wanted(x) {
			kept = append(kept, x)
		}
	}
	return kept
}

// columnsOf are the factors that columns are dummies of, and what terms are made of.
func (d *Design) columnsOf() (names []string) {
	for _, c := range d.Columns() {
		if c.Factor != "" || c.Term != nil {
			names = append(names, d.madeOf(c)...)
		}
	}
	return names
}

// madeOf are the columns of rows that a column is, or is made of.
func (d *Design) madeOf(c Column) (names []string) {
	if c.Term == nil {
		return []string{cmp.Or(c.Factor, c.Name)}
	}
	all, _ := d.factors(c)
	for _, p := range all {
		if p.of != nil {
			names = p.of.Variables(names)
		} else {
			names = append(names, p.factor)
		}
	}
	return names
}

// dummyOf is the dummy of that name of a level of one of the factors, nil where there is none.
func dummyOf(factors []Factor, name string) *Column {
	for _, f := range factors {
		for _, level := range f.Levels {
			if dummy := f.dummy(level); dummy.Name == name {
				return &dummy
			}
		}
	}
	return nil
}

// sourced is the column of a name that terms are made of; without bounds where there is none.
func (d *Design) sourced(name string) Column {
	if i := Index(d.Sources, name); i >= 0 {
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
		case s.Factor != "" || s.Term != nil || Index(d.Sources[:i], s.Name) >= 0:
			return fmt.Errorf("source %d of terms: it stands twice, or is no column of rows", i+1)
		}
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
				if Index(d.Sources, name) < 0 {
					return fmt.Errorf("column %q is made of %q, which is none of the sources", c.Name, name)
				}
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
	of := d.columnsOf()
	for _, s := range d.Sources {
		if !slices.Contains(of, s.Name) {
			return fmt.Errorf("no term is made of the source %q", s.Name)
		}
	}
	return nil
}

// checkTwice refuses a covariate that is a linear function of those before it at every row, such
// as I(2 * x) beside x: it would be in the model twice. Whether one is shows at random rows
// between the bounds, which are public.
func (d *Design) checkTwice() error {
	if !slices.ContainsFunc(d.Covariates, func(c Column) bool { return c.Term != nil }) {
		return nil
	}
	m, err := d.Maker(d.Columns(), false)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(1, 1))
	columns, frame, first := d.Columns(), d.Frame(), 0
	if d.Intercept {
		first = 1
	}
	rows := 4*len(d.Covariates) + 8
	table := mat.NewDense(rows, first+len(d.Covariates), nil) // of scaled values, behind the constant
	base, row := make([]float64, len(m.Columns)), make([]float64, len(columns))
	for i := range rows {
		level := make(map[string]int)
		for k, c := range m.Columns {
			switch {
			case c.Factor != "":
				f := d.factor(c.Factor)
				if _, drawn := level[f.Name]; !drawn {
					level[f.Name] = rng.IntN(len(f.Levels))
				}
				base[k] = number.Indicator[float64](f.Levels[level[f.Name]] == c.Level)
			case c.Boolean():
				base[k] = float64(rng.IntN(2))
			default:
				base[k] = c.Lower + (c.Upper-c.Lower)*rng.Float64()
			}
		}
		m.Row(row, base)
		frame.Scale(row, row)
		table.SetRow(i, append([]float64{1}, row[:len(row)-1]...)[1-first:])
	}
	var qr mat.QR
	var r mat.Dense
	qr.Factorize(table)
	qr.RTo(&r)
	for j, c := range d.Covariates {
		if at := first + j; !(math.Abs(r.At(at, at)) > 1e-9*mat.Norm(table.ColView(at), 2)) {
			return fmt.Errorf("formula: %q is a linear function of the covariates before it, or of the intercept: it would be in the model twice", c.Name)
		}
	}
	return nil
}

// Related names the covariates that are made of what a covariate before them is, or is made of, so
// that together they are not normal.
func (d *Design) Related() (names []string) {
	seen := make(map[string]bool)
	for _, c := range d.Covariates {
		of := d.madeOf(c)
		if c.Term != nil && slices.ContainsFunc(of, func(name string) bool { return seen[name] }) {
			names = append(names, c.Name)
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
