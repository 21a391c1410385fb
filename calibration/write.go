package calibration

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// Results are what a study's trials tell: a *Summary, or a *Comparison.
type Results interface {
	WriteCSV(io.Writer) error
	WriteJSON(io.Writer) error
	// Unsound counts the cells in which more than 1 % of the trials failed or met the
	// sampler's limit; that a comparison's method refuses all is a result.
	Unsound() int
}

// Results summarises the trials that Run or Merge returned.
func (s *Study) Results(trials []*Trial) Results {
	if s.Compares {
		return s.Compare(trials)
	}
	return s.Summarise(trials)
}

// settingHeader and fields are a setting's columns; comparedHeader and comparedFields those of
// a comparison. Its guarantee is none in every row: a file of numbers says of itself what it is.
var (
	settingHeader  = []string{"n", "epsilon", "p", "method", "kernel", "sensitivity", "run"}
	comparedHeader = []string{"guarantee", "n", "epsilon", "p", "method", "run"}
)

func (c Setting) fields() []string {
	return []string{strconv.FormatInt(c.N, 10), number(c.Epsilon), strconv.Itoa(c.P), c.Method, c.Kernel, c.Sensitivity, c.Run}
}

func (c Setting) comparedFields() []string {
	return []string{"none", strconv.FormatInt(c.N, 10), number(c.Epsilon), strconv.Itoa(c.P), c.Method, c.Run}
}

// writeCSV writes a header and rows, which may lack fields at their end.
func writeCSV(w io.Writer, header []string, rows [][]string) error {
	for i, row := range rows {
		rows[i] = append(row, make([]string, len(header)-len(row))...)
	}
	return csv.NewWriter(w).WriteAll(append([][]string{header}, rows...))
}

// levels names a column for each of Levels.
func levels(prefix string) (names []string) {
	for _, level := range Levels {
		names = append(names, fmt.Sprintf("%s%g", prefix, 100*level))
	}
	return names
}

// WriteTrials writes a CSV with a row for each trial and quantity, and one for each
// trial that failed; of a comparison a row for each trial, in which the cells of a measure that
// the method has not are empty.
func (s *Study) WriteTrials(w io.Writer, trials []*Trial) error {
	if s.Compares {
		return s.writeCompared(w, trials)
	}
	scored := append([]string{"quantity", "truth", "u", "rank"}, levels("hit")...)
	if s.Population != "" {
		scored = slices.Concat(scored, []string{"width", "contraction", "ls_width"}, levels("ls_hit"), []string{RHat})
	}
	header := slices.Concat(settingHeader, []string{"trial"}, scored, []string{"ess", "draws", "capped", "mmd2", "clamped", "accept", "projected", "divergent", "error"})
	var rows [][]string
	for _, t := range trials {
		before := append(s.Cells[t.Cell].fields(), strconv.Itoa(t.Trial))
		after := []string{number(t.ESS), strconv.Itoa(t.Draws), flag(t.Capped), optional(t.MMD2), number(t.Clamped),
			optional(t.Accept), optional(t.Projected), optional(t.Divergent), t.Error}
		if t.Error != "" {
			rows = append(rows, slices.Concat(before, make([]string, len(scored)), after))
		}
		for _, q := range t.Scores {
			of := append([]string{q.Name, number(q.Truth), number(q.U), strconv.Itoa(q.Rank)}, flags(q.Hits)...)
			if s.Population != "" {
				of = append(of, q.Coefficient.fields(t)...)
			}
			rows = append(rows, slices.Concat(before, of, after))
		}
	}
	return writeCSV(w, header, rows)
}

// fields are what a row of WriteTrials has besides in a population.
func (c *Coefficient) fields(t *Trial) []string {
	plain := make([]string, 1+len(Levels))
	if l := c.LeastSquares; l != nil {
		plain = append([]string{number(l.Width)}, flags(l.Hits)...)
	}
	return slices.Concat([]string{number(c.Width), optional(c.Contraction)}, plain, []string{number(t.Measures[0].Value)})
}

func (s *Study) writeCompared(w io.Writer, trials []*Trial) error {
	var rows [][]string
	for _, t := range trials {
		row := append(s.Cells[t.Cell].comparedFields(), strconv.Itoa(t.Trial))
		for _, name := range measureNames {
			i := slices.IndexFunc(t.Measures, func(m Measure) bool { return m.Name == name })
			if i < 0 {
				row = append(row, "")
			} else {
				row = append(row, number(t.Measures[i].Value))
			}
		}
		rows = append(rows, append(row, number(t.Clamped), strconv.FormatBool(t.Capped), t.Error))
	}
	return writeCSV(w, slices.Concat(comparedHeader, []string{"trial"}, measureNames, []string{"clamped", "capped", "message"}), rows)
}

// WriteTiming writes a CSV with the seconds of each trial.
func (s *Study) WriteTiming(w io.Writer, trials []*Trial) error {
	var rows [][]string
	for _, t := range trials {
		rows = append(rows, append(s.Cells[t.Cell].fields(), strconv.Itoa(t.Trial), number(t.Seconds)))
	}
	return writeCSV(w, append(slices.Clone(settingHeader), "trial", "seconds"), rows)
}

