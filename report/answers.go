package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/dpreg/dpreg/ask"
)

// Answers writes answers as a table, and why there is no evidence where there is none.
func Answers(w io.Writer, a *ask.Answers, o Options) error {
	o.fill()
	level := percent(a.Level) + "%"
	t := table{Header: []string{"", "Estimate", "Est.Error", "l-" + level, "u-" + level, "ESS"}, Left: 1}
	for i := range a.Answers {
		x := &a.Answers[i]
		d := commonOf(o.Digits, x.SD, x.Mean, x.SD, x.Lower, x.Upper)
		t.Rows = append(t.Rows, []string{x.Question, number(x.Mean, d), number(x.SD, d), number(x.Lower, d), number(x.Upper, d), number(x.ESS, 0)})
	}
	asked := t.column("P", false, func(i int) string {
		if x := a.Answers[i]; x.Probability != nil {
			return probability(*x.Probability, x.ESS)
		}
		return ""
	})
	var reasons []string
	tested := t.column("BF01", false, func(i int) string {
		x := a.Answers[i]
		switch {
		case x.Evidence != nil:
			return bayes(*x.Evidence)
		case x.Reason != "":
			reasons = append(reasons, fmt.Sprintf("No Bayes factor of %s: %s.", x.Question, x.Reason))
			return "NA"
		}
		return ""
	})
	if o.Format != "" {
		return t.writeAs(w, o.Format, fmt.Sprintf("%s, %s units", a.Formula, a.Units))
	}
	t = t.fitting(o.Width, leastLabel, "ESS")
	if o.Brief {
		return writeWide(w, o.Width, show(t), say(reasons...))
	}
	var legend []string
	if asked {
		legend = append(legend, "P: the posterior probability that it holds.")
	}
	if tested {
		legend = append(legend, "BF01: Bayes factor of equality against any difference (Savage-Dickey), above 1 where the release speaks for it. It depends on the prior: the wider that is, the larger.")
	}
	return writeWide(w, o.Width, say(a.Formula+", "+string(a.Units)+" units"), show(t), say(strings.Join(legend, " ")), say(reasons...))
}
