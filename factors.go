package dpreg

import (
	"fmt"
	"strings"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/schema"
)

// maxTold is how many columns a warning names.
const maxTold = 5

// normalityWarnings say of the columns that are 0 or 1 what the method made of them,
// a sentence each: methods that take the covariates to be normal do so of dummies too.
func (f *Fit) normalityWarnings() []string {
	var warnings []string
	if f.Design.Response.Binary() {
		warnings = append(warnings, fmt.Sprintf("the response %q is 0 or 1, and modelled as a line with normal residuals: see docs/factors.md", f.Design.Response.Name))
	}
	if c := Traits(f.Method).Covariates; c == model.NoCovariates || c == model.ReleasedCovariates {
		return warnings
	}
	if names := binary(f.Design.Covariates); names != nil {
		are := "are dummies"
		if len(names) == 1 {
			are = "is a dummy"
		}
		if more := len(names) - maxTold; more > 0 {
			names = append(names[:maxTold], fmt.Sprintf("%d more", more))
		}
		warnings = append(warnings, fmt.Sprintf("x is modelled as normal, and %s %s, 0 or 1: see docs/factors.md", strings.Join(names, ", "), are))
	}
	return warnings
}

// binary names the columns that are known to be 0 or 1.
func binary(columns []schema.Column) []string {
	var names []string
	for _, c := range columns {
		if c.Binary() {
			names = append(names, fmt.Sprintf("%q", c.Name))
		}
	}
	return names
}
