package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/plan"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/report"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

func runPlan(f *flags, _ []string) error {
	o, err := f.planned()
	if err != nil {
		return err
	}
	show, err := f.shown(&o)
	if err != nil {
		return err
	}
	show.Prior, o.Slope = f.prior.Describe(), show.Slope
	if err := o.Validate(); err != nil {
		return usage(err)
	}
	f.sayGrid(o)
	bar := countingBar(f.stderr(), "simulating releases ")
	o.Progress = bar.update
	forecast, err := plan.Foresee(f.ctx(), o)
	bar.finish()
	if err != nil {
		return err
	}
	if len(forecast.Points) > 0 {
		err = f.writePlot(public, report.ForecastPlot(forecast, show).Write)
	} else if f.plot != "" {
		f.note("there is nothing to draw: %s is not written", f.plot)
	}
	if err != nil {
		return err
	}
	made, err := f.made(nil)
	if err != nil {
		return err
	}
	page := func(w io.Writer) error { return report.ForecastPage(w, forecast, show, made) }
	if err := f.writePage(public, page); err != nil {
		return err
	}
	return f.print(forecast, func(out io.Writer) error { return report.Forecast(out, forecast, show) })
}

// Limits beyond which a plan is a slip of the keyboard, or would take days.
const (
	maxPlanned  = 30
	maxReleases = 100_000
	maxListLen  = 50
)

// planned checks all flags and turns them into the options of plan.Foresee.
func (f *flags) planned() (o plan.Options, err error) {
	o = plan.Options{Releases: f.simulated, Level: f.level, Seed: f.seed, Family: model.Family(f.family), Pool: f.schema == "" && f.covariate == ""}
	if err := errors.Join(f.checkPage(), f.sought(&o)); err != nil {
		return o, err
	}
	if o.Steps, err = custody.ParseSteps(f.looks); err != nil {
		return o, err
	}
	o.Neighbours = release.Neighbours(f.neighbours)
	if f.delta != "" {
		if o.Delta, err = schema.ParseNumber(f.delta); err != nil || !(o.Delta == 0 || o.Delta >= ssp.MinDelta && o.Delta < 1) {
			return o, usagef("--delta %q: 0, or a number from %v to below 1", f.delta, ssp.MinDelta)
		}
	}
	if o.Epsilons, err = f.epsilons(); err != nil {
		return o, err
	}
	if o.Design, err = f.plannedDesign(); err != nil {
		return o, err
	}
	o.ByLevel = f.byLevel
	if err = o.TakeLevels(); err != nil { // --covariate is a place among columns in the order of levels
		return o, usagef("--by-level: %w", err)
	}
	if o.ByLevel == "" && f.keepsResponse(o.Design) && o.Neighbours == release.ReplaceOne {
		o.ByLevel = o.Design.Response.FactorName()
	}
	if err := f.assume(&o); err != nil {
		return o, err
	}
	if o.Ns, err = f.counts(len(o.Design.Covariates) + 1); err != nil {
		return o, err
	}
	if err := errors.Join(f.checkPlot(f.schema, f.prior.File), f.pageWritable(inputs{f.schema, f.prior.File})); err != nil {
		return o, err
	}
	o.Prior, err = f.prior.For(o.Design, "")
	return o, usage(err)
}

// sought takes --width, and checks what goes with it.
func (f *flags) sought(o *plan.Options) error {
	switch {
	case f.width == 0:
		if f.given("of") {
			return usagef("--of goes with --width: of a forecast --covariate is the slope that is shown")
		}
		return nil
	case f.epsilon != "" && f.n != "":
		return usagef("--width seeks --eps or --n: give one of the two, and leave the other one out")
	case f.epsilon == "" && f.n == "":
		return usagef("--width %v: say for how many records it is to be had, as in --n 1000, and the smallest ε is found; or for which ε, as in --eps 1, and the smallest n is", f.width)
	}
	o.Width, f.noGrid = f.width, true
	return nil
}

func (f *flags) assume(o *plan.Options) (err error) {
	if o.Means, err = namedNumbers("mean", f.means); err != nil {
		return err
	}
	if o.SDs, err = namedNumbers("sd", f.sds); err != nil {
		return err
	}
	o.R2 = f.r2
	_, err = plan.Assume(o.Family, o.Design, o.Means, o.SDs, o.R2)
	return usage(within("--mean, --sd", err))
}

// namedNumbers parses NAME=NUMBER between commas.
func namedNumbers(flag, text string) (map[string]float64, error) {
	numbers := make(map[string]float64)
	if text == "" {
		return numbers, nil
	}
	for _, part := range strings.Split(text, ",") {
		at := strings.LastIndex(part, "=")
		if at < 1 {
			return nil, usagef("--%s %q: NAME=NUMBER is needed between commas, as in age=40,income=30000", flag, part)
		}
		name := strings.TrimSpace(part[:at])
		v, err := schema.ParseNumber(strings.TrimSpace(part[at+1:]))
		if err != nil {
			return nil, usagef("--%s %q: %w", flag, part, err)
		}
		if _, twice := numbers[name]; twice {
			return nil, usagef("--%s: %q is named twice", flag, name)
		}
		numbers[name] = v
	}
	return numbers, nil
}

