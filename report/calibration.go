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
	p := &printer{w: w}
	p.paragraph(studyStatement(s))
	p.printf("\n")
	if s.Population != "" {
		p.population(s, times)
	} else {
		p.simulated(s, times)
	}
	if text := unsoundness(s); text != "" {
		p.do(func(w io.Writer) error { return Warnings(w, []string{text}) })
	}
	return p.err
}

// simulated writes the tables of a study whose truths are simulated.
func (p *printer) simulated(s *calibration.Summary, times []calibration.Runtime) {
	t := newStudyTable(s, times)
	p.do(func(w io.Writer) error { return grid(w, t.header(), t.rows(), t.left()) })
	p.printf("\n")
	p.paragraph(t.legend())
	p.printf("\n")
	p.do(func(w io.Writer) error {
		header, rows, left := armTable(s)
		return grid(w, header, rows, left)
	})
	p.printf("\n")
	p.paragraph(armLegend(s))
	p.paragraph(uniformity(s))
}

func studyStatement(s *calibration.Summary) string {
	text := studySize(s)
	if s.Note != "" {
		text += " " + s.Note
	}
	return text
}

func studySize(s *calibration.Summary) string {
	return fmt.Sprintf("%s of each of %s, seed %d.", count(s.Trials, "trial"), count(len(s.Cells), "cell"), s.Seed)
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
	return fmt.Sprintf("Not uniform at level %v over all tests, in %s: %s.", uniformAt, count(len(failing), "cell"), some(failing))
}

// unsoundness names the cells in which samplers did not do what they were to do; empty
// where there is none.
func unsoundness(s *calibration.Summary) string {
	var unsound []string
	for i := range s.Cells {
		if c := &s.Cells[i]; !c.Sound {
			unsound = append(unsound, cellName(c.Setting)+why(c))
		}
	}
	if unsound == nil {
		return ""
	}
	return fmt.Sprintf("more than 1 %% of the trials failed or met the sampler's limit in %s, whose results do not stand: %s.",
		count(len(unsound), "cell"), some(unsound))
}

// mostNamed is how many cells a sentence names.
const mostNamed = 6

// some lists the first of many.
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

// why says what made a cell unsound.
func why(c *calibration.CellSummary) string {
	text := fmt.Sprintf(" (%d capped, %d failed", c.Capped, c.Failed)
	if c.Error != "" {
		text += ": " + truncate(c.Error, 120)
	}
	return text + ")"
}

// cellName is how a sentence calls a cell.
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
