package posterior

import (
	"encoding/csv"
	"io"
	"math"
	"strconv"
)

// WriteCSV writes a line for each parameter under the names of the JSON's
// members, numbers in full precision, NA for what does not exist.
func (s *Summary) WriteCSV(w io.Writer) error {
	header := []string{"name", "label", "mean", "sd", "mcse_mean", "q2.5", "q25", "q50", "q75",
		"q97.5", "rhat", "ess_bulk", "ess_tail", "learned", "lower", "upper"}
	out := csv.NewWriter(w)
	if err := out.Write(header); err != nil {
		return err
	}
	for i := range s.Parameters {
		p := &s.Parameters[i]
		record := []string{p.Name, p.Label}
		for _, v := range p.numbers() {
			record = append(record, cell(v))
		}
		if err := out.Write(record); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// numbers lists the columns after the label, lower and upper last.
func (p *Parameter) numbers() []float64 {
	learned := math.NaN()
	if p.Learned != nil {
		learned = *p.Learned
	}
	return []float64{p.Mean, p.SD, p.MCSEMean, p.Q2_5, p.Q25, p.Q50, p.Q75,
		p.Q97_5, p.RHat, p.ESSBulk, p.ESSTail, learned, p.Lower, p.Upper}
}

func cell(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "NA"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
