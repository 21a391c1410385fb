package calibration

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/dpreg/dpreg/internal/number"
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

// record is a row of a CSV, with the names of its columns.
type record struct{ names, fields []string }

// add adds columns, a name before each value: text, a number, a bool, which becomes 0 or 1, or
// nil, which stays empty.
func (r *record) add(columns ...any) *record {
	for i := 0; i < len(columns); i += 2 {
		r.names, r.fields = append(r.names, columns[i].(string)), append(r.fields, field(columns[i+1]))
	}
	return r
}

// join adds the columns of another record, which are empty unless filled.
func (r *record) join(o *record, filled bool) *record {
	if !filled {
		clear(o.fields)
	}
	r.names, r.fields = append(r.names, o.names...), append(r.fields, o.fields...)
	return r
}

// levels adds columns for each of Levels.
func (r *record) levels(prefix string, of func(i int, name string)) *record {
	for i, level := range Levels {
		of(i, fmt.Sprintf("%s%g", prefix, 100*level))
	}
	return r
}

func (r *record) hits(prefix string, hits [len(Levels)]bool) *record {
	return r.levels(prefix, func(i int, name string) { r.add(name, hits[i]) })
}

// share adds a coverage and its standard error; nil has neither.
func (r *record) share(name string, c *Coverage) *record {
	if c == nil {
		return r.add(name, nil, name+"_se", nil)
	}
	return r.add(name, c.Share, name+"_se", c.SE())
}

func field(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case *float64:
		if v == nil {
			return ""
		}
		return field(*v)
	case bool:
		return strconv.Itoa(number.Indicator[int](v))
	}
	return fmt.Sprint(v)
}

// writeCSV writes the names of the first record, and the fields of all others.
func writeCSV(w io.Writer, records []*record) error {
	rows := [][]string{records[0].names}
	for _, r := range records[1:] {
		rows = append(rows, r.fields)
	}
	return csv.NewWriter(w).WriteAll(rows)
}

func (c Setting) record() *record {
	return new(record).add("n", c.N, "epsilon", c.Epsilon, "p", c.P, "method", c.Method, "kernel", c.Kernel, "sensitivity", c.Sensitivity, "run", c.Run)
}

// compared is the record of a setting in a comparison. Its guarantee is none in every row: a
// file of numbers says of itself what it is.
func (c Setting) compared() *record {
	return new(record).add("guarantee", "none", "n", c.N, "epsilon", c.Epsilon, "p", c.P, "method", c.Method, "run", c.Run)
}

// WriteTrials writes a CSV with a row for each trial and quantity, and one for each
// trial that failed; of a comparison a row for each trial, in which the cells of a measure that
// the method has not are empty.
func (s *Study) WriteTrials(w io.Writer, trials []*Trial) error {
	records := []*record{s.record(Setting{}, &Trial{}, nil)}
	for _, t := range trials {
		setting := s.Cells[t.Cell].Setting
		if s.Compares || t.Error != "" {
			records = append(records, s.record(setting, t, nil))
		}
		for i := range t.Scores {
			records = append(records, s.record(setting, t, &t.Scores[i]))
		}
	}
	return writeCSV(w, records)
}

func (s *Study) record(c Setting, t *Trial, q *Score) *record {
	if s.Compares {
		r := c.compared().add("trial", t.Trial)
		for _, name := range measureNames {
			r.add(name, t.measure(name))
		}
		return r.add("clamped", t.Clamped, "capped", strconv.FormatBool(t.Capped), "message", t.Error)
	}
	filled := q != nil
	q = cmp.Or(q, &Score{Coefficient: new(Coefficient)})
	of := new(record).add("quantity", q.Name, "truth", q.Truth, "u", q.U, "rank", q.Rank).hits("hit", q.Hits)
	if s.Population != "" {
		l := cmp.Or(q.Coefficient.LeastSquares, new(LeastSquares))
		of.add("width", q.Coefficient.Width, "contraction", q.Coefficient.Contraction)
		of.join(new(record).add("ls_width", l.Width).hits("ls_hit", l.Hits), q.Coefficient.LeastSquares != nil).add(RHat, t.measure(RHat))
	}
	return c.record().add("trial", t.Trial).join(of, filled).add("ess", t.ESS, "draws", t.Draws, "capped", t.Capped, "mmd2", t.MMD2, "clamped", t.Clamped,
		"accept", t.Accept, "projected", t.Projected, "divergent", t.Divergent, "error", t.Error)
}

