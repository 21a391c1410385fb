// Command families asks whether the intervals of generalized linear models hold the coefficient of
// maximum likelihood, or the true one: of adult's above50k, and of rows whose covariates are normal,
// 0 or 1, and skewed, with linear predictors of three sds; and of the one of eight normal covariates that
// has an effect.
//
//	go run ./bench/families
//	go run ./bench/families -family poisson
//	go run ./bench/families -family poisson -dispersion 4
//	go run ./bench/families -trials 500 -n 10000
//	go run ./bench/families -looks
//	go run ./bench/families -levels
//	go run ./bench/families -cells
//	go run ./bench/families -looks -custodians 2
//
// With -looks sums are by the levels of the response, and of as many looks as dpreg takes. With -levels they are by those
// of a factor of 60, 30 and 10 % of the rows, within which a covariate is normal. With -cells they are by those of all
// covariates, categories alone: of the Titanic's persons and Berkeley's applicants, and of such whose response is drawn anew
// with maximum likelihood's probabilities. With -custodians tables alone are drawn from,
// census's married among them, and each of so many releases its part of the rows. In parentheses stands
// the root mean square of what posterior means are off by, in sds of η a sd of x.
//
// It runs in the root of the repository, and writes a Markdown table. Of adult, rows are drawn
// with replacement, and the coefficients are those that maximum likelihood has of all rows, as R's
// glm has them.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/parallel"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/table"
	"github.com/dpreg/dpreg/vi"
)

func main() {
	trials := flag.Int("trials", 100, "data sets of each cell")
	n := flag.Int("n", 3000, "rows of each data set")
	family := flag.String("family", "binomial", "of simulated rows: binomial, probit or poisson, of counts to 20")
	epsilons := flag.String("eps", "0.3,1,3", "list of ε")
	dispersion := flag.Float64("dispersion", 1, "variance of counts over Poisson's: of more than 1 they are negative binomial")
	looks := flag.Bool("looks", false, "sums by the levels of the response, of several looks")
	levels := flag.Bool("levels", false, "sums by the levels of a factor, of rows that have one")
	cells := flag.Bool("cells", false, "sums by the levels of all covariates, of tables of categories")
	custodians := flag.Int("custodians", 1, "releases that the rows of tables are parted to")
	flag.Parse()
	all, err := []population(nil), error(nil)
	switch {
	case *custodians > 1:
		all, err = tables(*custodians, *looks)
	case *cells:
		all, err = categories(*looks)
	default:
		all, err = populations(response{model.Family(*family), *dispersion}, *looks, *levels)
	}
	if err == nil {
		err = run(context.Background(), os.Stdout, all, *trials, *n, strings.Split(*epsilons, ","))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "families:", err)
		os.Exit(1)
	}
}

func populations(of response, looks, levels bool) (all []population, err error) {
	sds := []float64{0.5, 1, 2}
	if levels {
		for _, sd := range sds {
			all = append(all, byLevels(of, sd))
		}
		return all, nil
	}
	if of.family == model.Binomial {
		adult, err := adult()
		if err != nil {
			return nil, err
		}
		all = append(all, adult)
	}
	for _, sd := range sds {
		for _, law := range laws {
			all = append(all, law.at(of, sd/1.5, -sd/1.5, sd/3))
		}
	}
	one := laws[0].at(of, 2, 0, 0, 0, 0, 0, 0, 0)
	one.name, one.judged = "one of eight, normal", 1
	all = append(all, one)
	for i := range all {
		all[i].looks = looks
	}
	return all, nil
}

func adult() (population, error) {
	return newTable("testdata/adult.csv", []string{"age", "education", "hours", "above50k"}, []float64{0, 1, 0, 0}, []float64{100, 16, 100, 1})
}

// tables are those of which rows are drawn, for so many custodians.
func tables(custodians int, looks bool) (all []population, err error) {
	adult, err := adult()
	if err != nil {
		return nil, err
	}
	census, err := newTable("testdata/pums10000.csv", []string{"age", "educ", "married"}, []float64{0, 1, 0}, []float64{100, 16, 1})
	for _, p := range []population{adult, census} {
		for _, parts := range []int{1, custodians} {
			own := p
			own.looks, own.custodians, own.name = looks, parts, fmt.Sprintf("%s, %d", p.name, parts)
			all = append(all, own)
		}
	}
	return all, err
}

func run(ctx context.Context, w io.Writer, all []population, trials, n int, epsilons []string) error {
	fmt.Fprintln(w, "| rows | sd of η |", strings.Join(epsilons, " | "), "|")
	fmt.Fprintln(w, "|---|---|"+strings.Repeat("---|", len(epsilons)))
	for _, p := range all {
		fmt.Fprintf(w, "| %s | %.2g |", p.name, p.sd)
		for _, text := range epsilons {
			epsilon, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return err
			}
			share, off, err := p.coverage(ctx, trials, n, epsilon)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, " %.1f (%.3f) |", 100*share, off)
		}
		fmt.Fprintln(w)
	}
	return nil
}

