package dpreg_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

// The study of docs/factors.md. It takes a quarter of an hour of two cores:
//
//	go test -run 'FactorCoverage$' -factors.long -timeout 5h .
var (
	factorsLong = flag.Bool("factors.long", false, "run the study of docs/factors.md and print its table")
	factorsSets = flag.Int("factors.sets", 200, "data sets at each point of the study of docs/factors.md")
)

// population is a law of rows whose regression is linear, so that the coefficients
// are those of the best linear projection: the truth.
type population struct {
	name   string
	design *schema.Design
	truth  []float64 // the intercept first
	draw   func(x []float64, rng *rand.Rand)
}

// residual is the standard deviation of y given x: with the coefficients below, y
// leaves its bounds in fewer than one row in a thousand.
const residual = 0.15

// pick sets the dummies of a level drawn with these probabilities, of which the
// first is the baseline's.
func pick(dummies []float64, rng *rand.Rand, probabilities ...float64) {
	u := rng.Float64()
	for k, p := range probabilities {
		if k > 0 {
			dummies[k-1] = 0
			if u >= 0 && u < p {
				dummies[k-1] = 1
			}
		}
		u -= p
	}
}

func populations(t *testing.T) []population {
	t.Helper()
	number := func(name string) schema.Column { return schema.Column{Name: name, Lower: -1, Upper: 1} }
	design := func(columns ...schema.Column) *schema.Design {
		s := &schema.Schema{Columns: append(columns, number("y"))}
		return must.Get(s.Design(""))(t)
	}
	sex := schema.Column{Name: "sex", Type: "string", Levels: []string{"f", "m"}}
	region := schema.Column{Name: "region", Type: "string", Levels: []string{"A", "B", "C", "D", "E"}}
	return []population{
		{"x and a binary factor", design(number("x"), sex), []float64{-0.1, 0.25, 0.2}, func(x []float64, rng *rand.Rand) {
			x[0] = 0.3 * rng.NormFloat64()
			pick(x[1:], rng, 0.7, 0.3)
		}},
		{"x and a factor of 5 levels", design(number("x"), region), []float64{-0.1, 0.25, 0.2, 0.1, -0.15, 0.2}, func(x []float64, rng *rand.Rand) {
			x[0] = 0.3 * rng.NormFloat64()
			pick(x[1:], rng, 0.35, 0.25, 0.2, 0.12, 0.08)
		}},
		{"five normal columns", design(number("x1"), number("x2"), number("x3"), number("x4"), number("x5")),
			[]float64{-0.1, 0.25, 0.2, 0.1, -0.15, 0.2}, func(x []float64, rng *rand.Rand) {
				for j := range x {
					x[j] = 0.3 * rng.NormFloat64()
				}
			}},
	}
}

// statistics are the sums over n rows.
func (p *population) statistics(n int, rng *rand.Rand) (*ssp.Statistics, error) {
	frame, q := p.design.Frame(), len(p.design.Covariates)
	a, row := ssp.NewAccumulator(q+1), make([]float64, q+1)
	for range n {
		p.draw(row[:q], rng)
		row[q] = p.truth[0] + residual*rng.NormFloat64()
		for j, b := range p.truth[1:] {
			row[q] += b * row[j]
		}
		frame.Scale(row, row)
		if err := a.AddRows(row); err != nil {
			return nil, err
		}
	}
	return a.Statistics(), nil
}

// told is what the fits told of one coefficient.
type told struct {
	covered              int
	width, sd, sum, sum2 float64
}

// fit publishes one data set with simulated noise, and infers.
func (p *population) fit(n int, epsilon float64, seed uint64) (*posterior.Summary, error) {
	rng := mcmc.Stream(seed, 0)
	s, err := p.statistics(n, rng)
	if err != nil {
		return nil, err
	}
	privacy := release.Privacy{Epsilon: epsilon, Neighbours: release.ReplaceOne}
	r, err := ssp.Publish(context.Background(), s, p.design, privacy, release.Laplace, ssp.Exact, mechanisms.Simulated(mcmc.Stream(seed, 1)))
	if err != nil {
		return nil, err
	}
	f, err := dpreg.Infer(context.Background(), dpreg.One(r), dpreg.Options{Plan: mcmc.Plan{Chains: 2, Warmup: 400, Draws: 600, Seed: seed, Workers: 1}})
	if err != nil {
		return nil, err
	}
	return f.Summary(dpreg.Original, 0.95), nil
}

