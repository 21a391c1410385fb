package schema

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/dpreg/dpreg/internal/expression"
)

// Cells are the combinations of the levels of several factors, truth values among them, the levels of the first
// varying fastest: the levels of one factor, of which each but the first has an indicator, a made column.
type Cells struct {
	of      []Factor // of a truth value the levels are false and true
	boolean []bool
	Names   []string // a cell's, the names of its levels with ":" between them
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
	c := &Cells{Names: []string{""}}
	for i, name := range factors {
		f, truth := d.factor(name), slices.ContainsFunc(slices.Concat(d.Covariates, d.Sources), func(c Column) bool { return c.Boolean() && c.Name == name })
		switch {
		case slices.Contains(factors[:i], name):
			return nil, fmt.Errorf("%q stands twice", name)
		case d.Response.FactorName() == name:
			return nil, fmt.Errorf("%q is the response, and levels are of covariates, or of it alone", name)
		case f != nil:
			c.of = append(c.of, *f)
		case truth:
			c.of = append(c.of, Factor{name, []string{"false", "true"}})
		default:
			return nil, fmt.Errorf("%q is no column of categories or truth values among the covariates", name)
		}
		c.boolean = append(c.boolean, truth)
	}
	for i, f := range c.of {
		var names []string
		for _, level := range f.Levels {
			for _, before := range c.Names {
				if i > 0 {
					level := before + ":" + level
					names = append(names, level)
					continue
				}
				names = append(names, level)
			}
		}
		c.Names = names
	}
	return c, nil
}

// level is that of factor i in a cell.
func (c *Cells) level(cell, i int) int {
	for _, f := range c.of[:i] {
		cell /= len(f.Levels)
	}
	return cell % len(c.of[i].Levels)
}

// text is what a made column has of a level of factor i.
func (c *Cells) text(i, level int) string {
	f := c.of[i]
	switch own := expression.Quote(f.Name); {
	case !c.boolean[i]:
		return f.Name + f.Levels[level]
	case level == 0:
		return "I(1 - " + own + ")"
	default:
		return own
	}
}

func product(term []string) Column {
	return Column{Name: strings.Join(term, ":"), Upper: 1, Term: term}
}

// indicators are the columns of all cells but the first.
func (c *Cells) indicators() (all []Column) {
	for cell := range c.Names[1:] {
		var term []string
		for i := range c.of {
			term = append(term, c.text(i, c.level(cell+1, i)))
		}
		all = append(all, product(term))
	}
	return all
}

// columns are those of the factors in a formula, and, with products, of all products of them.
func (c *Cells) columns(d *Design, products bool) (all []Column) {
	for of := uint(1); of < 1<<len(c.of); of++ {
		if n := bits.OnesCount(of); n > 1 && !products {
			continue
		}
		terms := [][]string{nil}
		for i, f := range c.of {
			if of>>i&1 == 0 {
				continue
			}
			var longer [][]string
			for level := range f.Levels[1:] {
				for _, term := range terms {
					longer = append(longer, append(slices.Clone(term), c.text(i, level+1)))
				}
			}
			terms = longer
		}
		for level, term := range terms {
			switch i := bits.TrailingZeros(of); {
			case len(term) > 1:
				all = append(all, product(term))
			case c.boolean[i]:
				all = append(all, d.sourced(c.of[i].Name))
			default:
				all = append(all, c.of[i].dummy(c.of[i].Levels[level+1]))
			}
		}
	}
	return all
}

// within is what a column is in each cell, 0 or 1; nil where it is not of the factors alone.
func (c *Cells) within(column Column) (values []float64) {
	term := column.parts()
	for cell := range c.Names {
		left := slices.Clone(term)
		for i := range c.of {
			if at := slices.Index(left, c.text(i, c.level(cell, i))); at >= 0 {
				left = slices.Delete(left, at, at+1)
			}
		}
		values = append(values, 0)
		if len(left) == 0 {
			values[cell] = 1
		}
	}
	for _, text := range term {
		if !slices.ContainsFunc(c.of, func(f Factor) bool { return slices.Contains(c.texts(f), text) }) {
			return nil
		}
	}
	return values
}

func (c *Cells) texts(f Factor) (all []string) {
	i := slices.IndexFunc(c.of, func(other Factor) bool { return other.Name == f.Name })
	for level := range f.Levels {
		all = append(all, c.text(i, level))
	}
	return all
}

// apart are the covariates of d that are not of the factors alone.
func (c *Cells) apart(d *Design) []Column {
	return keep(d.Covariates, func(column Column) bool { return c.within(column) == nil })
}

// Indicated is the design of d whose first covariates are the indicators of cells, in place of columns of the factors alone.
func (c *Cells) Indicated(d *Design) *Design {
	out := *d
	for i, f := range c.of {
		if c.boolean[i] && indexOf(d.Sources, f.Name) < 0 {
			out.Sources = append(slices.Clone(out.Sources), d.Covariates[indexOf(d.Covariates, f.Name)])
		}
	}
	out.Covariates = slices.Concat(c.indicators(), c.apart(d))
	return &out
}

// Select is Design.Select of a design as Indicated has it, against columns of the factors and their products in place of
// indicators: the design, in which they stand first, and what each of them is in the cells, a row a cell. The empty
// formula has all columns but products of the factors.
func (c *Cells) Select(d *Design, formula string) (*Design, [][]float64, error) {
	with := func(products bool) *Design {
		out := *d
		out.Covariates = slices.Concat(c.columns(d, products), c.apart(d))
		return &out
	}
	plain := with(false)
	if strings.TrimSpace(formula) == "" {
		formula = plain.Formula().String()
	}
	f, err := ParseFormula(formula)
	if err != nil {
		return nil, nil, err
	}
	out, err := with(!f.All).Select(formula)
	if err != nil {
		return nil, nil, err
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
		if indexOf(own, column.Name) < 0 {
			return nil, nil, fmt.Errorf("a model of it has %s among its covariates, each as a whole", Listed(c.factors()))
		}
	}
	if !out.Intercept {
		return nil, nil, errors.New("a model of it has an intercept")
	}
	out.Covariates = slices.Concat(own, c.apart(out))
	return out, coding, nil
}

func (c *Cells) factors() (names []string) {
	for _, f := range c.of {
		names = append(names, f.Name)
	}
	return names
}

// Categorical are the factors that all covariates are of, with ":" between them, for Cells; empty where one is of something
// else.
func (d *Design) Categorical() string {
	var factors []string
	for _, c := range d.Covariates {
		for _, name := range d.madeOf(c) {
			at := indexOf(d.Covariates, name)
			switch {
			case d.factor(name) == nil && !(at >= 0 && d.Covariates[at].Boolean()):
				return ""
			case !slices.Contains(factors, name):
				factors = append(factors, name)
			}
		}
	}
	if len(factors) == 1 {
		return factors[0]
	}
	for i, name := range factors {
		factors[i] = expression.Quote(name)
	}
	return strings.Join(factors, ":")
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
				out = append(out, 2*indicator(now)-1)
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

func indicator(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
