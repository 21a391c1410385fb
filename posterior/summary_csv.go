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
		"q97.5", "rhat", "ess_bulk", "ess_tail", "contraction", "lower", "upper", "price_of_privacy", "shrinkage", "column"}
	out := csv.NewWriter(w)
	if err := out.Write(header); err != nil {
		return err
	}
	columns := s.columns()
	for i := range s.Parameters {
		p := &s.Parameters[i]
		record := []string{p.Name, p.Label}
		for _, v := range p.numbers() {
			record = append(record, cell(v))
		}
		record = append(record, columns[i])
		if err := out.Write(record); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// columns are the parameters' in the files of draws.
func (s *Summary) columns() []string {
	names := make([]string, len(s.Parameters))
	for i := range s.Parameters {
		names[i] = s.Parameters[i].Name
	}
	return StanNames(names)
}

// numbers lists the columns after the label, but for the last.
func (p *Parameter) numbers() []float64 {
	known := func(v *float64) float64 {
		if v == nil {
			return math.NaN()
		}
		return *v
	}
	return []float64{p.Mean, p.SD, p.MCSEMean, p.Q2_5, p.Q25, p.Q50, p.Q75,
		p.Q97_5, p.RHat, p.ESSBulk, p.ESSTail, known(p.Contraction), p.Lower, p.Upper, known(p.Price), known(p.Shrinkage)}
}

func cell(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "NA"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
