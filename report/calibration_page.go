package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/dpreg/dpreg/calibration"
)

// CalibrationPage writes the summary of a study as a page: what was asked, what it
// tells, how far the samplers can be trusted, the pictures of CalibrationPlots, and the
// table. times are the cells', or nil.
func CalibrationPage(w io.Writer, s *calibration.Summary, times []calibration.Runtime, run Run) error {
	figures, err := CalibrationPlots(s, times)
	if err != nil {
		return err
	}
	pictures, err := picturesOf(figures)
	if err != nil {
		return err
	}
	shown := func(prefix string) (blocks []block) {
		for _, f := range figures {
			if strings.HasPrefix(f.Name, prefix) {
				blocks = append(blocks, pictures[f.Name]...)
			}
		}
		return blocks
	}
	p := page{Title: "Calibration of " + strings.Join(studied(s, func(c calibration.Setting) string { return c.Method }), ", "),
		Lead: "Are posteriors right? Where the truth lies in them, over many simulated data sets."}
	if text := unsoundness(s); text != "" {
		p.Alerts = append(p.Alerts, warned(text))
	}
	p.add("What was asked", block{Command: run.Command}, block{Facts: studyFacts(s)})
	if s.Note != "" {
		p.add("What is private", block{Text: s.Note})
	}
	if s.Population != "" {
		p.add("Do intervals hold the truth?", append([]block{{Text: Judgement(calibration.Judge(s))}}, shown("coverage")...)...)
	} else {
		arms := joined(armTable(s))
		verdict := []block{{Text: uniformity(s)}, {Table: &arms}, {Text: armLegend(s)}}
		p.add("What was learned", slices.Concat(verdict, shown("ks-"), shown("mmd"))...)
		p.add("Do intervals hold the truth?", shown("coverage-")...)
		ranks := shown("ecdf-")
		if ranks == nil { // of quantities that are pooled
			ranks = shown("qq-")
		}
		p.add("Are ranks uniform?", ranks...)
	}
	samplers := samplerTable(s)
	p.add("Can the samplers be trusted?", slices.Concat(paragraphs(samplerWords(s)...), []block{{Table: &samplers}, {Text: samplerLegend}}, shown("runtime"))...)
	if s.Population != "" {
		cells := joined(populationTable(s, times))
		p.add("The numbers", block{Table: &cells}, block{Text: populationLegend})
	} else {
		t := newStudyTable(s, times)
		cells := joined(t.header(), t.rows(), t.left())
		p.add("The numbers", block{Table: &cells}, block{Text: t.legend()})
	}
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

// joined makes one column of those that name a row, so that a narrow screen shows all
// of the name while numbers scroll past it.
func joined(header []string, rows [][]string, left int) table {
	join := func(row []string) []string {
		name := slices.DeleteFunc(slices.Clone(row[:left]), func(part string) bool { return part == "" })
		return append([]string{strings.Join(name, ", ")}, row[left:]...)
	}
	t := table{Header: join(header), Left: 1}
	for _, row := range rows {
		t.Rows = append(t.Rows, join(row))
	}
	return t
}
