package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/vi"
	"github.com/dpreg/dpreg/whatif"
)

// Options say how a fit is written.
type Options struct {
	Units  dpreg.Units // empty: dpreg.Original
	Level  float64     // of the intervals; 0: posterior.DefaultLevel
	Sign   bool        // with the probability that a parameter is above 0
	Brief  bool        // the table and the warnings alone
	Format string      // one of TableFormats: the table alone, below a caption; empty: text
	Width  int         // of a line of text in characters, at least LeastWidth; 0: 80
	Digits int         // of a standard deviation; 0: 3
}

// LeastWidth is that of a line which is worth printing.
const LeastWidth = 40

// fill puts defaults where nothing was said.
func (o *Options) fill() {
	o.Units, o.Level = cmp.Or(o.Units, dpreg.Original), cmp.Or(o.Level, posterior.DefaultLevel)
	o.Width, o.Digits = max(cmp.Or(o.Width, width), LeastWidth), cmp.Or(o.Digits, usualDigits)
}

// Fit writes the whole result: what was released, the table, the diagnostics,
// the price of privacy and the warnings. It panics on units or a level that do
// not exist.
func Fit(w io.Writer, f *dpreg.Fit, o Options) error {
	o.fill()
	s := f.Summary(o.Units, o.Level)
	if o.Format != "" {
		return summaryTable(s, false, o).writeAs(w, o.Format, caption(f, o.Units))
	}
	read, without := toRead(f, s)
	estimates := summaryTable(read, false, o)
	promises, warnings := private(f), s.Warnings
	if len(f.Custodians) == 1 {
		r := f.Custodians[0].Release
		promises = statement(r)
		warnings = slices.DeleteFunc(slices.Clone(warnings), func(text string) bool { return slices.Contains(r.Warnings(), text) })
	}
	if promises != nil {
		promises = append(promises, blank...)
	}
	if o.Brief {
		return writeWide(w, o.Width, append(show(estimates), ratios(s)...), warn(s.Warnings))
	}
	return writeWide(w, o.Width, promises, say(f.Design.Formula().String()+", "+subject(f, o.Units), chosen(f)), append(show(estimates), ratios(s)...),
		say(without, diagnosed(s), priced(s, f.PriceOfPrivacy()), shrunk(f, o.Units), granted(f)), warn(warnings))
}

// caption says in a line of what a table is, with what was promised.
func caption(f *dpreg.Fit, u dpreg.Units) string {
	text := f.Design.Formula().String() + ", " + subject(f, u)
	if p := f.TotalPrivacy(); p != nil {
		text += fmt.Sprintf(", epsilon = %s, delta = %s, %s neighbours", exactly(p.Epsilon), exactly(p.Delta), p.Neighbours)
	}
	if ok, reason := f.Converged(); !ok {
		text += "; not converged: " + reason
	}
	return text
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
	n := "n"
	if slices.ContainsFunc(f.Custodians, func(c dpreg.Custodian) bool { return c.Release.NNoise > 0 }) {
		n = "noisy n"
	}
	text := fmt.Sprintf("method %s, %s = %d, %s units", f.Method, n, f.N, u)
	if f.Family != model.Normal {
		clamped := ""
		if f.Family == model.Poisson {
			clamped = fmt.Sprintf(", of counts above %s the law of %[1]s or more", exactly(f.Design.Response.Upper))
		}
		text = fmt.Sprintf("family %s (%s link%s), ", f.Family, f.Family.Link(), clamped) + text
	}
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
	return "Shrinkage (0: each " + oneOf(f) + " has its own coefficient, 1: all have one): " + strings.Join(parts, ", ") + "."
}

// FitPage writes a fit as a page: what was asked, the promise of privacy, the
// table, the posterior contraction, the diagnostics, and how to repeat it. The figures are
// those of FitPlots; what may be nil. It panics on units or a level that do not exist.
func FitPage(w io.Writer, f *dpreg.Fit, what *whatif.Answers, figures []*Figure, o Options, run Run) error {
	return fitPage(f, what, figures, o, run).write(w)
}

// FitBody writes what FitPage has between <body> and </body>, for a page that has Style.
func FitBody(w io.Writer, f *dpreg.Fit, what *whatif.Answers, figures []*Figure, o Options, run Run) error {
	return fitPage(f, what, figures, o, run).writePart(w, "body")
}

