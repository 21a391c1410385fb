package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/dpreg/dpreg/posterior"
)

// Diagnostics writes how long the run was, and the worst R-hat and effective
// sample size over all parameters, shown or not.
func Diagnostics(w io.Writer, s *posterior.Summary) error {
	p := &printer{w: w}
	p.paragraph(diagnosed(s))
	return p.err
}

func diagnosed(s *posterior.Summary) string {
	worst, least := math.Inf(-1), math.Inf(1)
	for _, p := range s.Parameters {
		worst = max(worst, p.RHat)
		least = min(least, p.ESSBulk, p.ESSTail)
	}
	return fmt.Sprintf("%s of %s: R-hat at most %s, ESS at least %s.",
		count(s.Chains, "chain"), count(s.Draws, "draw"), number(worst, 3), number(least, 0))
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}

// Price writes the price of privacy of each coefficient, in the order of the
// summary's parameters, of which the coefficients come first.
func Price(w io.Writer, s *posterior.Summary, price []float64) error {
	p := &printer{w: w}
	p.paragraph(priced(s, price))
	return p.err
}

func priced(s *posterior.Summary, price []float64) string {
	parts := make([]string, len(price))
	for i, v := range price {
		parts[i] = s.Parameters[i].Label + " " + ratio(v)
	}
	return "Price of privacy (posterior sd over the sd expected without noise): " + strings.Join(parts, ", ") + "."
}

// ratio has three digits, or those before the point.
func ratio(v float64) string { return number(v, min(precision(v), 2)) }

// Warnings writes warnings, such as a summary's, a paragraph each.
func Warnings(w io.Writer, warnings []string) error {
	p := &printer{w: w}
	for _, text := range warnings {
		p.paragraph(warned(text))
	}
	return p.err
}

func warned(text string) string { return "Warning: " + strings.TrimRight(text, ".") + "." }
