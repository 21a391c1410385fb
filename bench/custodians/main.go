// Command custodians measures what a regression of several custodians is worth: it
// simulates releases of one regression, infers by each method, and says how far the
// posterior means lie from the truth, and how often 90 % intervals hold it.
//
//	go run ./bench/custodians -delta 1e-6
//
// With -delta noise is Gaussian, and methods that need it so are compared as well;
// without, it is Laplace's.
//
// Parameters are from the box prior, rows from the model: two covariates, no
// intercept, one law of the covariates for all. The tables go to stdout, in Markdown,
// progress to stderr. Interrupted, it writes the cases that it has.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, os.Stderr, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "custodians:", err)
		os.Exit(1)
	}
}

// settings are what the command line asks for.
type settings struct {
	rows, trials, draws int
	seed                uint64
	delta               float64 // 0: Laplace noise
	part                string  // of the names of cases to run
}

func parse(stderr io.Writer, args []string) (*settings, error) {
	s := &settings{}
	f := flag.NewFlagSet("custodians", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&s.rows, "n", 100_000, "`NUMBER` of rows of all custodians together")
	f.IntVar(&s.trials, "trials", 100, "`NUMBER` of simulated data sets of a case")
	f.IntVar(&s.draws, "draws", 1000, "`NUMBER` of draws of a chain, after 500 of warm-up; normalx: of each 20 times as many")
	f.Uint64Var(&s.seed, "seed", 1, "seed, a `NUMBER`")
	f.Float64Var(&s.delta, "delta", 0, "δ, a `NUMBER`: Gaussian noise, of all methods; default: Laplace noise, of those that take it")
	f.StringVar(&s.part, "case", "", "run the cases whose names have this `TEXT`; default: all")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	switch {
	case f.NArg() > 0:
		return nil, fmt.Errorf("%q is no flag", f.Arg(0))
	case !(s.delta >= 0 && s.delta < 1):
		return nil, errors.New("-delta from 0, below 1")
	case s.rows < 1000 || s.trials < 2 || s.draws < 10:
		return nil, errors.New("-n from 1000, -trials from 2, -draws from 10")
	}
	return s, nil
}

func run(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	s, err := parse(stderr, args)
	if err != nil {
		return err
	}
	var results []result
	for _, c := range s.cases() {
		if !strings.Contains(c.name, s.part) {
			continue
		}
		fmt.Fprintln(stderr, c.name)
		more, err := s.study(ctx, c)
		if ctx.Err() != nil {
			break // interrupted: what there is
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		results = append(results, more...)
	}
	s.tables(stdout, results)
	return nil
}

// tables are two, mean squared errors and coverage, a row for each case; then come the
// chains that warn at their longest.
func (s *settings) tables(w io.Writer, all []result) {
	noise := "Laplace noise"
	if s.delta > 0 {
		noise = fmt.Sprintf("Gaussian noise with δ = %g", s.delta)
	}
	fmt.Fprintf(w, "\nn = %d rows in all, %d data sets a case, %s, seed %d.\n", s.rows, s.trials, noise, s.seed)
	fmt.Fprint(w, "\nMean squared error of the posterior mean of θ, scaled units, and its standard error:\n\n")
	s.table(w, all, func(r result) string { return fmt.Sprintf("%.2g ± %.1g", r.square, r.squareError) })
	fmt.Fprint(w, "\nCoverage of 90 % intervals, in per cent, and their mean width:\n\n")
	s.table(w, all, func(r result) string { return fmt.Sprintf("%.0f (%.2g)", 100*r.coverage, r.width) })
	fmt.Fprint(w, "\nChains that warned, made longer or not:\n\n")
	for _, r := range all {
		if r.warned > 0 {
			fmt.Fprintf(w, "- %s, %s: %d\n", r.scenario, r.method, r.warned)
		}
	}
}

// table has a column for each method.
func (s *settings) table(w io.Writer, all []result, cell func(result) string) {
	methods := s.methods()
	fmt.Fprint(w, "| |")
	for _, m := range methods {
		fmt.Fprintf(w, " %s |", m.name)
	}
	fmt.Fprintf(w, "\n|---|%s", strings.Repeat("---|", len(methods)))
	for i, r := range all {
		if i%len(methods) == 0 {
			fmt.Fprintf(w, "\n| %s |", r.scenario)
		}
		fmt.Fprintf(w, " %s |", cell(r))
	}
	fmt.Fprintln(w)
}
