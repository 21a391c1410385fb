package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/plan"
	"github.com/dpreg/dpreg/report"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

// planFlags are the flags of plan.
type planFlags struct {
	eps, n, delta, slope, mean, sd     string
	schema, formula, covariate         string
	plot, format                       string
	p, releases                        int
	level, r2                          float64
	seed                               uint64
	noGrid, formulaSet, pSet, slopeSet bool
	priorFlags
	pageFlag
}

func (f *planFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.eps, "eps", "", "privacy budgets ε, a `LIST` such as 0.1,0.5,1")
	fs.StringVar(&f.n, "n", "", "numbers of records, a `LIST` such as 200,1000")
	fs.IntVar(&f.p, "p", 0, "`NUMBER` of covariates, each on [-1, 1]; or give --schema")
	fs.StringVar(&f.schema, "schema", "", "Frictionless Table Schema `FILE` with the columns and their public bounds")
	fs.StringVar(&f.formula, "formula", "", formulaUsage+"default: the schema's last column on all others")
	fs.StringVar(&f.covariate, "covariate", "", "`NAME` of the covariate whose slope is shown (default: the first; with --p, the mean over slopes)")
	f.priorFlags.register(cmd)
	fs.StringVar(&f.slope, "slope", "", "true slope of the simulated rows, a `NUMBER` (default: as --r2 has it)")
	fs.StringVar(&f.mean, "mean", "", "means of columns, a `LIST` such as age=40,income=30000 (default: 3/8 of the way between the bounds; of a 0/1 column its share)")
	fs.StringVar(&f.sd, "sd", "", "standard deviations of columns, a `LIST` such as age=15,income=40000 (default: an eighth of the range)")
	fs.Float64Var(&f.r2, "r2", 0.3, "share of the response's variance that the covariates explain, a `NUMBER` between 0 and 1")
	fs.StringVar(&f.delta, "delta", "0", "δ, a `NUMBER`; above 0, noise is Laplace or Gaussian, whichever is smaller")
	fs.IntVar(&f.releases, "releases", plan.DefaultReleases, "`NUMBER` of simulated releases at each point: four times as many halve the Monte Carlo error")
	fs.Float64Var(&f.level, "level", 0.95, "probability of the intervals, a `NUMBER` between 0 and 1")
	fs.Uint64Var(&f.seed, "seed", 0, "seed of the simulation, a `NUMBER`")
	fs.BoolVar(&f.noGrid, "no-grid", false, "add no values to a single ε or n")
	fs.StringVar(&f.plot, "plot", "", "draw the widths to this `FILE`, .svg or .png")
	f.pageFlag.register(cmd)
	fs.StringVar(&f.format, "format", "table", "`NAME` of the format on stdout: table, json or csv")
	oneOf(cmd, "format", "table", "json", "csv")
}

// Limits beyond which a plan is a slip of the keyboard, or would take days.
const (
	maxPlanned  = 30
	maxReleases = 100_000
	maxListLen  = 50
)

// options checks all flags and turns them into those of plan.Foresee.
func (f *planFlags) options(cmd *cobra.Command) (o plan.Options, err error) {
	f.pSet, f.formulaSet, f.slopeSet = cmd.Flags().Changed("p"), cmd.Flags().Changed("formula"), cmd.Flags().Changed("slope")
	o = plan.Options{Releases: f.releases, Level: f.level, Seed: f.seed, Pool: f.schema == "" && f.covariate == ""}
	if err := f.pageFlag.check(cmd); err != nil {
		return o, err
	}
	if err := choose("format", f.format, []string{"table", "json", "csv"}); err != nil {
		return o, err
	}
	if !(f.level > 0 && f.level < 1) {
		return o, usagef("--level %v: it must lie between 0 and 1, as 0.95 does", f.level)
	}
	if f.releases < 1 || f.releases > maxReleases {
		return o, usagef("--releases %d: from 1 to %d", f.releases, maxReleases)
	}
	if o.Delta, err = schema.ParseNumber(f.delta); err != nil || !(o.Delta == 0 || o.Delta >= ssp.MinDelta && o.Delta < 1) {
		return o, usagef("--delta %q: 0, or a number from %v to below 1", f.delta, ssp.MinDelta)
	}
	if err := f.priorFlags.parse(); err != nil {
		return o, err
	}
	if o.Epsilons, err = f.epsilons(); err != nil {
		return o, err
	}
	if o.Design, err = f.design(); err != nil {
		return o, err
	}
	if err := f.assume(&o); err != nil {
		return o, err
	}
	if o.Ns, err = f.counts(len(o.Design.Covariates) + 1); err != nil {
		return o, err
	}
	if err := f.checkPlot(); err != nil {
		return o, err
	}
	if err := f.writable(inputs{f.schema, f.prior}); err != nil {
		return o, err
	}
	o.Prior, err = f.priorFlags.read(o.Design, "")
	return o, usage(err)
}

