// Command federated compares two ways to learn one linear regression from clients that
// keep their rows, on UCI's Adult data: one release from each, and partitioned
// variational inference (DP-PVI).
//
//	go run ./bench/federated -plot federated.svg DIR
//
// DIR holds adult.data, whose rows are dealt to the clients anew for each seed, and
// adult.test, whose rows are predicted. Noise is simulated. The table goes to stdout, or
// takes its marked place in a Markdown file; progress goes to stderr. Interrupted, it
// writes the cases that it has.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, os.Stderr, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "federated:", err)
		os.Exit(1)
	}
}

// The grid. The public δ is below one over the rows of any client.
var (
	epsilons   = []float64{0.1, 0.5, 1, 5}
	partitions = []partition{
		{"5, alike", 5, 0},
		{"10, half of them small", 10, 0.7},
	}
)

const delta = 1e-5

func run(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	f := flag.NewFlagSet("federated", flag.ContinueOnError)
	f.SetOutput(stderr)
	seeds := f.Int("seeds", 5, "`NUMBER` of partitions and of noises")
	markdown := f.String("md", "", "Markdown `FILE` that has a marked place for the table")
	picture := f.String("plot", "", "`FILE`.svg for the picture")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() != 1 || *seeds < 2 {
		return errors.New("one directory, of adult.data and adult.test, and at least 2 -seeds")
	}
	train, err := read(f.Arg(0), "adult.data")
	if err != nil {
		return err
	}
	test, err := read(f.Arg(0), "adult.test")
	if err != nil {
		return err
	}
	pooled, err := pool(ctx, train)
	if err != nil {
		return err
	}
	results := []result{{method: "non-private, pooled", scores: []score{pooled.score(pooled, test)}}}
	for _, p := range partitions {
		for _, epsilon := range epsilons {
			fmt.Fprintf(stderr, "%s clients, ε = %g\n", p.name, epsilon)
			more, err := study(ctx, p, epsilon, *seeds, train, test, pooled)
			if ctx.Err() != nil {
				return write(stdout, results, *markdown, *picture, *seeds) // interrupted: what there is
			}
			if err != nil {
				return fmt.Errorf("%s clients, ε = %g: %w", p.name, epsilon, err)
			}
			results = append(results, more...)
		}
	}
	return write(stdout, results, *markdown, *picture, *seeds)
}

// result is a method's in a case.
type result struct {
	partition string
	epsilon   float64
	method    string
	scores    []score // of each seed
	traffic
	seconds float64 // the mean
}

// traffic is what passes between clients and the server.
type traffic struct{ rounds, bytes int }

// study runs a case by all methods.
func study(ctx context.Context, p partition, epsilon float64, seeds int, train, test [][]float64, pooled *law) (results []result, err error) {
	for _, m := range methods {
		results = append(results, result{partition: p.name, epsilon: epsilon, method: m.name})
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(uint64(seed), 1))
		clients := p.deal(train, rng)
		for i, m := range methods {
			r := &results[i]
			start := time.Now()
			l, t, err := m.learn(ctx, clients, task{epsilon, pooled, rng})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.name, err)
			}
			r.seconds += time.Since(start).Seconds() / float64(seeds)
			r.scores, r.traffic = append(r.scores, l.score(pooled, test)), t
		}
	}
	return results, nil
}
