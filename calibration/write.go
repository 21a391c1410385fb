package calibration

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// settingHeader and fields are a setting's columns.
var settingHeader = []string{"n", "epsilon", "p", "method", "kernel", "sensitivity", "run"}

func (c Setting) fields() []string {
	return []string{strconv.FormatInt(c.N, 10), number(c.Epsilon), strconv.Itoa(c.P), c.Method, c.Kernel, c.Sensitivity, c.Run}
}

// WriteTrials writes a CSV with a row for each trial and quantity, and one for each
// trial that failed.
func (s *Study) WriteTrials(w io.Writer, trials []*Trial) error {
	header := append(append([]string{}, settingHeader...), "trial", "quantity", "truth", "u", "rank")
	for _, level := range Levels {
		header = append(header, fmt.Sprintf("hit%g", 100*level))
	}
	if s.Population != "" {
		header = append(header, coefficientHeader()...)
	}
	header = append(header, "ess", "draws", "capped", "mmd2", "clamped", "accept", "projected", "divergent", "error")
	out := csv.NewWriter(w)
	out.Write(header)
	for _, t := range trials {
		before := append(s.Cells[t.Cell].fields(), strconv.Itoa(t.Trial))
		after := []string{number(t.ESS), strconv.Itoa(t.Draws), flag(t.Capped), optional(t.MMD2), number(t.Clamped),
			optional(t.Accept), optional(t.Projected), optional(t.Divergent), t.Error}
		if t.Error != "" {
			row := append(before, make([]string, 4+len(Levels))...)
			if s.Population != "" {
				row = append(row, make([]string, len(coefficientHeader()))...)
			}
			out.Write(append(row, after...))
		}
		for _, q := range t.Scores {
			row := append(append([]string{}, before...), q.Name, number(q.Truth), number(q.U), strconv.Itoa(q.Rank))
			for _, hit := range q.Hits {
				row = append(row, flag(hit))
			}
			if s.Population != "" {
				row = append(row, q.Coefficient.fields(t)...)
			}
			out.Write(append(row, after...))
		}
	}
	out.Flush()
	return out.Error()
}

// WriteTiming writes a CSV with the seconds of each trial.
func (s *Study) WriteTiming(w io.Writer, trials []*Trial) error {
	out := csv.NewWriter(w)
	out.Write(append(append([]string{}, settingHeader...), "trial", "seconds"))
	for _, t := range trials {
		out.Write(append(s.Cells[t.Cell].fields(), strconv.Itoa(t.Trial), number(t.Seconds)))
	}
	out.Flush()
	return out.Error()
}

// WriteCSV writes a row for each cell and quantity, and one for a cell without any. That of a
// population has columns of its own.
func (s *Summary) WriteCSV(w io.Writer) error {
	if s.Population != "" {
		return s.writePopulation(w)
	}
	header := append(append([]string{}, settingHeader...), "trials", "failed", "capped", "short", "sound", "ess_median", "ess_least",
		"draws", "mmd2", "mmd2_error", "accept", "projected", "divergent", "clamped", "quantity", "ks", "p_value", "p_bonferroni", "ecdf_p_value")
	for _, level := range Levels {
		name := fmt.Sprintf("cover%g", 100*level)
		header = append(header, name, name+"_lower", name+"_upper")
	}
	out := csv.NewWriter(w)
	out.Write(header)
	for _, c := range s.Cells {
		before := append(c.fields(), strconv.Itoa(s.Trials), strconv.Itoa(c.Failed), strconv.Itoa(c.Capped), strconv.Itoa(c.Short), flag(c.Sound),
			number(c.ESSMedian), number(c.ESSLeast), number(c.Draws), optional(c.MMD2), optional(c.MMD2Error),
			optional(c.Accept), optional(c.Projected), optional(c.Divergent), number(c.Clamped))
		if len(c.Quantities) == 0 {
			out.Write(append(before, make([]string, 5+3*len(Levels))...))
		}
		for _, q := range c.Quantities {
			row := append(append([]string{}, before...), q.Name, optional(q.KS), optional(q.P), optional(q.PBonferroni), optional(q.ECDF))
			for _, v := range q.Coverage {
				row = append(row, number(v.Share), number(v.Lower), number(v.Upper))
			}
			out.Write(row)
		}
	}
	out.Flush()
	return out.Error()
}

// WriteJSON writes the summary as one JSON object.
func (s *Summary) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	return e.Encode(s)
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// optional is empty for what does not exist.
func optional(v *float64) string {
	if v == nil {
		return ""
	}
	return number(*v)
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}