// WriteCSV writes a row for each cell and quantity, and one for a cell without any. That of a
// population has columns of its own.
func (s *Summary) WriteCSV(w io.Writer) error {
	if s.Population != "" {
		return s.writePopulation(w)
	}
	header := append(slices.Clone(settingHeader), "trials", "failed", "capped", "short", "sound", "ess_median", "ess_least",
		"draws", "mmd2", "mmd2_error", "accept", "projected", "divergent", "clamped", "quantity", "ks", "p_value", "p_bonferroni", "ecdf_p_value")
	for _, name := range levels("cover") {
		header = append(header, name, name+"_lower", name+"_upper")
	}
	var rows [][]string
	for _, c := range s.Cells {
		before := append(c.fields(), strconv.Itoa(s.Trials), strconv.Itoa(c.Failed), strconv.Itoa(c.Capped), strconv.Itoa(c.Short), flag(c.Sound),
			number(c.ESSMedian), number(c.ESSLeast), number(c.Draws), optional(c.MMD2), optional(c.MMD2Error),
			optional(c.Accept), optional(c.Projected), optional(c.Divergent), number(c.Clamped))
		if len(c.Quantities) == 0 {
			rows = append(rows, before)
		}
		for _, q := range c.Quantities {
			row := append(slices.Clone(before), q.Name, optional(q.KS), optional(q.P), optional(q.PBonferroni), optional(q.ECDF))
			for _, v := range q.Coverage {
				row = append(row, number(v.Share), number(v.Lower), number(v.Upper))
			}
			rows = append(rows, row)
		}
	}
	return writeCSV(w, header, rows)
}

// writePopulation writes a row for each cell and coefficient; se is the Monte Carlo standard
// error of a share.
func (s *Summary) writePopulation(w io.Writer) error {
	header := slices.Concat([]string{"population"}, settingHeader, []string{"trials", "failed", "capped", "coefficient", "truth"})
	for _, name := range slices.Concat(levels("cover"), levels("ls_cover")) {
		header = append(header, name, name+"_se")
	}
	header = append(header, "margin", "width", "width_ratio", "contraction", "sharp", "sharp_cover95", "sharp_cover95_se", "unmixed", "divergent")
	var rows [][]string
	for _, c := range s.Cells {
		before := append(append([]string{s.Population}, c.fields()...), strconv.Itoa(s.Trials), strconv.Itoa(c.Failed), strconv.Itoa(c.Capped))
		if len(c.Quantities) == 0 {
			rows = append(rows, before)
		}
		for i := range c.Quantities {
			rows = append(rows, slices.Concat(before, c.Quantities[i].populationFields(), []string{optional(c.Unmixed), optional(c.Divergent)}))
		}
	}
	return writeCSV(w, header, rows)
}

// populationFields are those of a coefficient in a row of writePopulation.
func (q *QuantitySummary) populationFields() []string {
	of := q.Coefficient
	row := []string{q.Name, number(of.Truth)}
	for i := range Levels {
		row = append(row, share(&q.Coverage[i])...)
	}
	for i := range Levels {
		if of.LeastSquares == nil {
			row = append(row, share(nil)...)
			continue
		}
		row = append(row, share(&of.LeastSquares[i])...)
	}
	fits := 0
	if of.Sharp != nil {
		fits = of.Sharp.Of
	}
	row = append(row, number(q.Margin()), number(of.Width), optional(of.Ratio), optional(of.Contraction), strconv.Itoa(fits))
	return append(row, share(of.Sharp)...)
}

// share is a coverage and its standard error, empty of none.
func share(c *Coverage) []string {
	if c == nil {
		return []string{"", ""}
	}
	return []string{number(c.Share), number(c.SE())}
}

// WriteCSV writes a row for each cell: of each measure the mean and the standard deviation
// over trials.
func (s *Comparison) WriteCSV(w io.Writer) error {
	header := append(slices.Clone(comparedHeader), "trials", "failed", "capped")
	for _, name := range measureNames {
		header = append(header, name, name+"_sd")
	}
	var rows [][]string
	for i := range s.Cells {
		c := &s.Cells[i]
		row := append(c.comparedFields(), strconv.Itoa(s.Trials), strconv.Itoa(c.Failed), strconv.Itoa(c.Capped))
		for _, name := range measureNames {
			if m := c.Get(name); m != nil {
				row = append(row, number(m.Mean), optional(m.SD))
			} else {
				row = append(row, "", "")
			}
		}
		rows = append(rows, append(row, c.Error))
	}
	return writeCSV(w, append(header, "message"), rows)
}

// WriteJSON writes the summary as one JSON object.
func (s *Summary) WriteJSON(w io.Writer) error { return writeJSON(w, s) }

// WriteJSON writes the summary as one JSON object.
func (s *Comparison) WriteJSON(w io.Writer) error { return writeJSON(w, s) }

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
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

func flags(all [len(Levels)]bool) (fields []string) {
	for _, b := range all {
		fields = append(fields, flag(b))
	}
	return fields
}
