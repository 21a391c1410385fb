package report

import (
	"fmt"
	"io"
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
	text := count(s.Chains, "chain") + " of " + count(s.Draws, "draw")
	checked := s.Parameters
	if s.Checked != nil {
		checked = s.Checked
	}
	if worst, least := posterior.Worst(checked); worst != nil {
		text += fmt.Sprintf(": R-hat at most %s, of %s; ESS at least %s, of %s", number(worst.RHat, 3), worst.Label, number(least.ESS(), 0), least.Label)
	}
	var reasons []string
	without := make(map[string][]string) // parameters, of each reason
	for _, p := range s.Parameters {
		if p.Undefined == "" {
			continue
		}
		if without[p.Undefined] == nil {
			reasons = append(reasons, p.Undefined)
		}
		without[p.Undefined] = append(without[p.Undefined], p.Label)
	}
	for _, why := range reasons {
		of := strings.Join(without[why], ", ")
		if len(without[why]) == len(s.Parameters) {
			of = "all parameters"
		}
		text += fmt.Sprintf(". R-hat or ESS of %s does not exist: %s", of, why)
	}
	return text + "."
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