// population draws rows of covariates and a response of a family, the last, in the data's
// units, of which the slopes are known.
type population struct {
	family       model.Family
	name         string
	sd           float64 // of η
	lower, upper []float64
	slopes, sds  []float64 // and of their columns
	judged       int       // the first slopes
	looks        bool
	custodians   int
	factors      []schema.Factor // whose dummies the first covariates are
	draw         func(row []float64, rng *rand.Rand)
}

// coverage is the share of 95 % intervals that hold slopes, over data sets, and what means are off by.
func (p population) coverage(ctx context.Context, trials, n int, epsilon float64) (share, off float64, err error) {
	var hits atomic.Int64
	squares := make([]float64, trials)
	err = parallel.Each(ctx, 0, trials, nil, func(ctx context.Context, trial int) error {
		var releases []dpreg.Custodian
		rng, parts := rand.New(rand.NewPCG(uint64(trial), 1)), max(1, p.custodians)
		for j := range parts {
			r, err := p.release(ctx, (j+1)*n/parts-j*n/parts, epsilon, rng)
			if err != nil {
				return err
			}
			releases = append(releases, dpreg.Custodian{Name: strconv.Itoa(j + 1), Release: r})
		}
		fit, err := dpreg.Infer(ctx, releases, dpreg.Options{Family: p.family,
			Plan: mcmc.Plan{Chains: 2, Warmup: 500, Draws: 1000, Seed: uint64(trial), Workers: 1}})
		if err != nil {
			return err
		}
		for j, s := range fit.Summary(dpreg.Original, 0.95).Parameters[1 : 1+p.judged] {
			if s.Lower <= p.slopes[j] && p.slopes[j] <= s.Upper {
				hits.Add(1)
			}
			e := (s.Mean - p.slopes[j]) * p.sds[j]
			squares[trial] += e * e / float64(trials*p.judged)
		}
		return nil
	})
	return float64(hits.Load()) / float64(trials*p.judged), math.Sqrt(floats.Sum(squares)), err
}

// release is what custodians publish of n rows, pure and to replace-one neighbours, with simulated noise.
func (p population) release(ctx context.Context, n int, epsilon float64, rng *rand.Rand) (*release.Release, error) {
	m := len(p.lower)
	d := schema.Design{Intercept: true, Response: schema.Column{Name: "y", Upper: p.upper[m-1]}}
	for j := range m - 1 {
		d.Covariates = append(d.Covariates, schema.Column{Name: fmt.Sprintf("x%d", j+1), Lower: p.lower[j], Upper: p.upper[j]})
		if p.lower[j] == 0 && p.upper[j] == 1 && p.factors == nil {
			d.Covariates[j].Type = "boolean"
		}
	}
	d.Factors = p.factors
	var by []string
	dummies := d.Covariates
	for _, f := range p.factors {
		by = append(by, f.Name)
		for _, level := range f.Levels[1:] {
			dummies[0].Name, dummies[0].Factor, dummies[0].Level = f.Name+level, f.Name, level
			dummies = dummies[1:]
		}
	}
	o := custody.Order{Design: &d, Privacy: release.Privacy{Epsilon: epsilon, Neighbours: release.ReplaceOne}, Steps: 1, NoLedger: true}
	if p.looks {
		d.Response.Type, o.ByLevel, o.Steps = "boolean", "y", custody.AutoSteps
	}
	if by != nil && !p.looks {
		o.ByLevel = strings.Join(by, ":")
	}
	frame, rows, row := d.Frame(), []float64(nil), make([]float64, m)
	for range n {
		p.draw(row, rng)
		for j, v := range row {
			rows = append(rows, max(-1, min(1, (v-frame.Centre[j])/frame.Half[j])))
		}
	}
	o.Rows, o.Entropy = custody.Scaled{Name: "rows", Rows: rows}, mechanisms.Simulated(rng)
	r, err := custody.Publish(ctx, o)
	if err != nil {
		return nil, err
	}
	return r.Select("")
}

// law is one of a covariate within bounds, of a mean and an sd.
type law struct {
	name         string
	lower, upper float64
	mean, sd     float64
	draw         func(*rand.Rand) float64
}

var laws = []law{
	{"normal x", -4, 4, 0, 1, (*rand.Rand).NormFloat64},
	{"0/1 x, a half", 0, 1, 0.5, 0.5, func(rng *rand.Rand) float64 { return float64(rng.IntN(2)) }},
	{"0/1 x, a tenth", 0, 1, 0.1, 0.3, func(rng *rand.Rand) float64 { return float64(rng.IntN(10) / 9) }},
	{"exponential x", -1, 7, 0, 1, func(rng *rand.Rand) float64 { return rng.ExpFloat64() - 1 }},
}

// mostCounted is the bound of counts.
const mostCounted = 20

// response draws one of a family.
type response struct {
	family     model.Family
	dispersion float64
}

