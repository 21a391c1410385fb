package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/dpreg/dpreg/models"
)

// mostModels are the models that a table has.
const mostModels = 16

// Models writes the most probable models, and how probable each covariate is.
func Models(w io.Writer, c *models.Comparison, o Options) error {
	o.fill()
	t := table{Header: []string{"Model", "P", "BF", "log BF", "MC error"}, Left: 1}
	shown := c.Models[:min(len(c.Models), mostModels)]
	for _, m := range shown {
		log := m.LogBayes - shown[0].LogBayes
		t.Rows = append(t.Rows, []string{m.Formula, number(m.Probability, 3), bayes(math.Exp(log)), number(log, 2), number(m.MCSE, 2)})
	}
	if o.Format != "" {
		return t.writeAs(w, o.Format, "Models of "+c.Formula)
	}
	t = t.fitting(o.Width, leastLabelAll)
	covariates := table{Header: []string{"Covariate", "P"}, Left: 1, widest: []int{leastLabelAll}}
	for _, x := range c.Covariates {
		covariates.Rows = append(covariates.Rows, []string{x.Name, number(x.Probability, 3)})
	}
	var rest []string
	if more := len(c.Models) - len(shown); more > 0 {
		rest = append(rest, "In --format csv or json: "+Count(more, "model")+" more.")
	}
	if c.Unweighed > 0 {
		rest = append(rest, "Not weighed, since what leads to them is negligible: "+Count(c.Unweighed, "model")+".")
	}
	if c.Unsettled > 0 {
		rest = append(rest, fmt.Sprintf("Warning: in %s the chains did not converge: --ess samples longer.", Count(c.Unsettled, "fit")))
	}
	if o.Brief {
		return writeWide(w, o.Width, show(t, covariates), say(rest...))
	}
	return writeWide(w, o.Width, say("Models of "+c.Formula), show(t), say(strings.Join(rest, " ")), show(covariates),
		say("P: posterior probability, all models alike before; BF: Bayes factor against the first; MC error: of its logarithm against the model with all terms, 1 where a normal tail stands for one without draws.",
			"BF hangs on the prior: one of k times the sd divides the evidence for a slope by about k. State the prior that you mean (--prior)."))
}

// bayes writes a Bayes factor in three digits, with a power of ten far below 1.
func bayes(x float64) string {
	if x < 0.001 {
		return number(x, scientific)
	}
	return number(x, min(precision(x), 3))
}
