package vi

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/table"
)

// The kinds of models that a Design is of.
const (
	LinearKind       = "linear"
	LogisticKind     = "logistic"
	HierarchicalKind = "hierarchical" // logistic, with coefficients for each group
)

// Design is the regression that vi fits to rows. Numbers are scaled to [-1, 1] by their public
// bounds, as everywhere; dummies stay 0 or 1, so that rows are as short as may be.
type Design struct {
	*schema.Design
	Kind   string
	Binary bool         // the response is 0 or 1
	Box    schema.Frame // of the bounds
	Units  schema.Frame // from those of the fit to the data's: dummies stay as they are, as does a binary response

	own    int // covariates that are the model's; the group's dummies follow
	groups int // 0: none
}

// NewDesign resolves a formula among columns of which those used have bounds. A response with two
// levels is their second one's dummy. group is the column of categories of HierarchicalKind, and
// empty of other kinds. Errors: what Schema.Design refuses, a response or a group that do not go
// with the kind.
func NewDesign(columns *schema.Schema, formula, kind, group string) (d *Design, err error) {
	d = &Design{Kind: kind, Binary: kind != LinearKind}
	if d.Design, err = d.resolve(columns, formula); err != nil {
		return nil, err
	}
	if err := d.addGroup(columns, group); err != nil {
		return nil, err
	}
	return d, d.measure()
}

// DesignOf is the design of a regression of LinearKind or LogisticKind whose columns are those that
// NewDesign found. Errors: what Design.Validate refuses.
func DesignOf(columns *schema.Design, kind string) (*Design, error) {
	d := &Design{Kind: kind, Binary: kind != LinearKind, Design: columns, own: len(columns.Covariates)}
	return d, d.measure()
}

// measure sets the scales of the columns.
func (d *Design) measure() error {
	if err := d.Validate(); err != nil {
		return err
	}
	d.Box, d.Units.Intercept = d.Design.Frame(), d.Intercept
	column := func(j int, binary bool) {
		centre, half := d.Box.Centre[j], d.Box.Half[j]
		if binary {
			centre, half = 0, 1
		}
		d.Units.Centre, d.Units.Half = append(d.Units.Centre, centre), append(d.Units.Half, half)
	}
	for j, c := range d.Covariates[:d.own] {
		column(j, c.Binary())
	}
	column(len(d.Covariates), d.Binary)
	return nil
}

// resolve is Schema.Design, but for a response with levels.
func (d *Design) resolve(columns *schema.Schema, formula string) (*schema.Design, error) {
	name := responseName(columns, formula)
	i := columns.Index(name)
	var levels []string
	if d.Binary && i >= 0 {
		response := columns.Columns[i]
		switch levels = response.Levels; {
		case levels != nil && len(levels) != 2:
			return nil, fmt.Errorf("the response %q has %d levels, and --model %s needs two: the second is the one whose probability is modelled", name, len(levels), d.Kind)
		case levels == nil && !response.Binary() && (response.Lower != 0 || response.Upper != 1):
			return nil, fmt.Errorf("the response %q of --model %s must have two levels in the schema, be boolean, or a number with bounds 0:1", name, d.Kind)
		}
	}
	if levels != nil {
		columns = &schema.Schema{Columns: slices.Clone(columns.Columns)}
		columns.Columns[i] = schema.Column{Name: name, Upper: 1}
	}
	of, err := columns.Design(formula)
	if err != nil || levels == nil {
		return of, err
	}
	of.Response = schema.Column{Name: name + levels[1], Upper: 1, Factor: name, Level: levels[1]}
	of.Factors = append(of.Factors, schema.Factor{Name: name, Levels: levels})
	return of, nil
}

// responseName is what a formula has on its left; what is wrong with it, Design says.
func responseName(s *schema.Schema, formula string) string {
	if strings.TrimSpace(formula) == "" {
		return s.Columns[len(s.Columns)-1].Name
	}
	f, _ := schema.ParseFormula(formula)
	return f.Response
}

// addGroup puts the dummies of the group behind the covariates.
func (d *Design) addGroup(columns *schema.Schema, group string) error {
	d.own = len(d.Covariates)
	if d.Kind != HierarchicalKind {
		return nil
	}
	i := columns.Index(group)
	if i < 0 || columns.Columns[i].Levels == nil {
		return fmt.Errorf("--group %q: --model %s needs a column of categories, with levels in the schema", group, d.Kind)
	}
	levels := columns.Columns[i].Levels
	isGroup := func(name string) bool { return name == group }
	d.Covariates = slices.DeleteFunc(d.Covariates, func(c schema.Column) bool { return isGroup(c.Factor) })
	d.Factors = slices.DeleteFunc(d.Factors, func(c schema.Factor) bool { return isGroup(c.Name) })
	if isGroup(d.Response.Factor) || len(d.Covariates) == 0 || !d.Intercept {
		return fmt.Errorf("--group %s: besides the group there must be an intercept, a covariate and a response", group)
	}
	d.own, d.groups = len(d.Covariates), len(levels)
	for _, level := range levels[1:] {
		d.Covariates = append(d.Covariates, schema.Column{Name: group + level, Upper: 1, Factor: group, Level: level})
	}
	d.Factors = append(d.Factors, schema.Factor{Name: group, Levels: levels})
	return nil
}

