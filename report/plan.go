package report

import (
	"cmp"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/model"
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
	o.Units, o.Prior = cmp.Or(o.Units, dpreg.Original), cmp.Or(o.Prior, "the default prior")
}

// Forecast writes a forecast of one slope: what was simulated, a table with a row
// for each point of the grid, and what follows in words. It panics where the
// forecast has no such slope.
func Forecast(w io.Writer, f *plan.Forecast, o ForecastOptions) error {
	o.fill()
	return write(w, say(simulated(f, o), assumed(f)), forecastNumbers(f, o.Slope), say(conclusion(f, o.Slope)), warn(f.Warnings))
}

// ForecastPage writes a forecast of one slope as a page. It panics where the forecast
// has no such slope.
func ForecastPage(w io.Writer, f *plan.Forecast, o ForecastOptions, run Run) error {
	o.fill()
	p := page{Title: "Plan for " + f.Design.Formula().String(), Lead: "What a release would tell, before any row is touched: no data were read, and nothing was spent."}
	p.add("What was asked", []block{{Command: run.Command}}, say(simulated(f, o), assumed(f)))
	follows := say(conclusion(f, o.Slope))
	if len(f.Points) > 0 {
		follows = append(follows, block{Picture: ForecastPlot(f, o).picture()})
	}
	p.add("What follows", follows)
	p.add("The numbers", forecastNumbers(f, o.Slope))
	p.add("Warnings", warn(f.Warnings))
	p.addRepeat(run, "The same command and version give the same numbers, whatever the number of cores.", fact{"Seed", fmt.Sprint(f.Seed)})
	return p.write(w)
}

// forecastNumbers are nothing where no point answers.
func forecastNumbers(f *plan.Forecast, slope int) []block {
	if len(f.Points) == 0 {
		return nil
	}
	return append(show(forecastTable(f, slope)), say(forecastLegend(f, slope))...)
}

// simulated says what the numbers come from.
func simulated(f *plan.Forecast, o ForecastOptions) string {
	a, pure := f.Alone[o.Slope], pureNoise(f)
	noise := pure + " noise, delta = 0"
	if f.Delta > 0 {
		noise = fmt.Sprintf("the smaller of %s and Gaussian noise, delta = %s", pure, exactly(f.Delta))
	}
	rows, family := "normal rows", ""
	if f.Categories() {
		rows = "rows"
	} else if f.Family != model.Normal {
		rows = "rows with normal covariates"
	}
	if f.Family != model.Normal {
		family = fmt.Sprintf("family %s (%s link), ", f.Family, f.Family.Link())
	}
	if f.ByLevel != "" {
		rows += fmt.Sprintf(", sums by the levels of %s", f.ByLevel)
	}
	text := fmt.Sprintf("Plan for %s, %s%s units: %s, %s neighbours, method %s. No row was read and no epsilon is spent: "+
		"each line is the mean over %s of %s, with posteriors under %s",
		f.Design.Formula(), family, o.Units, noise, cmp.Or(f.Neighbours, release.ReplaceOne), f.Method, Count(f.Releases, "simulated release"), rows, o.Prior)
	switch {
	case math.IsNaN(a.Truth):
		return text + "."
	case a.Name == pooled && len(f.Design.Covariates) > 1:
		return text + fmt.Sprintf(". The slopes are %s.", exactly(a.Truth))
	}
	return text + fmt.Sprintf(". The slope is %s.", exactly(a.Truth))
}

// pureNoise names the law that needs no δ: of releases in one step and in several it is another.
func pureNoise(f *plan.Forecast) string {
	several := func(p plan.Point) bool { return p.Steps > 1 }
	switch {
	case !slices.ContainsFunc(f.Points, several):
		return "Laplace"
	case slices.ContainsFunc(f.Points, func(p plan.Point) bool { return !several(p) }):
		return "Laplace (one step) or ball (several)"
	}
	return "ball"
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
	if len(f.Design.Covariates) > 1 && !f.Categories() {
		with := ""
		if f.ByLevel != "" && f.ByLevel != f.Design.Response.Name {
			with = ", and of " + f.ByLevel + " with the others,"
		}
		text += fmt.Sprintf("; correlations of covariates%s of %s", with, exactly(f.Assumed.Correlation))
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
		return fmt.Sprintf("a slope (mean of %d)", len(f.Design.Covariates))
	}
	return "the slope"
}