func (p *population) study(n int, epsilon float64, sets int) (results []told, uneasy int, err error) {
	results = make([]told, len(p.truth))
	var mu sync.Mutex
	var group sync.WaitGroup
	seeds := make(chan uint64, sets)
	for k := range sets {
		seeds <- uint64(k)
	}
	close(seeds)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for seed := range seeds {
				s, failed := p.fit(n, epsilon, seed)
				mu.Lock()
				if failed != nil {
					err = failed
					mu.Unlock()
					return
				}
				worst := 0.0
				for j := range results {
					c := &s.Parameters[j]
					results[j].add(c, p.truth[j])
					worst = max(worst, c.RHat)
				}
				if !(worst <= 1.05) {
					uneasy++
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return results, uneasy, err
}

func (r *told) add(c *posterior.Parameter, truth float64) {
	if c.Lower <= truth && truth <= c.Upper {
		r.covered++
	}
	r.width += c.Upper - c.Lower
	r.sd += c.SD
	r.sum += c.Mean - truth
	r.sum2 += (c.Mean - truth) * (c.Mean - truth)
}

func TestFactorCoverage(t *testing.T) {
	if !*factorsLong {
		t.Skip("a study: see docs/factors.md")
	}
	sets := float64(*factorsSets)
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 1, ' ', tabwriter.Debug)
	defer out.Flush()
	for _, p := range populations(t) {
		fmt.Fprintf(out, "\n%s, %d data sets a point\nn\tepsilon\tcoefficient\ttruth\tcoverage\twidth\tmean sd\tbias\terror (rms)\tR-hat > 1.05\n", p.name, *factorsSets)
		for _, n := range []int{500, 2000} {
			for _, epsilon := range []float64{1, 10} {
				results, uneasy, err := p.study(n, epsilon, *factorsSets)
				must.Do(t, err)
				for j, r := range results {
					name := "(Intercept)"
					if j > 0 {
						name = p.design.Covariates[j-1].Name
					}
					fmt.Fprintf(out, "%d\t%v\t%s\t%v\t%.3f\t%.2f\t%.3f\t%.3f\t%.3f\t%d\n", n, epsilon, name, p.truth[j], float64(r.covered)/sets,
						r.width/sets, r.sd/sets, r.sum/sets, math.Sqrt(r.sum2/sets), uneasy)
				}
				out.Flush()
			}
		}
	}
}

// The coefficients of the populations are those of the best linear projection:
// least squares over many rows finds them, to within 5 standard errors (one false
// alarm in a million of the 15) and what clamping moves.
func TestFactorCoverageTruth(t *testing.T) {
	const n = 200_000
	for _, p := range populations(t) {
		s := must.Get(p.statistics(n, rand.New(rand.NewPCG(5, 6))))(t)
		f := must.Get(dpreg.NonPrivate(context.Background(), s, p.design, dpreg.Options{Plan: mcmc.Plan{Chains: 2, Draws: 500, Seed: 1}}))(t)
		for j, c := range f.Summary(dpreg.Original, 0.95).Parameters[:len(p.truth)] {
			if math.Abs(c.Mean-p.truth[j]) > 5*c.SD*(1+1/math.Sqrt(500))+0.001 {
				t.Errorf("%s: %s is %v ± %v, want %v", p.name, c.Name, c.Mean, c.SD, p.truth[j])
			}
		}
		labels := []string{}
		for _, c := range p.design.Covariates {
			labels = append(labels, c.Name)
		}
		if p.name == "x and a factor of 5 levels" && !slices.Equal(labels, strings.Fields("x regionB regionC regionD regionE")) {
			t.Errorf("columns %q", labels)
		}
	}
}
