package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/plan"
	"github.com/dpreg/dpreg/release"
)

// ForecastOptions say how a forecast is written.
type ForecastOptions struct {
	Slope int         // which of the slopes that the forecast has
	Units dpreg.Units // what the design's units are called; empty: dpreg.Original
	Prior string      // what the prior is called; empty: the default prior
}

// fill puts defaults where nothing was said.
func (o *ForecastOptions) fill() {
	if o.Units == "" {
		o.Units = dpreg.Original
	}
	if o.Prior == "" {
		o.Prior = "the default prior"
	}
}

// Forecast writes a forecast of one slope: what was simulated, a table with a row
// for each point of the grid, and what follows in words. It panics where the
// forecast has no such slope.
func Forecast(w io.Writer, f *plan.Forecast, o ForecastOptions) error {
	o.fill()
	p := &printer{w: w}
	p.paragraph(simulated(f, o))
	p.paragraph(assumed(f))
	p.printf("\n")
	p.do(forecastTable(f, o.Slope).write)
	p.printf("\n")
	p.paragraph(forecastLegend(f, o.Slope))
	for _, text := range conclusions(f, o.Slope) {
		p.paragraph(text)
	}
	p.do(func(w io.Writer) error { return Warnings(w, f.Warnings) })
	return p.err
}

// simulated says what the numbers come from.
func simulated(f *plan.Forecast, o ForecastOptions) string {
	a, noise := f.Alone[o.Slope], "Laplace noise, delta = 0"
	if f.Delta > 0 {
		noise = fmt.Sprintf("the smaller of Laplace and Gaussian noise, delta = %s", exactly(f.Delta))
	}
	text := fmt.Sprintf("Plan for %s, %s units: %s, replace-one neighbours, method %s. No row was read and no epsilon is spent: "+
		"each line is the mean over %s of normal rows, with posteriors under %s",
		Formula(f.Design), o.Units, noise, f.Method, count(f.Releases, "simulated release"), o.Prior)
	switch {
	case math.IsNaN(a.Truth):
		return text + "."
	case a.Name == pooled && len(f.Design.Covariates) > 1:
		return text + fmt.Sprintf(". The slopes are %s.", exactly(a.Truth))
	}
	return text + fmt.Sprintf(". The slope is %s.", exactly(a.Truth))
}

// maxAssumed is how many columns are told apart.
const maxAssumed = 8

// assumed says what the rows are taken to be like, and that one may say it.
func assumed(f *plan.Forecast) string {
	var columns []string
	for _, c := range f.Assumed.Columns {
		d := common(c.SD, c.SD)
		columns = append(columns, fmt.Sprintf("%s %s ± %s", c.Name, number(c.Mean, d), number(c.SD, d)))
	}
	if more := len(columns) - maxAssumed; more > 0 {
		columns = append(columns[:maxAssumed], fmt.Sprintf("%d more", more))
	}
	text := "Assumed of the rows, mean ± sd: " + strings.Join(columns, ", ")
	if len(f.Design.Covariates) > 1 {
		text += fmt.Sprintf("; correlations of covariates of %s", exactly(f.Assumed.Correlation))
	}
	return text + fmt.Sprintf("; R2 of %s. Widths follow the sds: state what is known by --mean, --sd and --r2.", exactly(f.Assumed.R2))
}

// pooled is the name that dpreg gives to the mean over slopes.
const pooled = "slope"

// slopeName is how a sentence calls the slope.
func slopeName(f *plan.Forecast, slope int) string {
	if name := f.Alone[slope].Name; name != pooled {
		return "the slope of " + name
	}
	if len(f.Design.Covariates) > 1 {
		return "a slope" + meanOf(f)
	}
	return "the slope"
}

// meanOf says over how many slopes a pooled one is the mean.
func meanOf(f *plan.Forecast) string { return fmt.Sprintf(" (mean of %d)", len(f.Design.Covariates)) }

func forecastTable(f *plan.Forecast, slope int) table {
	level := exactly(percent(f.Level)) + "%"
	header := []string{"n", "eps", level + " width", "MC error", "Contr.", "Price", "sd", "noiseless sd", "Detected"}
	var rows [][]string
	for _, p := range f.Points {
		s := p.Slopes[slope]
		d := common(s.SD, s.Width, s.SD)
		rows = append(rows, []string{fmt.Sprint(p.N), exactly(p.Epsilon), number(s.Width, d), number(s.WidthError, d), number(s.Contraction, 2),
			ratio(s.Price), number(s.SD, d), number(s.NoiselessSD, common(s.NoiselessSD, s.NoiselessSD)), number(s.Detected, 2)})
	}
	return table{Header: header, Rows: rows}
}

// forecastLegend explains the columns.
func forecastLegend(f *plan.Forecast, slope int) string {
	contraction, price, detected := math.NaN(), math.NaN(), math.NaN()
	for _, p := range f.Points {
		s := p.Slopes[slope]
		contraction, price, detected = largest(contraction, s.ContractionError), largest(price, s.PriceError/s.Price), largest(detected, s.DetectedError)
	}
	level := exactly(percent(f.Level)) + "%"
	a := f.Alone[slope]
	text := fmt.Sprintf("Width of the %s interval for %s; %s under the prior alone. "+
		"Contr. = posterior contraction, 1 - (posterior IQR / prior IQR)^2 (Monte Carlo error up to %s). "+
		"Price = posterior sd over the sd from the same rows without noise (up to %s %%). "+
		"Detected = share of intervals on the true side of 0 (up to %s).",
		level, slopeName(f, slope), number(a.Width, common(a.Width, a.Width)), number(contraction, 2), number(100*price, 0), number(detected, 2))
	if f.Delta > 0 {
		text += " Noise: " + kinds(f) + "."
	}
	return text
}

// largest is NaN only where both are.
func largest(a, b float64) float64 {
	switch {
	case math.IsNaN(a):
		return b
	case math.IsNaN(b):
		return a
	}
	return max(a, b)
}

// kinds tells where on the grid which noise was smaller.
func kinds(f *plan.Forecast) string {
	var laplace, gaussian []string
	for _, p := range f.Points {
		if p.N != f.Points[0].N {
			break
		}
		if p.Noise.Kind == release.Gaussian {
			gaussian = append(gaussian, exactly(p.Epsilon))
		} else {
			laplace = append(laplace, exactly(p.Epsilon))
		}
	}
	var parts []string
	if gaussian != nil {
		parts = append(parts, "Gaussian at eps "+strings.Join(gaussian, ", "))
	}
	if laplace != nil {
		parts = append(parts, "Laplace at eps "+strings.Join(laplace, ", "))
	}
	return strings.Join(parts, "; ")
}
