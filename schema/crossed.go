package schema

import (
	"fmt"
	"slices"

	"github.com/dpreg/dpreg/internal/expression"
)

// parts are what a product with the column is made of beside the other.
func (c Column) parts() []string {
	switch {
	case c.Term != nil:
		return c.Term
	case c.Factor != "":
		return []string{c.Name}
	}
	return []string{expression.Quote(c.Name)}
}

func sameParts(a, b []string) bool {
	return slices.Equal(plain(a), plain(b))
}

// plain are parts in order, those that are a column's name without the quotation marks that a formula has about it.
func plain(parts []string) []string {
	out := slices.Clone(parts)
	for i, part := range parts {
		if all, err := parseFactor(part); err == nil && len(all) == 1 && all[0].Op == expression.Variable {
			out[i] = all[0].Name
		}
	}
	slices.Sort(out)
	return out
}

// Crossing tells of column j, the response behind the covariates, of which dummy of a factor, or truth value, and of
// which other column it is the product, by their places among the covariates; -1 where it is not made of the factor. It
// is an error where the covariates have not both, or it is made of the factor in another way.
func (d *Design) Crossing(j int, factor string) (dummy, other int, err error) {
	columns := d.Columns()
	c := columns[j]
	if c.Term == nil || !slices.Contains(d.madeOf(c), factor) {
		return -1, -1, nil
	}
	for g, own := range d.Covariates {
		if own.FactorName() != factor {
			continue
		}
		for b, with := range d.Covariates {
			if with.FactorName() != factor && b != j && sameParts(c.Term, slices.Concat(own.parts(), with.parts())) && !slices.Contains(d.madeOf(with), factor) {
				return g, b, nil
			}
		}
	}
	return 0, 0, fmt.Errorf("%s is no product of a level of %q and of another covariate of this model: have both in the formula, as %[2]s * x has", c.Name, factor)
}

// Uncrossed is the design without columns that are made of a factor, or truth value, and others.
func (d *Design) Uncrossed(factor string) *Design {
	out := *d
	out.Covariates = keep(d.Covariates, func(c Column) bool { return c.Term == nil || !slices.Contains(d.madeOf(c), factor) })
	out.prune()
	return &out
}

// Crossed is Uncrossed with the product of each dummy of the factor and each other covariate behind them.
func (d *Design) Crossed(factor string) (*Design, error) {
	d = d.Uncrossed(factor)
	out := *d
	out.Covariates, out.Sources = slices.Clone(d.Covariates), slices.Clone(d.Sources)
	for _, c := range d.Covariates {
		for _, own := range d.Covariates {
			if c.FactorName() == factor || own.FactorName() != factor {
				continue
			}
			for _, source := range []Column{own, c} {
				if source.Term == nil && source.Factor == "" && Index(out.Sources, source.Name) < 0 {
					out.Sources = append(out.Sources, source)
				}
			}
			made := product(slices.Concat(own.parts(), c.parts()))
			bounds, err := out.over(made)
			if err != nil {
				return nil, err
			}
			made.Lower, made.Upper = bounds.lower, bounds.upper
			out.Covariates = append(out.Covariates, made)
		}
	}
	return &out, out.Validate()
}
