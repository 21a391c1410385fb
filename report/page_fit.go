package report

import (
	"fmt"
	"io"
	"slices"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/whatif"
)

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
	p := page{Title: Formula(f.Design), Lead: "Bayesian linear regression, " + subject(f, o.Units) + "."}
	ok, reason := f.Converged()
	if f.FromRows() {
		p.Alerts = append(p.Alerts, "NOT PRIVATE: this page was computed from the rows, without noise. It is for those who may see the rows.")
	} else if ofSimulated(f) {
		p.Alerts = append(p.Alerts, simulatedRelease)
	}
	if !ok {
		p.Alerts = append(p.Alerts, "Not converged: "+reason+".")
	}
	p.add("What was asked", fitAsked(f, run, fact{"Intervals", exactly(percent(o.Level)) + " %, equal tails"})...)
	if !f.FromRows() {
		p.addPrivate(f)
	}
	p.add("Estimates", fitEstimates(f, s, o)...)
	p.add("Posterior contraction", append(paragraphs(contraction(s)...), slices.Concat(pictures["posterior"], pictures[CustodiansPlot])...)...)
	p.add("Can the chains be trusted?", fitDiagnostics(s, ok, pictures)...)
	if what != nil {
		table := whatIfTable(what)
		p.add("What if", append([]block{{Table: &table}}, paragraphs(whatIfWords(what)...)...)...)
	}
	p.addWarnings(s.Warnings)
	how := "The same release, command and version give the same draws; a release holds no row, and whatever is computed from it costs no further ε."
	if f.FromRows() {
		how = "The same rows, command and version give the same draws."
	}
	p.addRepeat(run, how, fact{"Seed of the chains", fmt.Sprint(f.Plan.Seed)}, fact{"Chains", lengths(f, s)})
	return p.write(w)
}

// addPrivate says what the releases promise.
func (p *page) addPrivate(f *dpreg.Fit) {
	promises, words := private(f)
	blocks := paragraphs(words...)
	if promises != nil {
		blocks = append([]block{{Table: promises}}, blocks...)
	}
	p.add("What is private", blocks...)
}

// picturesOf makes a block of each figure, by its name.
func picturesOf(figures []*Figure) (map[string][]block, error) {
	blocks := make(map[string][]block)
	for _, f := range figures {
		picture, err := f.picture()
		if err != nil {
			return nil, err
		}
		blocks[f.Name] = []block{{Picture: picture}}
	}
	return blocks, nil
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

func fitEstimates(f *dpreg.Fit, s *posterior.Summary, o Options) []block {
	t := summaryTable(s, o.All)
	blocks := []block{{Table: &t}, {Text: "Estimate and Est.Error: posterior mean and standard deviation; l and u: the interval; " +
		"Contr.: posterior contraction, 1 - (posterior IQR / prior IQR)^2, near 0 where the release says nothing and the prior speaks."}}
	if text := leftOut(s, o.All); text != "" {
		blocks = append(blocks, block{Text: text})
	}
	if price := f.PriceOfPrivacy(); price != nil {
		blocks = append(blocks, block{Text: priced(s, price)})
	}
	if text := shrunk(f, o.Units); text != "" {
		blocks = append(blocks, block{Text: text})
	}
	return blocks
}

func fitDiagnostics(s *posterior.Summary, ok bool, pictures map[string][]block) []block {
	verdict := "Neither speaks against the draws being of the posterior of this method (Vehtari et al. 2021)."
	if !ok {
		verdict = "They say that the draws are not yet of the posterior, and the numbers above may be wrong (Vehtari et al. 2021). Sample longer."
	}
	blocks := paragraphs(diagnosed(s), "R-hat compares chains that started apart, and is 1 where they agree; ESS is the number of independent draws that these are worth. "+verdict)
	for _, name := range []string{"trace", "ranks", "pairs"} {
		blocks = append(blocks, pictures[name]...)
	}
	return blocks
}

// lengths says how long the chains are.
func lengths(f *dpreg.Fit, s *posterior.Summary) string {
	return fmt.Sprintf("%s, each of %s after %s", count(s.Chains, "chain"), count(s.Draws, "draw"), count(f.Plan.Warmup, "step")+" of warm-up")
}
