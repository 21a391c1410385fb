package dpreg

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"
)

// WriteJSON writes the check as dpreg-check/1, indented, numbers in full precision;
// "calibrated" is null where there was no calibration.
func (c *Check) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(c)
}

// WriteCSV writes a line for each entry, block and column, told apart by the first
// field; NA stands where a number does not exist.
func (c *Check) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	records := [][]string{{"kind", "label", "block", "z", "mean", "sd", "q2.5", "q25", "q50", "q75", "q97.5", "p", "calibrated", "outside"}}
	const na = "NA"
	for _, e := range c.Entries {
		record := []string{"entry", e.Label, e.Block}
		for _, v := range []float64{e.Z, e.Mean, e.SD, e.Q2_5, e.Q25, e.Q50, e.Q75, e.Q97_5} {
			record = append(record, full(v))
		}
		records = append(records, append(record, full(e.P), e.calibrated(), na))
	}
	for _, b := range c.Blocks {
		records = append(records, []string{"block", b.Name, b.Name, na, na, na, na, na, na, na, na, full(b.P), b.calibrated(), na})
	}
	for _, column := range c.Columns {
		records = append(records, []string{"column", column.Label, na, na, na, na, na, na, na, na, na, na, na, full(column.Outside)})
	}
	return out.WriteAll(records)
}

func full(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func (p PValue) calibrated() string {
	if p.Calibrated == nil {
		return "NA"
	}
	return full(*p.Calibrated)
}
