package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/table"
	"github.com/dpreg/dpreg/vi"
)

// viDesign is the regression that vi fits. Numbers are scaled to [-1, 1] by their public
// bounds, as everywhere; dummies stay 0 or 1, so that rows are as short as may be.
type viDesign struct {
	*schema.Design
	own    int // covariates that are the model's; the group's dummies follow
	groups int // of --group, 0 without
	binary bool
	frame  schema.Frame
	units  schema.Frame // from those of the fit to the data's: dummies stay as they are, as does a binary response
}

// viDesign resolves the formula. A response with two levels is their second one's dummy.
func (f *dataset) viDesign(data string) (*viDesign, error) {
	if err := f.refuseAuto(isForRelease); err != nil {
		return nil, err
	}
	columns, used, err := f.usedColumns(data)
	if err != nil {
		return nil, err
	}
	if err := f.checkBounded(used, data, ""); err != nil {
		return nil, err
	}
	d := &viDesign{binary: f.model != viLinear}
	if d.Design, err = f.resolve(columns); err != nil {
		return nil, err
	}
	if err := f.addGroup(d, columns); err != nil {
		return nil, err
	}
	if err := d.Validate(); err != nil {
		return nil, formulaError(err)
	}
	d.frame, d.units.Intercept = d.Frame(), d.Intercept
	column := func(j int, binary bool) {
		centre, half := d.frame.Centre[j], d.frame.Half[j]
		if binary {
			centre, half = 0, 1
		}
		d.units.Centre, d.units.Half = append(d.units.Centre, centre), append(d.units.Half, half)
	}
	for j, c := range d.Covariates[:d.own] {
		column(j, c.Binary())
	}
	column(len(d.Covariates), d.binary)
	return d, nil
}

// resolve is Schema.Design, but for a response with levels.
func (f *flags) resolve(columns *schema.Schema) (*schema.Design, error) {
	name := responseName(columns, f.formula)
	i := columns.Index(name)
	var levels []string
	if f.model != viLinear && i >= 0 {
		response := columns.Columns[i]
		switch levels = response.Levels; {
		case levels != nil && len(levels) != 2:
			return nil, usagef("the response %q has %d levels, and --model %s needs two: the second is the one whose probability is modelled", name, len(levels), f.model)
		case levels == nil && !response.Binary() && (response.Lower != 0 || response.Upper != 1):
			return nil, usagef("the response %q of --model %s must have two levels in the schema, be boolean, or a number with bounds 0:1", name, f.model)
		}
	}
	if levels != nil {
		columns = &schema.Schema{Columns: slices.Clone(columns.Columns)}
		columns.Columns[i] = schema.Column{Name: name, Upper: 1}
	}
	d, err := columns.Design(f.formula)
	if err != nil || levels == nil {
		return d, formulaError(err)
	}
	d.Response = schema.Column{Name: name + levels[1], Upper: 1, Factor: name, Level: levels[1]}
	d.Factors = append(d.Factors, schema.Factor{Name: name, Levels: levels})
	return d, nil
}

// responseName is what a formula has on its left; what is wrong with it, Design says.
func responseName(s *schema.Schema, formula string) string {
	if strings.TrimSpace(formula) == "" {
		return s.Columns[len(s.Columns)-1].Name
	}
	f, err := schema.ParseFormula(formula)
	if err != nil {
		return ""
	}
	return f.Response
}

// addGroup puts the dummies of --group behind the covariates.
func (f *flags) addGroup(d *viDesign, columns *schema.Schema) error {
	d.own = len(d.Covariates)
	if f.model != viHierarchical {
		return nil
	}
	i := columns.Index(f.group)
	if i < 0 || columns.Columns[i].Levels == nil {
		return usagef("--group %q: --model %s needs a column of categories, with levels in the schema", f.group, viHierarchical)
	}
	levels := columns.Columns[i].Levels
	isGroup := func(name string) bool { return name == f.group }
	d.Covariates = slices.DeleteFunc(d.Covariates, func(c schema.Column) bool { return isGroup(c.Factor) })
	d.Factors = slices.DeleteFunc(d.Factors, func(c schema.Factor) bool { return isGroup(c.Name) })
	if isGroup(d.Response.Factor) || len(d.Covariates) == 0 || !d.Intercept {
		return usagef("--group %s: besides the group there must be an intercept, a covariate and a response", f.group)
	}
	d.own, d.groups = len(d.Covariates), len(levels)
	for _, level := range levels[1:] {
		d.Covariates = append(d.Covariates, schema.Column{Name: f.group + level, Upper: 1, Factor: f.group, Level: level})
	}
	d.Factors = append(d.Factors, schema.Factor{Name: f.group, Levels: levels})
	return nil
}

// coefficients is how many a row has: the intercept's first.
func (d *viDesign) coefficients() int {
	if d.Intercept {
		return d.own + 1
	}
	return d.own
}

// longest is the length of the longest row: of the intercept, the dummies of a factor
// together and any other column, each is at most 1.
func (d *viDesign) longest() float64 {
	parts := make(map[string]bool)
	if d.Intercept {
		parts["(Intercept)"] = true
	}
	for _, c := range d.Covariates[:d.own] {
		if c.Factor != "" {
			parts["factor "+c.Factor] = true
		} else {
			parts["column "+c.Name] = true
		}
	}
	return math.Sqrt(float64(len(parts)))
}

// read reads the rows, and the group of each.
func (d *viDesign) read(source *table.Source, cells table.Options) (rows *vi.Rows, group []int, err error) {
	rows = &vi.Rows{P: d.coefficients()}
	p := len(d.Covariates)
	for v, err := range cells.Rows(source, d.Design) {
		if err != nil {
			return nil, nil, err
		}
		if d.Intercept {
			rows.X = append(rows.X, 1)
		}
		for j, c := range d.Covariates[:d.own] {
			rows.X = append(rows.X, d.coded(j, v[j], c.Binary()))
		}
		rows.Y = append(rows.Y, d.coded(p, v[p], d.binary))
		if d.groups > 0 {
			group = append(group, d.group(v))
		}
	}
	return rows, group, nil
}

// coded takes a scaled value of column j to 0 and 1 where that is binary.
func (d *viDesign) coded(j int, v float64, binary bool) float64 {
	if binary {
		return d.frame.Centre[j] + d.frame.Half[j]*v
	}
	return v
}

// group is the level of --group in a row, the baseline where no dummy is 1.
func (d *viDesign) group(v []float64) int {
	for k := range d.groups - 1 {
		if v[d.own+k] > 0.5 {
			return k + 1
		}
	}
	return 0
}

// labels are those of the coefficients.
func (d *viDesign) labels() []string {
	var labels []string
	if d.Intercept {
		labels = append(labels, "(Intercept)")
	}
	for _, c := range d.Covariates[:d.own] {
		labels = append(labels, c.Name)
	}
	return labels
}

// formula is the model of one group's rows, or of all.
func (d *viDesign) formula() string {
	own := *d.Design
	own.Covariates = own.Covariates[:d.own]
	f := own.Formula()
	f.Response = cmp.Or(d.Response.Factor, d.Response.Name)
	return f.String()
}

// statement says what was modelled.
func (d *viDesign) statement(model string) string {
	terms := strings.Join(d.Terms(), ", ")
	text := fmt.Sprintf("%s of %s on %s", model, d.Response.Name, terms)
	if d.Response.Factor != "" {
		text = fmt.Sprintf("%s of %s = %s on %s", model, d.Response.Factor, d.Response.Level, terms)
	}
	return text
}
