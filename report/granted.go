package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/check"
	"github.com/dpreg/dpreg/model"
)

// granted says in a sentence what a fit takes for granted, and what of it the releases can tell and
// cannot; nothing of a fit of rows, which can be looked at.
func granted(f *dpreg.Fit) string {
	if f.FromRows() {
		return ""
	}
	all := slices.Concat(grantedOfX(f), grantedOfY(f), grantedShared(f))
	told := "cannot tell of"
	if can := tellable(f); can != nil {
		told = fmt.Sprintf("can tell (dpreg check) of %s; it cannot of", strings.Join(can, " and "))
	}
	return fmt.Sprintf("Taken for granted: %s. A release %s %s.", strings.Join(all, "; "), told, untold(f))
}

// grantedOfX is what the method makes of the covariates, if anything.
func grantedOfX(f *dpreg.Fit) []string {
	levels := f.Custodians[0].Release.Levels
	switch c := dpreg.Traits(f.Method).Covariates; {
	case c != model.NoCovariates && f.Design.Covariates == nil:
		return nil
	case c == model.NoCovariates:
		return []string{"sums without noise"}
	case c == model.ReleasedCovariates:
		return []string{"covariates' moments as released"}
	case c == model.StatedCovariates:
		return []string{"covariates' moments as the prior states them"}
	case categorical(f):
		return nil
	case levels.Dummies() > 0 && !f.Custodians[0].Release.LevelsAreOfResponse():
		return []string{"covariates normal at each level of " + levels.Factor}
	case f.ModelClamping:
		return []string{"covariates normal before they were clamped"}
	case f.Family != model.Normal && withinBinary(f):
		return []string{"covariates normal within those that are 0 or 1"}
	}
	return []string{"normal covariates"}
}

// withinBinary tells whether columns that are 0 or 1 have their own law.
func withinBinary(f *dpreg.Fit) bool {
	_, rows := model.Apart(f.Custodians[0].Release)
	return rows != nil
}

// categorical tells whether covariates are categories alone, which have their own law.
func categorical(f *dpreg.Fit) bool {
	r := f.Custodians[0].Release
	return r.Levels != nil && !r.LevelsAreOfResponse() && r.Levels.Dummies() == len(f.Design.Covariates)
}

// grantedOfY is what the response is taken for, given the covariates.
func grantedOfY(f *dpreg.Fit) []string {
	y := f.Design.Response.Name
	switch {
	case f.Design.Covariates == nil:
		return []string{y + " normal"}
	case inParts(f) && f.Family == model.Normal:
		return []string{"residuals about " + y + "'s line of any spread, which is seen by how far parts' coefficients differ"}
	case f.Family == model.Normal:
		residuals := "normal residuals of one spread"
		if k := f.Kurtosis(); !k.Normal() {
			residuals = fmt.Sprintf("residuals of one spread and of a kurtosis up to %.0f", k.Most)
		}
		if factor := f.Custodians[0].Release.Levels.Crossed(); factor != "" {
			residuals = strings.Replace(residuals, "one spread", "one spread within each level of "+factor, 1)
		}
		return []string{y + " linear in x, with " + residuals}
	case f.Family == model.Poisson:
		return []string{fmt.Sprintf("the %s of the rate of %s linear in x", f.Family.Link(), y), "counts whose variance is in one proportion to their mean"}
	}
	return []string{fmt.Sprintf("the %s of the probability of %s linear in x", f.Family.Link(), y)}
}

// inParts tells whether a fit is of parts of one dealing, whose coefficients may differ.
func inParts(f *dpreg.Fit) bool {
	_, pooling := f.Sharing()
	return pooling == dpreg.PartialPooling && f.OneDealing()
}

// grantedShared is what several releases are taken to share.
func grantedShared(f *dpreg.Fit) []string {
	_, pooling := f.Sharing()
	switch {
	case f.SameRows():
		return []string{"the same rows in all releases"}
	case pooling == dpreg.CompletePooling:
		return []string{"one regression for all custodians"}
	case pooling == dpreg.PartialPooling:
		return []string{oneOf(f) + "s' coefficients normal about common ones"}
	}
	return nil
}

// oneOf is what each release of several is of.
func oneOf(f *dpreg.Fit) string {
	if f.OneDealing() {
		return "part"
	}
	return "custodian"
}

// tellable is what package check can find in the releases.
func tellable(f *dpreg.Fit) (all []string) {
	if !dpreg.Checkable(f.Method) || f.ModelClamping || f.SameRows() || check.Can(f.Custodians) != nil {
		return nil
	}
	if !categorical(f) || f.Family == model.Normal {
		all = []string{"columns that bounds cut"}
	}
	if categorical(f) && len(f.Custodians[0].Release.Levels.Sums) > len(f.Design.Covariates)+1 {
		all = append(all, "effects that do not add")
	}
	if !f.Design.Intercept {
		all = append(all, "an intercept that is not 0")
	}
	if _, pooling := f.Sharing(); pooling == dpreg.CompletePooling {
		all = append(all, "custodians that differ by much")
	}
	return all
}

// untold is what sums of squares and products do not show.
func untold(f *dpreg.Fit) string {
	switch {
	case f.Design.Covariates == nil:
		return "outliers or skew"
	case categorical(f) && f.Family == model.Normal:
		return "outliers or residuals that spread more in some levels"
	case categorical(f):
		return "another link"
	case f.Family == model.Normal:
		return "curves, outliers or residuals that spread more at some x"
	}
	return "curves, another link or x that is skewed within its bounds"
}
