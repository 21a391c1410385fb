package compare

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"

	"github.com/dpreg/dpreg/calibration"
)

// settingHeader and fields are the first columns. The guarantee is none in every row: a file
// of numbers says of itself what it is.
var settingHeader = []string{"guarantee", "n", "epsilon", "p", "method", "run"}

func fields(c calibration.Setting) []string {
	return []string{"none", strconv.FormatInt(c.N, 10), number(c.Epsilon), strconv.Itoa(c.P), c.Method, c.Run}
}

// WriteTrials writes a CSV with a row for each trial; a method's cells are empty where it
// has not the measure.
func WriteTrials(w io.Writer, s *calibration.Study, trials []*calibration.Trial) error {
	out := csv.NewWriter(w)
	out.Write(append(append(append([]string{}, settingHeader...), "trial"), append(measureNames[:len(measureNames):len(measureNames)], "clamped", "capped", "message")...))
	for _, t := range trials {
		row := append(fields(s.Cells[t.Cell].Setting), strconv.Itoa(t.Trial))
		values := make(map[string]string)
		for _, m := range t.Measures {
			values[m.Name] = number(m.Value)
		}
		for _, name := range measureNames {
			row = append(row, values[name])
		}
		out.Write(append(row, number(t.Clamped), strconv.FormatBool(t.Capped), t.Error))
	}
	out.Flush()
	return out.Error()
}

// WriteCSV writes a row for each cell: of each measure the mean and the standard deviation
// over trials.
func (s *Summary) WriteCSV(w io.Writer) error {
	header := append(append([]string{}, settingHeader...), "trials", "failed", "capped")
	for _, name := range measureNames {
		header = append(header, name, name+"_sd")
	}
	out := csv.NewWriter(w)
	out.Write(append(header, "message"))
	for i := range s.Cells {
		c := &s.Cells[i]
		row := append(fields(c.Setting), strconv.Itoa(s.Trials), strconv.Itoa(c.Failed), strconv.Itoa(c.Capped))
		for _, name := range measureNames {
			mean, sd := "", ""
			if m := c.Get(name); m != nil {
				if mean = number(m.Mean); m.SD != nil {
					sd = number(*m.SD)
				}
			}
			row = append(row, mean, sd)
		}
		out.Write(append(row, c.Error))
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
