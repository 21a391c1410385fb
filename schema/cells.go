package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dpreg/dpreg/internal/expression"
	"github.com/dpreg/dpreg/internal/number"
)

// Cells are the combinations of the levels of several factors, truth values among them, the levels of the first
// varying fastest: the levels of one factor, of which each but the first has an indicator, a made column.
type Cells struct {
	of    []Factor   // of a truth value the levels are false and true
	texts [][]string // what made columns have of each level of a factor
	terms [][]string // of each cell
	Names []string   // a cell's, the names of its levels with ":" between them
}

// Crossed reads the names of factors with ":" between them, as a formula has them; nil where a text is not several names.
func Crossed(text string) (factors []string) {
	p, err := parserOf(text)
	if err != nil {
		return nil
	}
	for {
		t := p.Take()
		if !t.Name() {
			return nil
		}
		if factors = append(factors, t.Text); !p.Is(":") {
			break
		}
		p.Take()
	}
	if p.Next() != expression.End || len(factors) < 2 {
		return nil
	}
	return factors
}

// Cells crosses factors of which columns are, or are made.
func (d *Design) Cells(factors []string) (*Cells, error) {
	c := &Cells{}
	var levels [][]string
	for i, name := range factors {
		f, own := d.factor(name), expression.Quote(name)
		texts := []string{"I(1 - " + own + ")", own}
		switch {
		case slices.Contains(factors[:i], name):
			return nil, fmt.Errorf("%q stands twice", name)
		case d.Response.FactorName() == name:
			return nil, fmt.Errorf("%q is the response, and levels are of covariates, or of it alone", name)
		case f != nil:
			texts = nil
			for _, level := range f.Levels {
				texts = append(texts, f.dummy(level).Name)
			}
		case slices.ContainsFunc(slices.Concat(d.Covariates, d.Sources), func(c Column) bool { return c.Boolean() && c.Name == name }):
			f = &Factor{name, []string{"false", "true"}}
		default:
			return nil, fmt.Errorf("%q is no column of categories or truth values among the covariates", name)
		}
		c.of, c.texts, levels = append(c.of, *f), append(c.texts, texts), append(levels, f.Levels)
	}
	c.terms = products(c.texts)
	for _, names := range products(levels) {
		c.Names = append(c.Names, strings.Join(names, ":"))
	}
	return c, nil
}

// products are all terms of one text of each list, those of the first varying fastest.
func products(lists [][]string) [][]string {
	terms := [][]string{nil}
	for _, list := range lists {
		var longer [][]string
		for _, text := range list {
			for _, term := range terms {
				longer = append(longer, append(slices.Clone(term), text))
			}
		}
		terms = longer
	}
	return terms
}

// product is the column of a term, of indicators where nobody gives it other bounds.
func product(term []string) Column {
	return Column{Name: strings.Join(term, ":"), Upper: 1, Term: term}
}

// columns are those of the factors in a formula, and, with products, of all products of them.
func (c *Cells) columns(d *Design, crossed bool) (all []Column) {
	known := slices.Concat(d.Covariates, d.Sources)
	for _, f := range c.of {
		if d.factor(f.Name) == nil {
			all = append(all, known[Index(known, f.Name)]) // as Cells found it
			continue
		}
		for _, level := range f.Levels[1:] {
			all = append(all, f.dummy(level))
		}
	}
	for of := uint(1); crossed && of < 1<<len(c.of); of++ {
		var lists [][]string
		for i, texts := range c.texts {
			if of>>i&1 > 0 {
				lists = append(lists, texts[1:])
			}
		}
		if len(lists) < 2 {
			continue
		}
		for _, term := range products(lists) {
			all = append(all, product(term))
		}
	}
	return all
}

// within is what a column is in each cell, 0 or 1; nil where it is not of the factors alone.
func (c *Cells) within(column Column) (values []float64) {
	term := column.parts()
	lacks := func(texts []string) bool {
		return slices.ContainsFunc(term, func(text string) bool { return !slices.Contains(texts, text) })
	}
	if lacks(slices.Concat(c.texts...)) {
		return nil
	}
	for _, cell := range c.terms {
		values = append(values, number.Indicator[float64](!lacks(cell)))
	}
	return values
}

// apart are the covariates of d that are not of the factors alone.
func (c *Cells) apart(d *Design) []Column {
	return keep(d.Covariates, func(column Column) bool { return c.within(column) == nil })
}

// Indicated is the design of d whose first covariates are the indicators of cells, in place of columns of the factors alone.
func (c *Cells) Indicated(d *Design) *Design {
	out := *d
	out.Covariates = nil
	for _, f := range c.of {
		if d.factor(f.Name) == nil && Index(d.Sources, f.Name) < 0 {
			out.Sources = append(slices.Clone(out.Sources), d.Covariates[Index(d.Covariates, f.Name)])
		}
	}
	for _, term := range c.terms[1:] {
		out.Covariates = append(out.Covariates, product(term))
	}
	out.Covariates = append(out.Covariates, c.apart(d)...)
	return &out
}