// Coefficients is how many a row has: the intercept's first.
func (d *Design) Coefficients() int { return d.own + number.Indicator[int](d.Intercept) }

// Longest is the length of the longest row: of the intercept, the dummies of a factor
// together and any other column, each is at most 1.
func (d *Design) Longest() float64 {
	factors, parts := make(map[string]bool), d.Coefficients()
	for _, c := range d.Covariates[:d.own] {
		if c.Factor != "" {
			factors[c.Factor] = true
			parts--
		}
	}
	return math.Sqrt(float64(parts + len(factors)))
}

// Read reads the rows, and the group of each.
func (d *Design) Read(source *table.Source, cells table.Options) (rows *Rows, group []int, err error) {
	rows = &Rows{P: d.Coefficients()}
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
		rows.Y = append(rows.Y, d.coded(p, v[p], d.Binary))
		if d.groups > 0 {
			group = append(group, d.group(v))
		}
	}
	return rows, group, nil
}

// coded takes a scaled value of column j to 0 and 1 where that is binary.
func (d *Design) coded(j int, v float64, binary bool) float64 {
	if binary {
		return d.Box.Centre[j] + d.Box.Half[j]*v
	}
	return v
}

// group is the level of the group in a row, the baseline where no dummy is 1.
func (d *Design) group(v []float64) int {
	return 1 + slices.IndexFunc(v[d.own:d.own+d.groups-1], func(v float64) bool { return v > 0.5 })
}

// ParameterLabels are those of all parameters but the variance: of each group's coefficients and of
// their means, in a hierarchical model.
func (d *Design) ParameterLabels() (labels []string) {
	var own []string // of the coefficients
	if d.Intercept {
		own = append(own, "(Intercept)")
	}
	own = append(own, schema.Names(d.Covariates[:d.own])...)
	if d.groups == 0 {
		return own
	}
	for _, level := range d.Factors[len(d.Factors)-1].Levels {
		for _, label := range own {
			labels = append(labels, level+": "+label)
		}
	}
	for _, label := range own {
		labels = append(labels, "mean of "+label)
	}
	return labels
}

// ToOriginal maps a draw of all parameters to the data's units: coefficients by blocks, of which a
// hierarchical model has one for each group and one of their means.
func (d *Design) ToOriginal(dst, src []float64) {
	p := d.Coefficients()
	copy(dst, src)
	for at := 0; at+p <= len(src); at += p {
		d.Units.ThetaToOriginal(dst[at:at+p], src[at:at+p])
	}
	if !d.Binary && len(src) > p {
		dst[p] = d.Units.Sigma2ToOriginal(src[p])
	}
}

// Model is the model of one group's rows, or of all.
func (d *Design) Model() string {
	own := *d.Design
	own.Covariates = own.Covariates[:d.own]
	f := own.Formula()
	f.Response = cmp.Or(d.Response.Factor, d.Response.Name)
	return f.String()
}

// titles are the kinds in words.
var titles = map[string]string{LinearKind: "Linear regression", LogisticKind: "Logistic regression", HierarchicalKind: "Hierarchical logistic regression"}

// Statement says what was modelled.
func (d *Design) Statement() string {
	response := d.Response.Name
	if d.Response.Factor != "" {
		response = d.Response.Factor + " = " + d.Response.Level
	}
	return fmt.Sprintf("%s of %s on %s", titles[d.Kind], response, strings.Join(d.Terms(), ", "))
}

// Of is the model of rows and their groups, with normal priors of coefficients of this sd.
func (d *Design) Of(rows *Rows, group []int, sd float64) *Model {
	switch d.Kind {
	case LinearKind:
		const shape, scale = 2, 0.1 // σ² about a tenth of the response's half range, squared
		return LinearRegression(rows, sd, shape, scale)
	case HierarchicalKind:
		return Hierarchical(rows, group, slices.Repeat([]float64{1}, d.groups), 1, sd)
	}
	return Logistic(rows, sd)
}

// Norm is a norm that gradients may be clipped to, by what is public about rows. A row's gradient is its slope times
// the row, and a slope of logistic regression is at most 1: no gradient is longer than the
// longest row, and none is clipped. Half of it cuts off the rows that the model foresees
// least, and moves slopes by a tenth, at any ε. A slope of linear regression has no bound: it is a
// residual over its standard deviation, seldom above 3.
func (d *Design) Norm() float64 {
	if d.Binary {
		return d.Longest()
	}
	return 3 * d.Longest()
}
