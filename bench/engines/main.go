//go:build unix

// Command engines says which engine wins where: it simulates releases over a grid
// of n, ε and covariates, runs the engines that share the exact posterior on each,
// and the published Gibbs kernel beside them.
//
//	go run ./bench/engines -md docs/engines.md -plot engines.svg -csv engines.csv
//
// The tables go to stdout, or take their marked place in a Markdown file. It works
// on one core, one engine after the other, in CPU seconds of the process; a run
// that reaches the limit is cut, and the tables say so. Progress goes to stderr.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"

	"github.com/dpreg/dpreg/mcmc"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, os.Stderr, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "engines:", err)
		os.Exit(1)
	}
}

// settings are what the command line asks for.
type settings struct {
	rows, epsilons, covariates []float64
	releases                   int
	seed                       uint64
	individual                 float64 // most rows of mcmc-ind
	limit                      float64 // CPU seconds of a run's sampling
	plan, reference            mcmc.Plan
	csv, plot, markdown        string
}

func parse(stderr io.Writer, args []string) (*settings, error) {
	s := &settings{rows: []float64{10, 30, 100, 1000, 10000}, epsilons: []float64{0.1, 1, 10}, covariates: []float64{1, 3, 5, 10}}
	f := flag.NewFlagSet("engines", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Var((*numbers)(&s.rows), "n", "numbers of rows, a `LIST`")
	f.Var((*numbers)(&s.epsilons), "eps", "privacy budgets, a `LIST`")
	f.Var((*numbers)(&s.covariates), "p", "numbers of covariates, a `LIST`")
	f.IntVar(&s.releases, "releases", 2, "`NUMBER` of simulated releases of a cell")
	f.Uint64Var(&s.seed, "seed", 1, "seed of releases and chains, a `NUMBER`")
	f.Float64Var(&s.individual, "individual", 1000, "most rows on which mcmc-ind is run, a `NUMBER`")
	f.Float64Var(&s.limit, "limit", 2, "CPU `SECONDS` of sampling after which a run is cut")
	f.IntVar(&s.plan.Chains, "chains", 2, "`NUMBER` of chains of a run")
	f.IntVar(&s.plan.Warmup, "warmup", 1000, "`NUMBER` of warm-up iterations of a chain")
	f.Float64Var(&s.plan.ESS, "ess", 4000, "effective draws at which a run stops, a `NUMBER`")
	f.Float64Var(&s.reference.ESS, "reference", 10000, "effective draws of the reference, a `NUMBER`")
	f.StringVar(&s.csv, "csv", "", "`FILE` for a line of each run")
	f.StringVar(&s.plot, "plot", "", "`FILE`.svg for the picture")
	f.StringVar(&s.markdown, "md", "", "Markdown `FILE` that has a marked place for the tables")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("%q is no flag", f.Arg(0))
	}
	if s.releases < 1 || !(s.limit > 0) {
		return nil, errors.New("-releases and -limit need a number above 0")
	}
	s.plan.Seed, s.plan.Workers = s.seed, s.plan.Chains
	s.reference.Chains, s.reference.Warmup, s.reference.Workers = 4, s.plan.Warmup, 4
	s.reference.Seed = s.seed + 1
	return s, nil
}

// numbers is a flag's comma-separated list.
type numbers []float64

func (l *numbers) String() string { return fmt.Sprint(*l) }

func (l *numbers) Set(text string) error {
	*l = nil
	for _, word := range strings.Split(text, ",") {
		v, err := strconv.ParseFloat(word, 64)
		if err != nil || !(v > 0) {
			return fmt.Errorf("%q is no number above 0", word)
		}
		*l = append(*l, v)
	}
	return nil
}

func run(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	s, err := parse(stderr, args)
	if err != nil {
		return err
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // all chains in turn on one core
	var all []outcome
	for _, c := range s.cells() {
		fmt.Fprintf(stderr, "p = %d, ε = %g, n = %d\n", c.p, c.epsilon, c.n)
		for k := range s.releases {
			more, err := s.race(ctx, c, k)
			if err != nil {
				return fmt.Errorf("p = %d, ε = %g, n = %d, release %d: %w", c.p, c.epsilon, c.n, k+1, err)
			}
			all = append(all, more...)
		}
	}
	return s.write(stdout, all)
}