// draw draws counts of more than Poisson's variance by rates of a gamma law.
func (r response) draw(eta, most float64, rng *rand.Rand) float64 {
	if more := r.dispersion - 1; more > 0 {
		eta = math.Log(distuv.Gamma{Alpha: math.Exp(eta) / more, Beta: 1 / more, Src: rng}.Rand())
	}
	return r.family.Draw(eta, most, rng)
}

// at is the population of independent covariates of the law, and of η = −½ + βᵀ(x − mean)/sd.
func (l law) at(of response, effects ...float64) population {
	p := population{family: of.family, name: l.name, sds: slices.Repeat([]float64{l.sd}, len(effects)), judged: len(effects)}
	for _, b := range effects {
		p.sd, p.slopes = math.Hypot(p.sd, b), append(p.slopes, b/l.sd)
		p.lower, p.upper = append(p.lower, l.lower), append(p.upper, l.upper)
	}
	most := 1.0
	if of.family == model.Poisson {
		most = mostCounted
	}
	p.lower, p.upper = append(p.lower, 0), append(p.upper, most)
	p.draw = func(row []float64, rng *rand.Rand) {
		eta := -0.5
		for j, b := range p.slopes {
			row[j] = max(l.lower, min(l.upper, l.draw(rng)))
			eta += b * (row[j] - l.mean)
		}
		row[len(effects)] = of.draw(eta, most, rng)
	}
	return p
}

// byLevels is a population of a factor of three levels and of a covariate that is normal within each, of sd 1 about 0, ½
// and −½. Effects of levels are as large as that of an sd, in opposite directions.
func byLevels(of response, sd float64) population {
	shares, means, effects := []float64{0.6, 0.3, 0.1}, []float64{0, 0.5, -0.5}, []float64{0, 1, -1}
	mean, square := 0.0, 1.0
	for l, share := range shares {
		eta := effects[l] + means[l]
		mean, square = mean+share*eta, square+share*eta*eta
	}
	b := sd / math.Sqrt(square-mean*mean)
	p := laws[0].at(of, b, -b, b)
	p.name, p.sd, p.factors = "by levels", sd, []schema.Factor{{Name: "f", Levels: []string{"a", "b", "c"}}}
	for l, share := range shares[1:] {
		p.lower[l], p.upper[l], p.sds[l] = 0, 1, math.Sqrt(share*(1-share))
	}
	p.draw = func(row []float64, rng *rand.Rand) {
		l, u := 0, rng.Float64()
		for ; u > shares[l] && l < 2; l++ {
			u -= shares[l]
		}
		row[0], row[1] = 0, 0
		if l > 0 {
			row[l-1] = 1
		}
		row[2] = max(-4, min(4, means[l]+rng.NormFloat64()))
		row[3] = of.draw(-0.5+b*(effects[l]+row[2]), p.upper[3], rng)
	}
	return p
}

// newTable is the population of a table's rows, of columns clamped to their bounds.
func newTable(path string, columns []string, lower, upper []float64) (p population, err error) {
	source, err := table.Find(path)
	if err != nil {
		return p, err
	}
	d := schema.Design{Intercept: true}
	for j, name := range columns {
		d.Covariates = append(d.Covariates, schema.Column{Name: name, Lower: lower[j], Upper: upper[j]})
	}
	last := len(columns) - 1
	d.Covariates, d.Response = d.Covariates[:last], d.Covariates[last]
	frame, rows := d.Frame(), [][]float64(nil)
	for row, err := range (table.Options{}).Rows(source, &d) {
		if err != nil {
			return p, err
		}
		row = slices.Clone(row)
		for j, v := range row {
			row[j] = frame.Centre[j] + frame.Half[j]*v
		}
		rows = append(rows, row)
	}
	p, _, err = newRows(rows)
	p.name, p.lower, p.upper = path, lower, upper
	return p, err
}

// newRows is the population of rows, and η of each.
func newRows(rows [][]float64) (p population, eta []float64, err error) {
	last := len(rows[0]) - 1
	data := &vi.Rows{P: last + 1}
	for _, row := range rows {
		data.X, data.Y = append(append(data.X, 1), row[:last]...), append(data.Y, row[last])
	}
	mode, err := calibration.FindMode(model.Binomial, 1, data, 0)
	if err != nil {
		return p, nil, err
	}
	p = population{family: model.Binomial, lower: make([]float64, last+1), upper: slices.Repeat([]float64{1}, last+1), slopes: mode.Theta[1:], judged: last, draw: func(row []float64, rng *rand.Rand) { copy(row, rows[rng.IntN(len(rows))]) }}
	eta = make([]float64, len(rows))
	for j, b := range p.slopes {
		column := make([]float64, len(rows))
		for i, row := range rows {
			column[i] = row[j]
		}
		floats.AddScaled(eta, b, column)
		p.sds = append(p.sds, stat.StdDev(column, nil))
	}
	p.sd = stat.PopStdDev(eta, nil)
	floats.AddConst(mode.Theta[0], eta)
	return p, eta, nil
}