// assume parses what is said of the rows.
func (f *planFlags) assume(o *plan.Options) (err error) {
	if o.Means, err = namedNumbers("mean", f.mean); err != nil {
		return err
	}
	if o.SDs, err = namedNumbers("sd", f.sd); err != nil {
		return err
	}
	if o.R2 = f.r2; !(f.r2 > 0 && f.r2 < 1) {
		return usagef("--r2 %v: it must lie between 0 and 1, as 0.3 does", f.r2)
	}
	_, err = plan.Assume(o.Design, o.Means, o.SDs, o.R2)
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
func (f *planFlags) epsilons() ([]float64, error) {
	if f.eps == "" {
		return nil, usagef("--eps is missing: say which privacy budgets to look at, as in --eps 0.1,0.5,1")
	}
	list, err := parseList("eps", f.eps, func(text string) (float64, error) {
		v, err := schema.ParseNumber(text)
		if err == nil && !(v >= ssp.MinEpsilon && v <= ssp.MaxEpsilon) {
			err = fmt.Errorf("ε must lie between %v and %v", ssp.MinEpsilon, ssp.MaxEpsilon)
		}
		return v, err
	})
	if err != nil || len(list) > 1 || f.noGrid {
		return list, err
	}
	grid := []float64{decimal(list[0] / 4), list[0], decimal(list[0] * 4)}
	return slices.DeleteFunc(grid, func(v float64) bool { return v < ssp.MinEpsilon || v > ssp.MaxEpsilon }), nil
}

// decimal keeps twelve digits: 4 times 0.3 is 1.2.
func decimal(v float64) float64 {
	short, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 12, 64), 64)
	return short
}

// counts parses --n for m columns and, of one value, makes three.
func (f *planFlags) counts(m int) ([]int64, error) {
	if f.n == "" {
		return nil, usagef("--n is missing: say how many records there may be, as in --n 200,1000")
	}
	list, err := parseList("n", f.n, func(text string) (int64, error) {
		v, err := schema.ParseNumber(text)
		switch {
		case err != nil:
			return 0, err
		case v != math.Trunc(v):
			return 0, errors.New("a number of records is whole")
		case !(v > float64(m)):
			return 0, fmt.Errorf("%d columns, the response among them, need more than %d records", m, m)
		case v > ssp.MaxRows:
			return 0, fmt.Errorf("at most %d records are possible", int64(ssp.MaxRows))
		}
		return int64(v), nil
	})
	if err != nil || len(list) > 1 || f.noGrid {
		return list, err
	}
	grid := []int64{list[0] / 4, list[0], 4 * list[0]}
	return slices.DeleteFunc(grid, func(n int64) bool { return n <= int64(m) || n > ssp.MaxRows }), nil
}

// parseList parses numbers between commas, and returns them in order, each once.
func parseList[T int64 | float64](flag, text string, parse func(string) (T, error)) ([]T, error) {
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

// design gives the columns: those of the schema, or p on [-1, 1].
func (f *planFlags) design() (*schema.Design, error) {
	switch {
	case f.schema != "" && f.pSet:
		return nil, usagef("--p and --schema exclude each other: a schema has its covariates")
	case f.schema == "" && !f.pSet:
		return nil, usagef("say which columns: --p 3 for three covariates on [-1, 1], or --schema FILE with their public bounds")
	case f.schema == "" && f.formulaSet:
		return nil, usagef("--formula names columns of a schema: give --schema FILE, in place of --p")
	case f.schema == "" && (f.p < 1 || f.p > maxPlanned):
		return nil, usagef("--p %d: from 1 to %d covariates", f.p, maxPlanned)
	case f.schema == "":
		return dpreg.UnitDesign(f.p), nil
	}
	file, err := os.Open(f.schema)
	if err != nil {
		return nil, usagef("--schema: %w", err)
	}
	defer file.Close()
	columns, err := schema.ReadSchema(file, f.schema)
	if err != nil {
		return nil, usage(err)
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
func (f *planFlags) shown(o *plan.Options) (report.ForecastOptions, error) {
	show := report.ForecastOptions{Units: dpreg.Original}
	if f.schema == "" {
		show.Units = dpreg.Scaled
	}
	show.Prior = f.priorFlags.describe()
	if f.covariate != "" {
		is := func(c schema.Column) bool { return c.Name == f.covariate }
		if show.Slope = slices.IndexFunc(o.Design.Covariates, is); show.Slope < 0 {
			return show, usagef("--covariate %q is none of the covariates of %s", f.covariate, o.Design.Formula())
		}
	}
	if !f.slopeSet {
		return show, nil
	}
	v, err := schema.ParseNumber(f.slope)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return show, usagef("--slope %q: a number is needed, in the units of the columns", f.slope)
	}
	o.Truth = make([]float64, len(o.Design.Covariates))
	for j := range o.Truth {
		o.Truth[j] = math.NaN()
		if o.Pool || j == show.Slope {
			o.Truth[j] = v
		}
	}
	return show, nil
}

func (f *planFlags) checkPlot() error {
	if err := (inputs{f.schema, f.prior}).spare(f.plot); f.plot != "" && err != nil {
		return within("--plot", err)
	}
	return checkPlotFile(f.plot)
}

// sayGrid says which values were added to single ones.
func (f *planFlags) sayGrid(stderr io.Writer, o plan.Options) {
	if f.noGrid {
		return
	}
	if !strings.Contains(f.eps, ",") {
		note(stderr, "around the one ε given: %s (--eps takes a list; --no-grid keeps the one)", joined(o.Epsilons))
	}
	if !strings.Contains(f.n, ",") {
		note(stderr, "around the one n given: %s (--n takes a list; --no-grid keeps the one)", joined(o.Ns))
	}
}

func joined[T any](list []T) string {
	parts := make([]string, len(list))
	for i, v := range list {
		parts[i] = fmt.Sprint(v)
	}
	return strings.Join(parts, ", ")
}