// epsilons parses --eps and, of one value, makes three.
func (f *flags) epsilons() ([]float64, error) {
	switch {
	case f.epsilon == "" && f.width != 0:
		return nil, nil
	case f.epsilon == "":
		return nil, usagef("--eps is missing: say which privacy budgets to look at, as in --eps 0.1,0.5,1")
	}
	list, err := parseList("eps", f.epsilon, func(text string) (float64, error) {
		v, err := schema.ParseNumber(text)
		if err == nil {
			err = ssp.CheckEpsilon(v)
		}
		return v, err
	})
	if err == nil && len(list) == 1 && !f.noGrid {
		list = []float64{decimal(list[0] / 4), list[0], decimal(list[0] * 4)}
	}
	return slices.DeleteFunc(list, func(v float64) bool { return v < ssp.MinEpsilon || v > ssp.MaxEpsilon }), err
}

// decimal keeps twelve digits: 4 times 0.3 is 1.2.
func decimal(v float64) float64 {
	short, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 12, 64), 64)
	return short
}

// counts parses --n for m columns and, of one value, makes three.
func (f *flags) counts(m int) ([]int64, error) {
	switch {
	case f.n == "" && f.width != 0:
		return nil, nil
	case f.n == "":
		return nil, usagef("--n is missing: say how many records there may be, as in --n 200,1000")
	}
	list, err := parseList("n", f.n, func(text string) (int64, error) {
		n, err := whole[int64](ssp.MaxRows)(text)
		if err == nil && n <= int64(m) {
			err = fmt.Errorf("%d columns, the response among them, need more than %d records", m, m)
		}
		return n, err
	})
	if err == nil && len(list) == 1 && !f.noGrid {
		list = []int64{list[0] / 4, list[0], 4 * list[0]}
	}
	return slices.DeleteFunc(list, func(n int64) bool { return n <= int64(m) || n > ssp.MaxRows }), err
}

// parseList parses numbers between commas, and returns them in order, each once.
func parseList[T int | int64 | float64](flag, text string, parse func(string) (T, error)) ([]T, error) {
	var list []T
	for _, part := range strings.Split(text, ",") {
		v, err := parse(strings.TrimSpace(part))
		if err != nil {
			return nil, usagef("--%s %q: %w", flag, text, err)
		}
		list = append(list, v)
	}
	slices.Sort(list)
	if list = slices.Compact(list); len(list) > maxListLen {
		return nil, usagef("--%s: %d values are too many, at most %d", flag, len(list), maxListLen)
	}
	return list, nil
}

// plannedDesign gives the columns: those of the schema, or p on [-1, 1].
func (f *flags) plannedDesign() (*schema.Design, error) {
	switch p, err := whole[int](maxPlanned)(f.p); {
	case f.schema != "" && f.p != "":
		return nil, usagef("--p and --schema exclude each other: a schema has its covariates")
	case f.schema == "" && f.p == "":
		return nil, usagef("say which columns: --p 3 for three covariates on [-1, 1], or --schema FILE with their public bounds")
	case f.schema == "" && f.formula != "":
		return nil, usagef("--formula names columns of a schema: give --schema FILE, in place of --p")
	case f.schema == "" && err != nil:
		return nil, usagef("--p %s: from 1 to %d covariates", f.p, maxPlanned)
	case f.schema == "":
		d := dpreg.UnitDesign(p)
		if f.family != "" { // of 0 and 1, as no --p says how far counts go
			d.Response.Lower = 0
		}
		return d, nil
	}
	columns, _, err := custody.ReadSchema(f.schema, "")
	if err != nil {
		return nil, err
	}
	d, err := columns.Design(f.formula)
	if err != nil {
		return nil, formulaError(fmt.Errorf("%s: %w", f.schema, err))
	}
	if p := len(d.Covariates); p > maxPlanned {
		return nil, usagef("%d covariates: a plan has at most %d; name fewer by --formula", p, maxPlanned)
	}
	return d, nil
}

// shown finds the slope that the table shows, and gives it the value of --slope.
func (f *flags) shown(o *plan.Options) (report.ForecastOptions, error) {
	show := report.ForecastOptions{Units: dpreg.Original}
	if f.schema == "" {
		show.Units = dpreg.Scaled
	}
	if f.covariate != "" {
		if show.Slope = schema.Index(o.Design.Covariates, f.covariate); show.Slope < 0 {
			flag := "covariate"
			if f.given("of") {
				flag = "of"
			}
			return show, usagef("--%s %q is none of the covariates of %s", flag, f.covariate, o.Design.Formula())
		}
	}
	if !f.given("slope") {
		return show, nil
	}
	o.Truth = make([]float64, len(o.Design.Covariates))
	for j := range o.Truth {
		o.Truth[j] = math.NaN()
		if o.Pool || j == show.Slope {
			o.Truth[j] = f.slope
		}
	}
	return show, nil
}

// sayGrid says which values were added to single ones.
func (f *flags) sayGrid(o plan.Options) {
	if f.noGrid {
		return
	}
	if !strings.Contains(f.epsilon, ",") {
		f.note("around the one ε given: %s (--eps takes a list; --no-grid keeps the one)", joined(o.Epsilons))
	}
	if !strings.Contains(f.n, ",") {
		f.note("around the one n given: %s (--n takes a list; --no-grid keeps the one)", joined(o.Ns))
	}
}

func joined[T any](list []T) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(list), "[]"), " ", ", ")
}