// measure is one of the trial's, nil where it has none of the name.
func (t *Trial) measure(name string) *float64 {
	i := slices.IndexFunc(t.Measures, func(m Measure) bool { return m.Name == name })
	if i < 0 {
		return nil
	}
	return &t.Measures[i].Value
}

// WriteTiming writes a CSV with the seconds of each trial.
func (s *Study) WriteTiming(w io.Writer, trials []*Trial) error {
	timing := func(c Setting, t *Trial) *record { return c.record().add("trial", t.Trial, "seconds", t.Seconds) }
	records := []*record{timing(Setting{}, &Trial{})}
	for _, t := range trials {
		records = append(records, timing(s.Cells[t.Cell].Setting, t))
	}
	return writeCSV(w, records)
}

// WriteCSV writes a row for each cell and quantity, and one for a cell without any. That of a
// population has columns of its own.
func (s *Summary) WriteCSV(w io.Writer) error {
	of := s.record
	if s.Population != "" {
		of = s.populationRecord
	}
	records := []*record{of(&CellSummary{}, nil)}
	for i := range s.Cells {
		c := &s.Cells[i]
		if len(c.Quantities) == 0 {
			records = append(records, of(c, nil))
		}
		for j := range c.Quantities {
			records = append(records, of(c, &c.Quantities[j]))
		}
	}
	return writeCSV(w, records)
}

func (s *Summary) record(c *CellSummary, q *QuantitySummary) *record {
	filled := q != nil
	q = cmp.Or(q, new(QuantitySummary))
	of := new(record).add("quantity", q.Name, "ks", q.KS, "p_value", q.P, "p_bonferroni", q.PBonferroni, "ecdf_p_value", q.ECDF)
	of.levels("cover", func(i int, name string) {
		v := q.Coverage[i]
		of.add(name, v.Share, name+"_lower", v.Lower, name+"_upper", v.Upper)
	})
	return c.record().add("trials", s.Trials, "failed", c.Failed, "capped", c.Capped, "short", c.Short, "sound", c.Sound, "ess_median", c.ESSMedian,
		"ess_least", c.ESSLeast, "draws", c.Draws, "mmd2", c.MMD2, "mmd2_error", c.MMD2Error, "accept", c.Accept, "projected", c.Projected,
		"divergent", c.Divergent, "clamped", c.Clamped).join(of, filled)
}

// populationRecord is of a coefficient; se is the Monte Carlo standard error of a share.
func (s *Summary) populationRecord(c *CellSummary, q *QuantitySummary) *record {
	filled := q != nil
	q = cmp.Or(q, &QuantitySummary{Coefficient: new(CoefficientSummary)})
	of := q.Coefficient
	r := new(record).add("coefficient", q.Name, "truth", of.Truth)
	r.levels("cover", func(i int, name string) { r.share(name, &q.Coverage[i]) })
	r.levels("ls_cover", func(i int, name string) {
		if of.LeastSquares == nil {
			r.share(name, nil)
		} else {
			r.share(name, &of.LeastSquares[i])
		}
	})
	r.add("margin", q.Margin(), "width", of.Width, "width_ratio", of.Ratio, "contraction", of.Contraction, "sharp", cmp.Or(of.Sharp, new(Coverage)).Of)
	r.share("sharp_cover95", of.Sharp).add("unmixed", c.Unmixed, "divergent", c.Divergent)
	whole := new(record).add("population", s.Population).join(c.record(), true)
	return whole.add("trials", s.Trials, "failed", c.Failed, "capped", c.Capped).join(r, filled)
}

// WriteCSV writes a row for each cell: of each measure the mean and the standard deviation
// over trials.
func (s *Comparison) WriteCSV(w io.Writer) error {
	records := []*record{s.record(&ComparedCell{})}
	for i := range s.Cells {
		records = append(records, s.record(&s.Cells[i]))
	}
	return writeCSV(w, records)
}

func (s *Comparison) record(c *ComparedCell) *record {
	r := c.compared().add("trials", s.Trials, "failed", c.Failed, "capped", c.Capped)
	for _, name := range measureNames {
		if m := c.Get(name); m != nil {
			r.add(name, m.Mean, name+"_sd", m.SD)
		} else {
			r.add(name, nil, name+"_sd", nil)
		}
	}
	return r.add("message", c.Error)
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
