package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/dpreg/dpreg/calibration/audit"
)

// Audit writes what audits certify beside what is claimed, and the checks of noise.
func Audit(w io.Writer, results []*audit.Result) error {
	var bounds, checks [][]string
	for _, r := range results {
		m, noise := strconv.Itoa(r.Columns), string(r.Noise.Kind)
		for _, b := range r.Bounds {
			bounds = append(bounds, []string{
				m, noise, b.Quantity, digits(b.Claim), digits(b.Certified), number(100*b.Share, 1) + "%",
				strconv.FormatFloat(float64(r.Releases), 'g', -1, 64), digits(b.Threshold), strconv.Itoa(b.Correct), strconv.Itoa(b.Wrong), fmt.Sprintf("1-%.1g", 1-b.Confidence),
			})
		}
		for _, c := range r.Checks {
			verdict := "passed"
			if !c.Passed {
				verdict = "FAILED"
			}
			checks = append(checks, []string{m, noise, c.Name, strconv.FormatFloat(c.Value, 'g', 3, 64), verdict})
		}
	}
	p := &printer{w: w}
	if len(results) > 0 {
		p.paragraph(auditSubject(results[0]))
		p.printf("\n")
	}
	p.do(func(w io.Writer) error {
		return grid(w, []string{"m", "noise", "quantity", "claim", "certified", "share", "releases", "c", "right", "wrong", "confidence"}, bounds, 3)
	})
	p.printf("\n")
	p.do(func(w io.Writer) error { return grid(w, []string{"m", "noise", "check", "value", ""}, checks, 3) })
	p.printf("\n")
	p.paragraph(fmt.Sprintf("What is certified is a lower bound, for any mechanism: above the truth, in an audit of one m, with a probability of %v at most. "+
		"Releases are those of each of two neighbouring data sets; guesses are made where the log-likelihood ratio is at least c. "+
		"Checks count what must not be, or give a p-value, for all tests of the kind: a fault is below %.1g.", audit.FalseAlarm, audit.FalseAlarm/3))
	return p.err
}

func auditSubject(r *audit.Result) string {
	words := []string{fmt.Sprintf("Audit of epsilon = %v", r.Privacy.Epsilon)}
	if r.Privacy.Delta > 0 {
		words = append(words, fmt.Sprintf("delta = %v", r.Privacy.Delta))
	}
	return strings.Join(append(words, string(r.Privacy.Neighbours)+" neighbours"), ", ") + "."
}

// digits shows four significant ones.
func digits(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }
