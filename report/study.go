package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/dpreg/dpreg/calibration"
)

// uniformAt is the level at which ranks are said not to be uniform, after
// Bonferroni's correction over all quantities and cells.
const uniformAt = 0.01

// Calibration writes the summary of a study: what was simulated, a table with a row
// for each cell, and what follows in words. times are the cells', or nil.
func Calibration(w io.Writer, s *calibration.Summary, times []calibration.Runtime) error {
	cells, legend := cellsTable(s, times)
	size, warnings := say(strings.TrimSpace(studySize(s)+" "+s.Note)), warn(unsoundness(s))
	if s.Population != "" {
		return write(w, size, show(cells), say(legend, Judgement(calibration.Judge(s))), warnings)
	}
	return write(w, size, show(cells), say(legend), show(armTable(s)), say(armLegend(s), uniformity(s)), warnings)
}

func studySize(s *calibration.Summary) string {
	return fmt.Sprintf("%s of each of %s, seed %d.", Count(s.Trials, "trial"), Count(len(s.Cells), "cell"), s.Seed)
}

// CalibrationPage writes the summary of a study as a page: what was asked, what it
// tells, how far the samplers can be trusted, the pictures of CalibrationPlots, and the
// table. times are the cells', or nil.
func CalibrationPage(w io.Writer, s *calibration.Summary, times []calibration.Runtime, run Run) error {
	figures := CalibrationPlots(s, times)
	p := page{Title: "Calibration of " + strings.Join(studied(s, func(c calibration.Setting) string { return c.Method }), ", "),
		Lead: "Are posteriors right? Where the truth lies in them, over many simulated data sets."}
	for _, alert := range warn(unsoundness(s)) {
		p.Alerts = append(p.Alerts, alert.Warning)
	}
	p.add("What was asked", []block{{Command: run.Command}, {Facts: studyFacts(s)}})
	p.add("What is private", say(s.Note))
	if s.Population != "" {
		p.add("Do intervals hold the truth?", say(Judgement(calibration.Judge(s))), picturesOf(figures, "coverage"))
	} else {
		p.add("What was learned", say(uniformity(s)), show(armTable(s).joined()), say(armLegend(s)), picturesOf(figures, "ks-", "mmd"))
		p.add("Do intervals hold the truth?", picturesOf(figures, "coverage-"))
		p.add("Are ranks uniform?", picturesOf(figures, "ecdf-"))
	}
	p.add("Can the samplers be trusted?", say(samplerWords(s)...), picturesOf(figures, "runtime"))
	cells, legend := cellsTable(s, times)
	p.add("The numbers", show(cells.joined()), say(legend))
	p.addRepeat(run, "The same command and version give the same numbers, whatever the number of cores, shards or interruptions; seconds aside. "+
		"Of a study that was saved, study.json is the whole design.", fact{"Seed", fmt.Sprint(s.Seed)})
	return p.write(w)
}

// studyFacts says what was varied.
func studyFacts(s *calibration.Summary) []fact {
	facts := []fact{{"Size", studySize(s)}}
	for _, part := range []struct {
		name string
		of   func(calibration.Setting) string
	}{
		{"Rows n", func(c calibration.Setting) string { return nonZero(float64(c.N)) }},
		{"Budgets ε", func(c calibration.Setting) string { return nonZero(c.Epsilon) }},
		{"Covariates p", func(c calibration.Setting) string { return nonZero(float64(c.P)) }},
		{"Noise", func(c calibration.Setting) string { return c.Sensitivity }},
		{"Chains x (warm-up + draws)", func(c calibration.Setting) string { return c.Run }},
	} {
		if values := studied(s, part.of); values != nil {
			facts = append(facts, fact{part.name, strings.Join(values, "; ")})
		}
	}
	return facts
}

// studied lists what cells differ in, each value once.
func studied(s *calibration.Summary, of func(calibration.Setting) string) []string {
	var values []string
	for _, c := range s.Cells {
		if v := of(c.Setting); v != "" && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}

// uniformity says whether ranks are uniform, where those of a right method are.
func uniformity(s *calibration.Summary) string {
	if !s.Uniform {
		return "The data are not the model's, so that ranks of a right method need not be uniform: coverage tells what that costs."
	}
	var failing []string
	for i := range s.Cells {
		if c := &s.Cells[i]; !isUniform(c) {
			failing = append(failing, cellName(c.Setting))
		}
	}
	if failing == nil {
		return fmt.Sprintf("Ranks are uniform, at level %v over all tests, in every cell.", uniformAt)
	}
	return fmt.Sprintf("Not uniform at level %v over all tests, in %s: %s.", uniformAt, Count(len(failing), "cell"), some(failing))
}

// unsoundness warns of the cells in which samplers did not do what they were to do.
func unsoundness(s *calibration.Summary) []string {
	var unsound []string
	for i := range s.Cells {
		if c := &s.Cells[i]; !c.Sound {
			unsound = append(unsound, cellName(c.Setting)+why(c))
		}
	}
	if unsound == nil {
		return nil
	}
	return []string{fmt.Sprintf("more than 1 %% of the trials failed or met the sampler's limit in %s, whose results do not stand: %s.",
		Count(len(unsound), "cell"), some(unsound))}
}

// mostNamed is how many cells a sentence names.
const mostNamed = 6

func some(names []string) string {
	if more := len(names) - mostNamed; more > 1 {
		names = append(slices.Clone(names[:mostNamed]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, "; ")
}

// isUniform tells whether no test of a cell says otherwise, after Bonferroni's
// correction.
func isUniform(c *calibration.CellSummary) bool {
	p := worst(c, bonferroni, slices.Min[[]float64])
	return p == nil || *p >= uniformAt
}

func why(c *calibration.CellSummary) string {
	text := fmt.Sprintf(" (%d capped, %d failed", c.Capped, c.Failed)
	if c.Error != "" {
		text += ": " + truncate(c.Error, 120)
	}
	return text + ")"
}

func cellName(c calibration.Setting) string {
	var parts []string
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, name+value)
		}
	}
	add("n=", nonZero(float64(c.N)))
	add("eps=", nonZero(c.Epsilon))
	if c.P > 1 {
		add("p=", strconv.Itoa(c.P))
	}
	add("", c.Method)
	add("", c.Kernel)
	if c.Sensitivity == calibration.PaperSensitivity {
		parts = append(parts, "paper's noise")
	}
	return strings.Join(parts, " ")
}

// Judgement says in words how slopes did.
func Judgement(v *calibration.Verdict) string {
	if v == nil {
		return ""
	}
	text := fmt.Sprintf("Slopes: %d of %s fall short of what is asked. The least margin is %+.0f, of %s.", v.Failing, Count(v.Cells, "cell"), 100*v.Worst.Margin(), judged(v.Worst))
	if v.Sharp == nil {
		return text + " None has a contraction of 0.9."
	}
	return text + " Of those with a contraction of 0.9 the least covered is " + judged(v.Sharp) + "."
}

func judged(j *calibration.Judged) string {
	text := fmt.Sprintf("%s in %s, %s: %s%% hold it", j.Name, j.Population, cellName(j.Setting), shareAndSE(&j.Coverage[level95]))
	if l := j.Coefficient.LeastSquares; l != nil {
		text += ", " + shareAndSE(&l[level95]) + "% of least squares"
	}
	return text
}

// samplerWords says in words whether trials came to their end.
func samplerWords(s *calibration.Summary) []string {
	failed, capped := 0, 0
	var short []string
	for _, a := range arms(s) {
		few := 0
		for _, c := range a.cells {
			failed, capped, few = failed+c.Failed, capped+c.Capped, few+c.Short
		}
		if few > 0 {
			short = append(short, fmt.Sprintf("%s (%d of %d)", cellName(a.Setting), few, len(a.cells)*s.Trials))
		}
	}
	words := []string{fmt.Sprintf("Of %s %d failed, and %d met the sampler's limit. None is left out.", Count(len(s.Cells)*s.Trials, "trial"), failed, capped)}
	if short != nil {
		words = append(words, fmt.Sprintf("The truth is ranked among %d draws. In trials of these samplers they were worth fewer independent ones, "+
			"so that ranks need not be uniform even where the sampler's target is right: %s.", calibration.Ranked, strings.Join(short, "; ")))
	}
	return words
}
