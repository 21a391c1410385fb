// Command custodians measures what a regression of several custodians is worth: it
// simulates releases of one regression, infers by each method, and says how far the
// posterior means lie from the truth, and how often 90 % intervals hold it.
//
//	go run ./bench/custodians -delta 1e-6 -plot custodians.svg
//
// With -delta noise is Gaussian, and methods that need it so are compared as well;
// without, it is Laplace's.
//
// Parameters are from the box prior, rows from the model: two covariates, no
// intercept, one law of the covariates for all but in the last case. The tables go to
// stdout, or take their marked place in a Markdown file. Progress goes to stderr.
// Interrupted, it writes the cases that it has.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"strconv"
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
	plot, markdown      string
	only                []string // methods; none: all
	part                string   // of the names of cases to run
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
	f.Func("eps", "the ε of custodians that are alike, a `LIST` with commas", parseEpsilons)
	f.Func("method", "a method to run, by `NAME`; repeatable; default: all", func(name string) error {
		s.only = append(s.only, name)
		return nil
	})
	f.StringVar(&s.part, "case", "", "run the cases whose names have this `TEXT`; default: all")
	f.StringVar(&s.plot, "plot", "", "`FILE`.svg for the picture")
	f.StringVar(&s.markdown, "md", "", "Markdown `FILE` that has a marked place for the tables")
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

func parseEpsilons(list string) error {
	epsilons = nil
	for _, word := range strings.Split(list, ",") {
		e, err := strconv.ParseFloat(word, 64)
		if err != nil || !(e > 0) || math.IsInf(e, 1) {
			return fmt.Errorf("%q is no number above 0", word)
		}
		epsilons = append(epsilons, e)
	}
	return nil
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
	return s.write(stdout, results)
}
