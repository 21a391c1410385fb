// Command engines says which engine wins where: it simulates releases over a grid
// of n, ε and covariates, runs the engines that share the exact posterior on each,
// and the published Gibbs kernel beside them.
//
//	go run ./bench/engines
//
// The table goes to stdout, in Markdown. It works on one core, one engine after the
// other, in CPU seconds of the process; a run that reaches the limit is cut, and the
// table says so. Progress goes to stderr.
//
//	go run ./bench/engines -method mcmc-ind -draws 10000 -prior prior.json -save DIR x.release.json
//
// runs one engine on a release, for bench/stan: its draws go to DIR, in Stan CSV and
// scaled units, and the CPU seconds of warm-up and of sampling to stdout, as JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/bench/program"
	"github.com/dpreg/dpreg/gibbs"
	"github.com/dpreg/dpreg/internal/cputime"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts/exact"
	"github.com/dpreg/dpreg/nuts/individual"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/ssp"
)

func main() { program.Main("engines", run) }

// settings are what the command line asks for.
type settings struct {
	limit               float64 // CPU seconds of a run's sampling
	plan                mcmc.Plan
	method, prior, save string
	release             string // a file; empty: the grid
}

func parse(stderr io.Writer, args []string) (*settings, error) {
	s := &settings{}
	f := flag.NewFlagSet("engines", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Float64Var(&s.limit, "limit", 0.5, "CPU `SECONDS` of sampling after which a run on the grid is cut")
	f.Uint64Var(&s.plan.Seed, "seed", 1, "seed of releases and chains, a `NUMBER`")
	f.IntVar(&s.plan.Chains, "chains", 2, "`NUMBER` of chains of a run")
	f.IntVar(&s.plan.Warmup, "warmup", 1000, "`NUMBER` of warm-up iterations of a chain")
	f.IntVar(&s.plan.Draws, "draws", 0, "`NUMBER` of draws of a chain; default: until -ess")
	f.Float64Var(&s.plan.ESS, "ess", 4000, "effective draws at which a run stops, a `NUMBER`")
	f.StringVar(&s.method, "method", engines[0].name, "of a release: `NAME` of the engine")
	f.StringVar(&s.prior, "prior", "", "of a release: prior `FILE`")
	f.StringVar(&s.save, "save", ".", "of a release: `DIR` for the draws")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 1 || !(s.limit > 0) {
		return nil, errors.New("one release file at most, and a -limit above 0")
	}
	s.release, s.plan.Workers = f.Arg(0), s.plan.Chains
	if s.plan.Draws > 0 {
		s.plan.ESS = 0
	}
	return s, nil
}

func run(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	s, err := parse(stderr, args)
	if err != nil {
		return err
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // all chains in turn on one core
	if s.release != "" {
		return s.one(ctx, stdout)
	}
	all := make(map[cell][]outcome)
	for _, c := range cells() {
		fmt.Fprintf(stderr, "p = %d, ε = %g, n = %d\n", c.p, c.epsilon, c.n)
		if all[c], err = s.race(ctx, c); err != nil {
			return fmt.Errorf("p = %d, ε = %g, n = %d: %w", c.p, c.epsilon, c.n, err)
		}
	}
	s.table(stdout, all)
	return nil
}

// one runs an engine on the release.
func (s *settings) one(ctx context.Context, stdout io.Writer) error {
	i := slices.IndexFunc(engines, func(e engine) bool { return e.name == s.method })
	if i < 0 {
		return fmt.Errorf("-method %q: there is none of this name", s.method)
	}
	r, err := release.ReadFile(s.release)
	if err != nil {
		return err
	}
	file, err := os.Open(s.prior)
	if err != nil {
		return err
	}
	defer file.Close()
	prior, err := model.ReadPrior(file, s.prior, &r.Schema)
	if err != nil {
		return err
	}
	s.limit = math.Inf(1)
	var o outcome
	if err := o.run(ctx, engines[i].method, &model.Problem{Releases: []*release.Release{r}, Prior: prior}, s); err != nil {
		return err
	}
	for chain := range o.draws.NumChains() {
		if err := write(o.draws, chain, filepath.Join(s.save, fmt.Sprintf("draws-%d.csv", chain+1))); err != nil {
			return err
		}
	}
	return json.NewEncoder(stdout).Encode(map[string]float64{"warmup": o.warmup, "sampling": o.sampling})
}

func write(draws *posterior.Draws, chain int, path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(draws.WriteStanCSV(file, chain, nil), file.Close())
}

// table writes what the outcomes say as Markdown: a row for each cell, a column for each
// engine.
func (s *settings) table(w io.Writer, all map[cell][]outcome) {
	fmt.Fprintf(w, "Effective draws a CPU second of sampling, the smallest over all parameters / of θ₁. Bold: the most of the engines that have the exact posterior.\n\n")
	fmt.Fprint(w, "| p | ε | n |")
	for _, e := range engines {
		fmt.Fprintf(w, " `%s` |", e.name)
	}
	fmt.Fprintf(w, "\n|%s\n", strings.Repeat("---|", 3+len(engines)))
	for _, c := range cells() {
		fmt.Fprintf(w, "| %d | %g | %d |", c.p, c.epsilon, c.n)
		most := 0.0
		for _, o := range all[c][:3] {
			most = max(most, o.least)
		}
		for i, o := range all[c] {
			fmt.Fprintf(w, " %s |", o.say(i < 3 && o.least == most))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "\n† a run was cut at %g CPU seconds of sampling; ‡ at %g of warm-up. – not run: n > %d.\n", s.limit, warmupShare*s.limit, mostIndividuals)
}

// say is a cell of the table.
func (o *outcome) say(best bool) string {
	switch {
	case o.left:
		return "–"
	case o.warmupCut:
		return "‡"
	}
	text := short(o.least) + " / " + short(o.slope)
	if best {
		text = "**" + text + "**"
	}
	if o.cut {
		text += "†"
	}
	return text
}

// short writes a number above 0 in two digits.
func short(x float64) string {
	if !(x > 0) {
		return "?"
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'e', 1, 64), 64)
	text := strconv.FormatFloat(rounded, 'f', int(max(0, 1-math.Floor(math.Log10(rounded)))), 64)
	if rounded >= 1000 {
		text = text[:len(text)-3] + "," + text[len(text)-3:]
	}
	return text
}

// cell is a place in the grid.
type cell struct {
	p, n    int
	epsilon float64
}

// The grid. It has more rows than columns and one more: statistics of fewer have no density,
// and there is one engine.
var (
	covariates = []int{1, 5}
	epsilons   = []float64{0.1, 1}
	rows       = []int{100, 10000}
)

func cells() (all []cell) {
	for _, p := range covariates {
		for _, epsilon := range epsilons {
			for _, n := range rows {
				all = append(all, cell{p, n, epsilon})
			}
		}
	}
	return all
}

// The streams of the random numbers, the same in every cell.
const (
	parameterStream = iota
	rowStream
	noiseStream
)

// problem simulates a release: parameters from the box prior, statistics of n
// rows by their exact law, and noise for ε.
func (c cell) problem(ctx context.Context, seed uint64) (*model.Problem, error) {
	shape := model.Shape{P: c.p, Intercept: true}
	prior, x, law := model.BoxPrior(shape), model.NewParams(shape), model.NewMoments(shape)
	model.NewConditionals(shape, prior, true).DrawPrior(x, mcmc.Stream(seed, parameterStream))
	law.Set(x)
	if !law.Factor() {
		return nil, errors.New("the parameters drawn have a covariance that is singular in float64; take another -seed")
	}
	v := make([]float64, shape.Statistics())
	law.RandExact(v, float64(c.n), mcmc.Stream(seed, rowStream))
	exact, err := ssp.FromVector(shape.M(), int64(c.n), v)
	if err != nil {
		return nil, err
	}
	privacy := release.Privacy{Epsilon: c.epsilon, Neighbours: release.ReplaceOne}
	noise := mechanisms.Simulated(mcmc.Stream(seed, noiseStream))
	r, err := ssp.Publish(ctx, exact, dpreg.UnitDesign(c.p), privacy, release.Laplace, ssp.Exact, noise)
	if err != nil {
		return nil, err
	}
	return &model.Problem{Releases: []*release.Release{r}, Prior: prior}, nil
}

// engine is one that is compared.
type engine struct {
	name   string
	method model.Method
}

// engines are those of the exact posterior, then another.
var engines = []engine{
	{"mcmc-exact", exact.Method{}},
	{"mcmc-ind", individual.Method{}},
	{"gibbs-ss-update", gibbs.Method{Moments: gibbs.Update}},
	{"--kernel plain", gibbs.Method{Moments: gibbs.Update, Kernel: gibbs.Plain}},
}

// mostIndividuals is the most rows on which mcmc-ind is run.
const mostIndividuals = 1000

// outcome is what one engine did on one release.
type outcome struct {
	left           bool    // not run
	warmupCut, cut bool    // by the limit: in warm-up, then there is nothing below; in sampling
	warmup         float64 // CPU seconds, of all chains
	sampling       float64
	draws          *posterior.Draws
	least, slope   float64 // effective draws a CPU second of sampling, the smaller of bulk and tail: over all parameters, of θ₁
}

// race runs the engines in turn on the release of a cell.
func (s *settings) race(ctx context.Context, c cell) (all []outcome, err error) {
	problem, err := c.problem(ctx, s.plan.Seed)
	if err != nil {
		return nil, err
	}
	for _, e := range engines {
		o := outcome{left: e.method == (individual.Method{}) && c.n > mostIndividuals}
		if !o.left {
			err = o.run(ctx, e.method, problem, s)
		}
		if err != nil {
			return nil, err
		}
		if o.draws != nil && !o.warmupCut {
			slope := o.draws.Column(o.draws.Index("theta[1]"))
			least, _ := o.draws.MinESS(1)
			o.least, o.slope = least/o.sampling, min(posterior.Of(slope).ESSBulk(), posterior.Of(slope).ESSTail())/o.sampling
		}
		o.draws = nil // of all cells they would fill the memory
		all = append(all, o)
	}
	return all, nil
}

// warmupShare is what warm-up may take: so many limits.
const warmupShare = 2

// fewest is the number of draws of a chain that say something.
const fewest = 20

// run runs the method twice from the same seed: to the first draw, and to the end.
// The difference of the CPU times is that of sampling.
func (o *outcome) run(ctx context.Context, m model.Method, problem *model.Problem, s *settings) (err error) {
	first := s.plan
	first.ESS, first.Draws = 0, 1
	if _, o.warmup, o.warmupCut, err = timed(ctx, m, problem, first, warmupShare*s.limit); err != nil || o.warmupCut {
		return err
	}
	whole := 0.0
	o.draws, whole, o.cut, err = timed(ctx, m, problem, s.plan, o.warmup+s.limit)
	o.sampling, o.warmupCut = whole-o.warmup, err == nil && o.draws.NumDraws() < fewest
	return err
}

// errLimit ends a run that takes too long.
var errLimit = errors.New("the limit of CPU seconds is reached")

// timed runs a method until its plan is done or a limit of CPU seconds is reached;
// the chains, as many as the plan's workers, have then come about as far as each
// other.
func timed(ctx context.Context, m model.Method, problem *model.Problem, plan mcmc.Plan, limit float64) (draws *posterior.Draws, seconds float64, cut bool, err error) {
	runtime.GC() // each run pays for its own garbage
	before := cputime.Used()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	plan.Progress = func(mcmc.Progress) {
		if (cputime.Used() - before).Seconds() > limit {
			cancel(errLimit)
		}
	}
	draws, err = m.Sample(ctx, problem, plan)
	if err != nil && context.Cause(ctx) == errLimit {
		cut, err = true, nil
	}
	return draws, (cputime.Used() - before).Seconds(), cut, err
}