func fitPage(f *dpreg.Fit, what *whatif.Answers, figures []*Figure, o Options, run Run) *page {
	o.fill()
	s := f.Summary(o.Units, o.Level)
	read, without := toRead(f, s)
	p := page{Title: f.Design.Formula().String(), Lead: "Bayesian " + kindOf(f.Family) + " regression, " + subject(f, o.Units) + ".", Alerts: alerts(f)}
	p.add("What was asked", fitAsked(f, run, fact{"Intervals", percent(o.Level) + " %, equal tails"}))
	p.add("What is private", private(f))
	p.add("Estimates", append(show(summaryTable(read, false, o)), ratios(s)...), say("Estimate and Est.Error: posterior mean and standard deviation; l and u: the interval; "+
		"Contr.: posterior contraction, 1 - (posterior IQR / prior IQR)^2, near 0 where the release says nothing and the prior speaks.",
		without, priced(s, f.PriceOfPrivacy()), shrunk(f, o.Units), granted(f)))
	p.add("Posterior contraction", say(contraction(s)...), picturesOf(figures, "posterior", CustodiansPlot))
	p.add("Can the chains be trusted?", say(diagnosed(s), trusted(f)), picturesOf(figures, "trace", "ranks", "pairs"))
	if what != nil {
		p.add("What if", whatIf(what))
	}
	p.add("Warnings", warn(s.Warnings))
	how := "The same release, command and version give the same draws; a release holds no row, and whatever is computed from it costs no further ε."
	if f.FromRows() {
		how = "The same rows, command and version give the same draws."
	}
	chains := fmt.Sprintf("%s, each of %s after %s of warm-up", Count(s.Chains, "chain"), Count(s.Draws, "draw"), Count(f.Plan.Warmup, "step"))
	p.addRepeat(run, how, fact{"Seed of the chains", fmt.Sprint(f.Plan.Seed)}, fact{"Chains", chains})
	return &p
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
		{Facts: append([]fact{{"Model", f.Design.Formula().String()}, {"Method", method}}, more...)},
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
	text := Count(s.Chains, "chain") + " of " + Count(s.Draws, "draw")
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

// Variational writes the result of variational inference: what was promised and spent,
// what was modelled, and the table.
func Variational(w io.Writer, f *vi.Fit, s *posterior.Summary, model, neighbours string) error {
	promised := say("Privacy: none. This was computed from the rows, without noise.")
	if f.Privacy != nil {
		r := &release.Release{Privacy: &release.Privacy{Epsilon: f.Privacy.Epsilon, Delta: f.Privacy.Delta, Neighbours: release.Neighbours(neighbours)}}
		t := f.Training
		promised = say(saySimulated(f.Simulated), promise(r), fmt.Sprintf("Released: the fitted law, after %s on batches of %s of the rows, the sum of clipped gradients with Gaussian noise of %s clipping norms each.",
			Count(t.Steps, "step"), exactly(t.Rate), general(t.Multiplier)))
	}
	if s.N != nil {
		model += fmt.Sprintf(", n = %d", *s.N)
	}
	return write(w, promised, blank, say(fmt.Sprintf("%s, %s units", model, s.Units)), show(summaryTable(s, true, Options{Width: width, Digits: usualDigits})),
		say(fmt.Sprintf("%s of the fitted law.", Count(s.Chains*s.Draws, "independent draw"))), warn(s.Warnings))
}

// VariationalTrace draws the means over the steps, which are in the units named and have labels, of as many parameters as
// fit, and the ELBO where the trace has one.
func VariationalTrace(trace []vi.Point, labels []string, units string) *Figure {
	f := &Figure{Name: "trace", title: fmt.Sprintf("The fitted law's centre over the steps, %s units", units)}
	shown := labels[:min(len(labels), mostPanels)]
	short := titles(append([]string{"ELBO"}, shown...)...)
	if len(labels) > mostPanels {
		f.note = fmt.Sprintf("Shown are the first %d of %d parameters.", mostPanels, len(labels))
	}
	add := func(name string, value func(vi.Point) float64) {
		p, points := axes(name, "step", ""), make(plotter.XYs, len(trace))
		for i, at := range trace {
			points[i] = plotter.XY{X: float64(at.Step), Y: value(at)}
		}
		traceKey.add(p, points)
		f.panels = append(f.panels, newPanel(p))
	}
	if len(trace) > 0 && !math.IsNaN(trace[0].ELBO) {
		add("ELBO", func(p vi.Point) float64 { return p.ELBO })
	}
	for j, label := range shown {
		add(short[label], func(p vi.Point) float64 { return p.Mean[j] })
	}
	return f
}

var traceKey = key{LineStyle: draw.LineStyle{Color: blue, Width: 1}}