func forecastTable(f *plan.Forecast, slope int) table {
	t := table{Header: []string{"n", "eps", percent(f.Level) + "% width", "MC error", "Contr.", "Price", "sd", "noiseless sd", "Detected"}}
	if f.InSteps() { // in place of the sd, which has no room
		t.Header = slices.Insert(slices.Delete(t.Header, 6, 7), 2, "steps", "median")
	}
	for _, p := range f.Points {
		s := p.Slopes[slope]
		d := common(s.SD, s.Width, s.SD)
		row := []string{fmt.Sprint(p.N), exactly(p.Epsilon), number(s.Width, d), number(s.WidthError, d), number(s.Contraction, 2),
			ratio(s.Price), number(s.SD, d), number(s.NoiselessSD, common(s.NoiselessSD, s.NoiselessSD)), number(s.Detected, 2)}
		if f.InSteps() {
			row = slices.Insert(slices.Delete(row, 6, 7), 2, fmt.Sprint(max(p.Steps, 1)), number(s.Median, d))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func forecastLegend(f *plan.Forecast, slope int) string {
	contraction, price, detected := math.NaN(), math.NaN(), math.NaN()
	for _, p := range f.Points {
		s := p.Slopes[slope]
		contraction, price, detected = largest(contraction, s.ContractionError), largest(price, s.PriceError/s.Price), largest(detected, s.DetectedError)
	}
	level := percent(f.Level) + "%"
	a := f.Alone[slope]
	text := fmt.Sprintf("Width of the %s interval for %s; %s under the prior alone. "+
		"Contr. = posterior contraction, 1 - (posterior IQR / prior IQR)^2 (Monte Carlo error up to %s). "+
		"Price = posterior sd over the sd from the same rows without noise (up to %s %%). "+
		"Detected = share of intervals on the true side of 0 (up to %s).",
		level, slopeName(f, slope), number(a.Width, common(a.Width, a.Width)), number(contraction, 2), number(100*price, 0), number(detected, 2))
	if f.InSteps() {
		text += " Median = that of the widths: where a step does not find the rows the interval is far wider, and so is the mean."
	}
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
	names := map[release.Kind]string{release.Gaussian: "Gaussian", release.Laplace: "Laplace", release.Ball: "ball"}
	var parts []string
	for _, kind := range []release.Kind{release.Gaussian, release.Laplace, release.Ball} {
		var at []string
		for _, p := range f.Points {
			epsilon, unlike := exactly(p.Epsilon), func(o plan.Point) bool { return o.Epsilon == p.Epsilon && o.Noise.Kind != kind }
			switch {
			case p.Noise.Kind != kind:
				continue
			case slices.ContainsFunc(f.Points, unlike):
				epsilon += fmt.Sprintf(" (n = %d)", p.N)
			}
			if !slices.Contains(at, epsilon) {
				at = append(at, epsilon)
			}
		}
		if at != nil {
			parts = append(parts, names[kind]+" at eps "+strings.Join(at, ", "))
		}
	}
	return strings.Join(parts, "; ")
}

// enoughDetected is the power that studies are commonly planned for.
const enoughDetected = 0.8

// conclusion says what a forecast comes to: for each n the smallest ε of the grid at which
// enough intervals lie on the slope's side of 0.
func conclusion(f *plan.Forecast, slope int) string {
	if f.Wanted != nil {
		return answer(f, slope)
	}
	from, never := smallest(f, func(s *plan.SlopeForecast) bool { return s.Detected >= enoughDetected }, slope)
	wanted := fmt.Sprintf("Detected at least %v", enoughDetected)
	if from == nil {
		return fmt.Sprintf("No point of this grid has %s: it takes a larger epsilon, more records, or fewer columns.", wanted)
	}
	text := fmt.Sprintf("The smallest epsilon on this grid with %s is %s", wanted, strings.Join(from, ", "))
	if never != nil {
		text += "; none is enough for n = " + strings.Join(never, ", ")
	}
	return text + "." + affords(f, slope)
}

// smallest are the smallest ε of the grid at which a slope is as wanted, for each n, and the n of which none is.
func smallest(f *plan.Forecast, wanted func(s *plan.SlopeForecast) bool, slope int) (from, never []string) {
	for i, p := range f.Points {
		if i > 0 && p.N == f.Points[i-1].N {
			continue
		}
		least := math.Inf(1)
		for _, o := range f.Points {
			if o.N == p.N && wanted(&o.Slopes[slope]) {
				least = min(least, o.Epsilon)
			}
		}
		if math.IsInf(least, 1) {
			never = append(never, fmt.Sprint(p.N))
		} else {
			from = append(from, fmt.Sprintf("%s for n = %d", exactly(least), p.N))
		}
	}
	return from, never
}

// affords says from which ε on parts of the rows are to be had, and what they buy; empty where of none.
func affords(f *plan.Forecast, slope int) string {
	from, _ := smallest(f, func(s *plan.SlopeForecast) bool { return s.InParts() <= plan.MostInParts }, slope)
	if f.Family != model.Normal || from == nil {
		return ""
	}
	return fmt.Sprintf(" --split %d, whose intervals hold also where residuals spread more at some x or the line is a curve, makes them at most about %d times as wide from eps %s on.",
		plan.Parts, plan.MostInParts, strings.Join(from, ", "))
}

// answer says which ε or n gives the width that was wanted, and where none does.
func answer(f *plan.Forecast, slope int) string {
	wanted := fmt.Sprintf("the %s%% interval for %s is no wider than %s in half of the releases", percent(f.Level), slopeName(f, slope), exactly(f.Wanted.Width))
	var all []string
	for _, p := range f.Points {
		all = append(all, fmt.Sprintf("with n = %d and epsilon = %s", p.N, exactly(p.Epsilon)))
	}
	if all != nil {
		all = []string{"To two digits, " + wanted + " " + strings.Join(all, ", ") + "; with less it is wider."}
	}
	for _, none := range f.Wanted.Failed {
		switch given := fmt.Sprintf("n = %d", none.N); {
		case none.Noiseless > 0:
			more := math.Ceil(float64(none.N) * (none.Noiseless / f.Wanted.Width) * (none.Noiseless / f.Wanted.Width))
			all = append(all, fmt.Sprintf("With %s no epsilon gives a width of %s for %s: without any noise it is %s already. That takes some %s records, and more with noise.",
				given, exactly(f.Wanted.Width), slopeName(f, slope), number(none.Noiseless, common(none.Noiseless, none.Noiseless)), number(more, 0)))
		case none.N > 0:
			all = append(all, fmt.Sprintf("With %s no epsilon up to %s gives a width of %s for %s.", given, exactly(plan.MostEpsilon), exactly(f.Wanted.Width), slopeName(f, slope)))
		default:
			all = append(all, fmt.Sprintf("With epsilon = %s no possible number of records gives a width of %s for %s.", exactly(none.Epsilon), exactly(f.Wanted.Width), slopeName(f, slope)))
		}
	}
	return strings.Join(all, " ")
}

// The lines that are not of a series.
var (
	priorAlone   = key{Name: "prior alone", LineStyle: draw.LineStyle{Color: grey, Width: 1.5, Dashes: []vg.Length{2, 3}}}
	withoutNoise = key{Name: "without noise", LineStyle: draw.LineStyle{Color: grey, Width: 1.2, Dashes: []vg.Length{6, 4}}}
)

// curve is one line of the picture, and what it would be without noise.
type curve struct {
	measured
	noiseless plotter.XYs
}

// ForecastPlot draws the expected width of one slope's interval against ε, a line
// for each n (against n, a line for each ε, where ε has but one value). Bars are ± 2 Monte Carlo
// errors, broken lines (a ring where there is but one) are the widths from the same rows without
// noise, the grey one is the prior's. It panics where the forecast has no such slope.
func ForecastPlot(f *plan.Forecast, o ForecastOptions) *Figure {
	prior := f.Alone[o.Slope].Width
	low, high := prior, prior
	var names []string
	var curves []*curve
	var xs []float64
	byEpsilon := slices.ContainsFunc(f.Points, func(p plan.Point) bool { return p.Epsilon != f.Points[0].Epsilon })
	for _, p := range f.Points {
		name, x, s := "ε = "+exactly(p.Epsilon), float64(p.N), p.Slopes[o.Slope]
		if byEpsilon {
			name, x = fmt.Sprintf("n = %d", p.N), p.Epsilon
		}
		i := slices.Index(names, name)
		if i < 0 {
			i, names, curves = len(names), append(names, name), append(curves, &curve{})
		}
		bar := 2 * s.WidthError
		if math.IsNaN(bar) {
			bar = 0
		}
		// On a logarithmic scale a bar cannot go down to 0.
		below, without := max(s.Width-bar, 0.1*s.Width), 2*s.NoiselessSD*distuv.UnitNormal.Quantile((1+f.Level)/2)
		curves[i].add(x, s.Width, below, s.Width+bar)
		curves[i].noiseless = append(curves[i].noiseless, plotter.XY{X: x, Y: without})
		xs, low, high = append(xs, x), min(low, without, below), max(high, s.Width+bar)
	}
	slices.Sort(xs)
	p := newPlot()
	p.X.Label.Text, p.Y.Label.Text = "number of records n", fmt.Sprintf("expected width of the %s%% interval", percent(f.Level))
	if byEpsilon {
		p.X.Label.Text = "privacy budget ε (more private to the left)"
	}
	markValues(p, slices.Compact(xs), pageRoom, 1.1)
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = lightGrey, lightGrey
	p.Add(grid)
	priorAlone.add(p, plotter.XYs{{X: p.X.Min, Y: prior}, {X: p.X.Max, Y: prior}})
	keys := seriesKeys(names...)
	for i, c := range curves {
		c.without(keys[i].Color).add(p, c.noiseless)
		c.draw(p, keys[i])
	}
	logY(p, low/1.15, high*1.15)
	figure := alone("plan", "What a release will tell of "+slopeName(f, o.Slope), p, aloneHeight, slices.Concat([]key{priorAlone}, keys, []key{curves[0].without(grey)})...)
	figure.caption = "Expected width of the interval, and that from the same rows without noise; bars are two Monte Carlo errors to either side."
	return figure
}

// without is the key of the widths without noise: a broken line, or a ring where there is but
// one of them.
func (c *curve) without(colour color.Color) key {
	k := withoutNoise
	k.Color = colour
	if len(c.noiseless) == 1 {
		k.LineStyle, k.mark = draw.LineStyle{}, draw.GlyphStyle{Color: colour, Radius: 3, Shape: draw.RingGlyph{}}
	}
	return k
}
