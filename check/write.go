package check

import (
	"encoding/csv"
	"io"

	"github.com/dpreg/dpreg/internal/number"
)

// WriteJSON writes the check, indented, numbers in full precision: that of one release as
// dpreg-check/1, of several as dpreg-joint-check/1, each of them as in dpreg-check/1;
// "calibrated" is null where there was no calibration.
func (c *Result) WriteJSON(w io.Writer) error {
	var v any = c
	if len(c.Releases) == 1 {
		one := *c.Releases[0]
		one.Warnings, v = c.Warnings, &one
	}
	return number.Lines(w, v)
}

var checkHeader = []string{"kind", "label", "block", "z", "mean", "sd", "q2.5", "q25", "q50", "q75", "q97.5", "p", "calibrated", "outside"}

// WriteCSV writes a line for each entry, block and column, told apart by the first
// field; NA stands where a number does not exist. Of several releases each line stands
// behind the release's name, and the last one is of all sums of all.
func (c *Result) WriteCSV(w io.Writer) error {
	if len(c.Releases) == 1 {
		return csv.NewWriter(w).WriteAll(append([][]string{checkHeader}, c.Releases[0].records()...))
	}
	records := [][]string{append([]string{"release"}, checkHeader...)}
	for _, r := range c.Releases {
		for _, record := range r.records() {
			records = append(records, append([]string{r.Name}, record...))
		}
	}
	all := append([]string{na}, blockRecord(Block{Name: "all releases", PValue: c.All})...)
	return csv.NewWriter(w).WriteAll(append(records, all))
}

const na = "NA"

func (c *Release) records() (records [][]string) {
	for _, e := range c.Entries {
		record := []string{"entry", e.Label, e.Block}
		for _, v := range []float64{e.Z, e.Mean, e.SD, e.Q2_5, e.Q25, e.Q50, e.Q75, e.Q97_5} {
			record = append(record, number.CSV(v))
		}
		records = append(records, append(record, number.CSV(e.P), e.calibrated(), na))
	}
	for _, b := range c.Blocks {
		records = append(records, blockRecord(b))
	}
	for _, column := range c.Columns {
		records = append(records, []string{"column", column.Label, na, na, na, na, na, na, na, na, na, na, na, number.CSV(column.Outside)})
	}
	return records
}

func blockRecord(b Block) []string {
	return []string{"block", b.Name, b.Name, na, na, na, na, na, na, na, na, number.CSV(b.P), b.calibrated(), na}
}

func (p PValue) calibrated() string {
	if p.Calibrated == nil {
		return na
	}
	return number.CSV(*p.Calibrated)
}