// Factors are their names.
func (c *Cells) Factors() (names []string) {
	for _, f := range c.of {
		names = append(names, f.Name)
	}
	return names
}

// Named is how a text names the cells of some factors, and one factor.
func Named(factors []string) string {
	if len(factors) == 1 {
		return factors[0]
	}
	var quoted []string
	for _, name := range factors {
		quoted = append(quoted, expression.Quote(name))
	}
	return strings.Join(quoted, ":")
}

// Merge are the factors that a model of a design as Indicated has, and of each cell the number of that of these which it is
// a part of.
func (c *Cells) Merge(d *Design, formula string) (factors []string, of []int, err error) {
	out, err := c.choose(d, formula)
	if err != nil {
		return nil, nil, err
	}
	of = make([]int, len(c.Names))
	times, each := 1, 1 // of cells in numbers of what is merged, and in those of all
	for i, f := range c.of {
		has := func(column Column) bool {
			return c.within(column) != nil && slices.ContainsFunc(column.parts(), func(text string) bool { return slices.Contains(c.texts[i], text) })
		}
		levels := len(f.Levels)
		if slices.ContainsFunc(out.Columns(), has) {
			factors = append(factors, f.Name)
			for cell := range of {
				of[cell] += times * (cell / each % levels)
			}
			times *= levels
		}
		each *= levels
	}
	return factors, of, nil
}

// Additive is a design as Indicated has it with columns of the factors in place of indicators.
func (c *Cells) Additive(d *Design) *Design { return c.with(d, false) }

func (c *Cells) with(d *Design, products bool) *Design {
	out := *d
	out.Covariates = slices.Concat(c.columns(d, products), c.apart(d))
	return &out
}

// choose is Design.Select against Additive, or products of the factors, too.
func (c *Cells) choose(d *Design, formula string) (*Design, error) {
	if strings.TrimSpace(formula) == "" {
		formula = c.Additive(d).Formula().String()
	}
	f, err := ParseFormula(formula)
	if err != nil {
		return nil, err
	}
	return c.with(d, !f.All).Select(formula)
}

// Select is Design.Select of a design as Indicated has it, against columns of the factors and their products in place of
// indicators: the design, in which they stand first, and what each of them is in the cells, a row a cell. The empty
// formula has all columns but products of the factors.
func (c *Cells) Select(d *Design, formula string) (*Design, [][]float64, error) {
	out, err := c.choose(d, formula)
	if err != nil {
		return nil, nil, err
	}
	if name := out.Response.FactorName(); slices.Contains(c.Factors(), name) {
		return nil, nil, fmt.Errorf("%q, one of its factors, is a response beside none of the others: leave these out, or name another response", name)
	}
	var own []Column
	coding := make([][]float64, len(c.Names))
	for _, column := range out.Covariates {
		values := c.within(column)
		if values == nil {
			continue
		}
		own = append(own, column)
		for cell, v := range values {
			coding[cell] = append(coding[cell], v)
		}
	}
	for _, column := range c.columns(d, false) {
		if Index(own, column.Name) < 0 {
			return nil, nil, fmt.Errorf("a model of it has one or more of %s among its covariates, each as a whole", Listed(c.Factors()))
		}
	}
	if !out.Intercept {
		return nil, nil, errors.New("a model of it has an intercept")
	}
	out.Covariates = slices.Concat(own, c.apart(out))
	return out, coding, nil
}

// Categorical are the factors that all covariates are of, with ":" between them, for Cells; empty where one is of something
// else.
func (d *Design) Categorical() string {
	var factors []string
	for _, c := range d.Covariates {
		for _, name := range d.madeOf(c) {
			at := Index(d.Covariates, name)
			switch {
			case d.factor(name) == nil && !(at >= 0 && d.Covariates[at].Boolean()):
				return ""
			case !slices.Contains(factors, name):
				factors = append(factors, name)
			}
		}
	}
	return Named(factors)
}

// Indicate makes rows of Indicated's columns of rows of d's, in scaled units.
func (c *Cells) Indicate(d *Design, rows []float64) (out []float64, err error) {
	var own, others []int
	var values [][]float64 // of own columns, in each cell
	for j, column := range d.Columns() {
		if v := c.within(column); v != nil {
			own, values = append(own, j), append(values, v)
		} else {
			others = append(others, j)
		}
	}
	for row := range slices.Chunk(rows, len(d.Covariates)+1) {
		is := func(cell int) bool {
			for i, j := range own {
				if row[j] != 2*values[i][cell]-1 {
					return false
				}
			}
			return true
		}
		found := false
		for cell := range c.Names {
			now := is(cell)
			if found = found || now; cell > 0 {
				out = append(out, 2*number.Indicator[float64](now)-1)
			}
		}
		if !found {
			return nil, errors.New("a row has no level of a factor, or several")
		}
		for _, j := range others {
			out = append(out, row[j])
		}
	}
	return out, nil
}
