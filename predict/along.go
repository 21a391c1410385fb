package predict

import (
	"encoding/csv"
	"fmt"
	"io"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/schema"
)

// Point is what is predicted where a column has the value X: the regression line, or of a family
// the probability, and a new response.
type Point struct {
	X         float64
	Line, New Prediction
}

// Along predicts at count ≥ 2 values of a column of numbers, evenly spaced between its bounds, with
// all other columns held: at their mean by the draws, or in the middle of their bounds where the
// draws tell none, as of columns that terms alone are made of. held are the values, by name.
//
// Errors: those of New; a column that no covariate is, or is made of, or that holds no numbers.
func Along(d *posterior.Draws, design *schema.Design, u dpreg.Units, o Options, column string, count int) (points []Point, held map[string]float64, err error) {
	maker, err := design.Maker(design.Covariates, false)
	if err != nil {
		return nil, nil, err
	}
	at := schema.Index(maker.Columns, column)
	if at < 0 || maker.Columns[at].Binary() {
		var names []string
		for _, c := range maker.Columns {
			if !c.Binary() {
				names = append(names, c.Name)
			}
		}
		return nil, nil, fmt.Errorf("%q is no column of numbers that covariates are or are made of; these are %s", column, schema.Listed(names))
	}
	base := make([]float64, len(maker.Columns))
	held = make(map[string]float64)
	for i, c := range maker.Columns {
		base[i] = c.Lower/2 + c.Upper/2
		if j := schema.Index(design.Covariates, c.Name); j >= 0 {
			if place := d.Index(model.Parameter{Kind: model.MuX, K: j + 1}.Name()); place >= 0 {
				mean := posterior.Summarise(d.Map([]string{"mean"}, func(dst, src []float64) { dst[0] = src[place] }), 0.5).Parameters[0].Mean
				if frame := design.Frame(); u == dpreg.Scaled {
					mean = frame.Centre[j] + frame.Half[j]*mean
				}
				base[i] = max(c.Lower, min(c.Upper, mean))
			}
		}
		if i != at {
			held[c.Name] = base[i]
		}
	}
	o.Mean = true
	line, err := New(d, design, u, o)
	if err != nil {
		return nil, nil, err
	}
	o.Mean = false
	response, err := New(d, design, u, o)
	if err != nil {
		return nil, nil, err
	}
	row, c := make([]float64, maker.Width()), maker.Columns[at]
	for i := range count {
		base[at] = c.Lower + (c.Upper-c.Lower)*float64(i)/float64(count-1)
		maker.Row(row, base)
		p := Point{X: base[at]}
		if p.Line, err = line.Predict(row); err != nil {
			return nil, nil, err
		}
		if p.New, err = response.Predict(row); err != nil {
			return nil, nil, err
		}
		points = append(points, p)
	}
	return points, held, nil
}

// WriteAlong writes a row for each point: the line and its interval, or those of a family's probability
// or rate; of a line that of a new response, too.
func WriteAlong(w io.Writer, column string, points []Point, family model.Family) error {
	records := [][]string{{column, ".fitted", ".lower", ".upper", ".new.lower", ".new.upper"}}
	if family != model.Normal {
		records[0] = records[0][:4]
	}
	for _, p := range points {
		record := number.CSVs(p.X, p.Line.Fitted, p.Line.Lower, p.Line.Upper, p.New.Lower, p.New.Upper)
		records = append(records, record[:len(records[0])])
	}
	return csv.NewWriter(w).WriteAll(records)
}
