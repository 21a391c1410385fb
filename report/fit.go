package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/whatif"
)

// Options say how a fit is written.
// Options say how a fit is written.
type Options struct {
	Units dpreg.Units // empty: dpreg.Original
	Level float64     // of the intervals; 0: posterior.DefaultLevel
	All   bool        // sigma2, mean(x), var(x) and cov(x, w) as well
}

// fill puts defaults where nothing was said.
func (o *Options) fill() {
	if o.Units == "" {
		o.Units = dpreg.Original
	}
	if o.Level == 0 {
		o.Level = posterior.DefaultLevel
	}
}

// Fit writes the whole result: what was released, the table, the diagnostics,
// the price of privacy and the warnings. It panics on units or a level that do
// not exist.
func Fit(w io.Writer, f *dpreg.Fit, o Options) error {
	o.fill()
	s := f.Summary(o.Units, o.Level)
	promises, warnings := private(f), s.Warnings
	if len(f.Custodians) == 1 {
		r := f.Custodians[0].Release
		promises = statement(r)
		warnings = slices.DeleteFunc(slices.Clone(warnings), func(text string) bool { return slices.Contains(r.Warnings(), text) })
	}
	if promises != nil {
		promises = append(promises, blank...)
	}
	return write(w, promises, say(Formula(f.Design)+", "+subject(f, o.Units), chosen(f)), show(summaryTable(s, o.All)),
		say(leftOut(s, o.All), diagnosed(s), priced(s, f.PriceOfPrivacy()), shrunk(f, o.Units)), warn(warnings))
}

// chosen says which engine was taken, and why; empty where there was no choice.
func chosen(f *dpreg.Fit) string {
	if f.Why == "" {
		return ""
	}
	return fmt.Sprintf("Method %s was taken: %s.", f.Method, f.Why)
}

// subject says of what a fit is.
func subject(f *dpreg.Fit, u dpreg.Units) string {
	text := fmt.Sprintf("method %s, n = %d, %s units", f.Method, f.N, u)
	switch covariates, pooling := f.Sharing(); {
	case f.SameRows():
		text += fmt.Sprintf(", %d releases of the same rows", len(f.Custodians))
	case pooling != "":
		text += fmt.Sprintf(", %s pooling, %s covariates", pooling, covariates)
	}
	return text
}

// shrunk tells how far partial pooling drew custodians together; empty without.
func shrunk(f *dpreg.Fit, u dpreg.Units) string {
	shares := f.Shrinkage(u)
	if shares == nil {
		return ""
	}
	var parts []string
	labels := f.Summary(u, 0.5).Parameters
	for k, share := range shares {
		parts = append(parts, fmt.Sprintf("%s %.2f", labels[k].Label, share))
	}
	return "Shrinkage (0: each custodian has its own coefficient, 1: all have one): " + strings.Join(parts, ", ") + "."
}

// FitPage writes a fit as a page: what was asked, the promise of privacy, the
// table, the posterior contraction, the diagnostics, and how to repeat it. The figures are
// those of FitPlots; what may be nil. It panics on units or a level that do not exist.
func FitPage(w io.Writer, f *dpreg.Fit, what *whatif.Answers, figures []*Figure, o Options, run Run) error {
	o.fill()
	s := f.Summary(o.Units, o.Level)
	pictures, err := picturesOf(figures)
	if err != nil {
		return err
	}
	p := page{Title: Formula(f.Design), Lead: "Bayesian linear regression, " + subject(f, o.Units) + ".", Alerts: alerts(f)}
	p.add("What was asked", fitAsked(f, run, fact{"Intervals", exactly(percent(o.Level)) + " %, equal tails"}))
	p.add("What is private", private(f))
	p.add("Estimates", show(summaryTable(s, o.All)), say("Estimate and Est.Error: posterior mean and standard deviation; l and u: the interval; "+
		"Contr.: posterior contraction, 1 - (posterior IQR / prior IQR)^2, near 0 where the release says nothing and the prior speaks.",
		leftOut(s, o.All), priced(s, f.PriceOfPrivacy()), shrunk(f, o.Units)))
	p.add("Posterior contraction", say(contraction(s)...), pictures["posterior"], pictures[CustodiansPlot])
	p.add("Can the chains be trusted?", say(diagnosed(s), trusted(f)), pictures["trace"], pictures["ranks"], pictures["pairs"])
	if what != nil {
		p.add("What if", whatIf(what))
	}
	p.add("Warnings", warn(s.Warnings))
	how := "The same release, command and version give the same draws; a release holds no row, and whatever is computed from it costs no further ε."
	if f.FromRows() {
		how = "The same rows, command and version give the same draws."
	}
	chains := fmt.Sprintf("%s, each of %s after %s of warm-up", count(s.Chains, "chain"), count(s.Draws, "draw"), count(f.Plan.Warmup, "step"))
	p.addRepeat(run, how, fact{"Seed of the chains", fmt.Sprint(f.Plan.Seed)}, fact{"Chains", chains})
	return p.write(w)
}

// alerts are what must not be missed of a fit.
func alerts(f *dpreg.Fit) (all []string) {
	switch {
	case f.FromRows():
		all = append(all, "NOT PRIVATE: this page was computed from the rows, without noise. It is for those who may see the rows.")
	case slices.ContainsFunc(f.Custodians, func(c dpreg.Custodian) bool { return c.Release.Simulated }):
		all = append(all, simulatedRelease)
	}
	if ok, reason := f.Converged(); !ok {
		all = append(all, "Not converged: "+reason+".")
	}
	return all
}

// fitAsked says which model of which columns was asked for, and what became of it.
func fitAsked(f *dpreg.Fit, run Run, more ...fact) []block {
	method := f.Method
	if run.Method != "" && run.Method != f.Method {
		method += fmt.Sprintf(", taken where %s was asked for", run.Method)
		if f.Why != "" {
			method += ": " + f.Why
		}
	}
	if f.Kernel != "" {
		method += ", kernel " + f.Kernel
	}
	columns, bounds := columnsTable(f.Design), "their public bounds, to which values were clamped:"
	if len(f.Custodians) > 1 {
		bounds = "the smallest bounds that hold those of all releases, each of which clamped values to its own:"
	}
	return []block{
		{Command: run.Command},
		{Facts: append([]fact{{"Model", Formula(f.Design)}, {"Method", method}}, more...)},
		{Text: "The columns of the model and " + bounds},
		{Table: &columns},
	}
}

// trusted explains the diagnostics, and says what they say.
func trusted(f *dpreg.Fit) string {
	verdict := "Neither speaks against the draws being of the posterior of this method (Vehtari et al. 2021)."
	if ok, _ := f.Converged(); !ok {
		verdict = "They say that the draws are not yet of the posterior, and the numbers above may be wrong (Vehtari et al. 2021). Sample longer."
	}
	return "R-hat compares chains that started apart, and is 1 where they agree; ESS is the number of independent draws that these are worth. " + verdict
}

// diagnosed says how long the run was, and the worst R-hat and effective
// sample size over all parameters, shown or not.
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

// priced says the price of privacy of each coefficient; empty where it is not known.
func priced(s *posterior.Summary, prices []float64) string {
	if prices == nil {
		return ""
	}
	parts := make([]string, len(prices))
	for i, v := range prices {
		parts[i] = s.Parameters[i].Label + " " + ratio(v)
	}
	return "Price of privacy (posterior sd over the sd expected without noise): " + strings.Join(parts, ", ") + "."
}

// ratio has three digits, or those before the point.
func ratio(v float64) string { return number(v, min(precision(v), 2)) }
