// Command adaptive says what a release in several steps gains on one of a single step: of the same
// rows both are made again and again, with simulated noise, and a method infers from them.
//
//	go run ./bench/adaptive -only red,pums -trials 12
//
// Of tables with a factor -by-level says what several looks by its levels gain on several looks at dummies,
// or on one look by levels.
//
// It runs in the root of the repository. Slopes of each fit go to stdout as it ends, in the data's
// units and comma-separated values, and then a table; an interrupt ends it with what is done.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/bench/program"
	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/parallel"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
)

func main() { program.Main("adaptive", run) }

// study is what the command line asks for.
type study struct {
	privacy       release.Privacy
	steps, trials int
	custodians    int // who pool all looks; 0: one makes them
	kinds         [2]kind
	resample      bool
	method        string
	plan          mcmc.Plan
	tables        []*rows
}

// kind is one of the two releases.
type kind struct {
	steps   int
	byLevel bool
}

func parse(ctx context.Context, stderr io.Writer, args []string) (*study, error) {
	s := &study{privacy: release.Privacy{Neighbours: release.ReplaceOne}, plan: mcmc.Plan{Workers: 1}}
	f := flag.NewFlagSet("adaptive", flag.ContinueOnError)
	f.SetOutput(stderr)
	only := f.String("only", "", "`NAMES` of populations, with commas between; default: all")
	f.Float64Var(&s.privacy.Epsilon, "eps", 1, "ε, a `NUMBER`")
	f.Float64Var(&s.privacy.Delta, "delta", 1e-6, "δ, a `NUMBER`; 0: pure ε")
	f.IntVar(&s.trials, "trials", 12, "`NUMBER` of releases of each kind")
	f.IntVar(&s.steps, "steps", 0, "`NUMBER` of steps that is compared with 1; 0: as many as --steps auto takes")
	f.IntVar(&s.custodians, "pool", 0, "`NUMBER` of custodians who add up their sums; 0: one has all rows")
	byLevel := f.String("by-level", "", "several looks by the levels of a table's factor are compared with several looks at `dummies`, or with one look by levels: one")
	wide := f.Float64("wide", 1, "bounds are so many `TIMES` as wide, on both sides")
	above := f.Float64("above", 1, "upper bounds are so many `TIMES` as far from lower ones")
	column := f.Int("column", 0, "`NUMBER` of the one covariate whose bounds these are, after them the response; 0: of all")
	f.BoolVar(&s.resample, "resample", false, "each trial has rows of its own, drawn from the table with replacement")
	f.StringVar(&s.method, "method", dpreg.DefaultMethod, "`NAME` of the method that infers")
	f.IntVar(&s.plan.Chains, "chains", 2, "`NUMBER` of chains of a fit")
	f.IntVar(&s.plan.Draws, "draws", 500, "`NUMBER` of draws of a chain, after as many of warm-up")
	if err := f.Parse(args); err != nil {
		return nil, err
	} else if f.NArg() > 0 || s.trials < 1 || !(*wide >= 1) || !(*above >= 1) || *column < 0 || s.steps < 0 || s.steps == 1 || s.plan.Draws < 1 {
		return nil, errors.New("it takes flags alone; a trial, a draw, two steps and bounds once as wide are the least")
	}
	several := kind{s.steps, *byLevel != ""}
	switch *byLevel {
	case "", "one":
		s.kinds = [2]kind{{1, several.byLevel}, several}
	case "dummies":
		s.kinds = [2]kind{{s.steps, false}, several}
	default:
		return nil, fmt.Errorf("-by-level %s: dummies or one", *byLevel)
	}
	names := strings.Split(*only, ",")
	s.plan.Warmup = s.plan.Draws
	for _, p := range populations {
		if *only != "" && !slices.Contains(names, p.name) || *only == "" && (p.levels != "") != several.byLevel {
			continue
		}
		if several.byLevel && p.levels == "" {
			return nil, fmt.Errorf("-by-level: %s has no factor", p.name)
		}
		r, err := p.rows()
		if err != nil {
			return nil, err
		}
		if *column > r.m-r.dummies {
			return nil, fmt.Errorf("-column %d: %s has %d columns of numbers", *column, p.name, r.m-r.dummies)
		}
		for i, v := range r.Rows {
			if at := i%r.m - r.dummies + 1; at > 0 && (*column == 0 || at == *column) { // of numbers, not of dummies
				r.Rows[i] = ((v+1) / *above - 1) / *wide
			}
		}
		if err := r.fit(ctx); err != nil {
			return nil, err
		}
		s.tables = append(s.tables, r)
	}
	if *only != "" && len(s.tables) != len(names) {
		return nil, fmt.Errorf("-only %s: not all of these are populations", *only)
	}
	return s, nil
}

func run(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	s, err := parse(ctx, stderr, args)
	if err != nil {
		return err
	}
	var one sync.Mutex
	done := make([][2][]fit, len(s.tables))
	fmt.Fprintln(stdout, "data,trial,steps,slope,truth,least_squares,se,by_sums,mean,sd,lower,upper,rhat")
	err = parallel.Each(ctx, 0, 2*s.trials*len(s.tables), nil, func(ctx context.Context, i int) error {
		trial, at, kind := i/2/len(s.tables), i/2%len(s.tables), i%2
		f, err := s.fit(ctx, s.tables[at], s.kinds[kind], trial)
		if err != nil {
			return fmt.Errorf("%s, trial %d, %+v: %w", s.tables[at].Name, trial, s.kinds[kind], err)
		}
		one.Lock()
		defer one.Unlock()
		done[at][kind] = append(done[at][kind], f)
		for j, b := range f.slopes {
			fmt.Fprintf(stdout, "%s,%d,%d,%d,%g,%g,%g,%g,%g,%g,%g,%g,%.3f\n", s.tables[at].Name, trial, f.steps, j+1, b.truth, b.plain, b.se, b.bySums, b.Mean, b.SD, b.Lower, b.Upper, f.rhat)
		}
		return nil
	})
	s.write(stdout, done)
	return err
}

// slope is a posterior; least squares of the table, and of the trial's rows; the error of these; and
// by how much a release's sums move them.
type slope struct {
	posterior.Parameter
	truth, plain, se, bySums float64
}

// fit is what is inferred from one release.
type fit struct {
	steps  int
	slopes []slope
	rhat   float64 // largest of all parameters
}

// fit makes a release of the table's rows, or of as many drawn from them, and infers from it.
func (s *study) fit(ctx context.Context, table *rows, kind kind, trial int) (f fit, err error) {
	r, rng := *table, stream(table.Name, 1+trial)
	if s.resample {
		r.Rows = nil
		for range len(table.Rows) / r.m {
			i := r.m * rng.IntN(len(table.Rows)/r.m)
			r.Rows = append(r.Rows, table.Rows[i:i+r.m]...)
		}
		if err := r.fit(ctx); err != nil {
			return f, err
		}
	}
	purpose, plan := fmt.Sprint(r.Name, s.privacy, kind.steps), s.plan
	order := custody.Order{Rows: r.Scaled, Design: r.design, Privacy: s.privacy, Steps: kind.steps}
	if kind.byLevel {
		order.ByLevel = r.factor
		purpose += " by level"
	}
	order.Entropy = mechanisms.Simulated(stream(purpose, 2*trial))
	var published *release.Release
	if s.custodians == 0 {
		published, err = custody.Publish(ctx, order)
	} else {
		published, err = pooled(ctx, order, r.Scaled, s.custodians)
	}
	if err != nil {
		return f, err
	}
	plan.Seed = stream(purpose, 2*trial+1).Uint64()
	inferred, err := dpreg.Infer(ctx, dpreg.One(published), dpreg.Options{Method: s.method, Plan: plan})
	if err != nil {
		return f, err
	}
	f.steps = len(published.Looks())
	parameters := posterior.Summarise(inferred.Draws(dpreg.Original), 0.95).Parameters
	for _, p := range parameters {
		f.rhat = max(f.rhat, p.RHat)
	}
	moved, err := r.moved(published)
	if err != nil {
		return f, err
	}
	for j := 1; j < r.m; j++ {
		f.slopes = append(f.slopes, slope{parameters[j], table.theta[j], r.theta[j], r.se[j], moved[j]})
	}
	return f, nil
}

// write writes the table of errors, widths and prices: medians over slopes of medians over trials.
func (s *study) write(w io.Writer, done [][2][]fit) {
	fmt.Fprintf(w, "\nε = %g, δ = %g\n\n| data | n | steps | trials | error | of the sums | width | price | holds that of the rows, %% | of the table, %% | R-hat > %g, %% |\n|%s\n",
		s.privacy.Epsilon, s.privacy.Delta, calibration.RHatLimit, strings.Repeat("---|", 11))
	for i, r := range s.tables {
		if a, b := done[i][0], done[i][1]; min(len(a), len(b)) == 0 {
			continue
		} else if r.dummies == 0 {
			r.write(w, r.Name, a, b)
		} else {
			slopes := func(f fit) fit { f.slopes = f.slopes[r.dummies:]; return f }
			levels := func(f fit) fit { f.slopes = f.slopes[:r.dummies]; return f }
			r.write(w, r.Name+", slopes", each(a, slopes), each(b, slopes))
			r.write(w, r.Name+", levels", each(a, levels), each(b, levels))
		}
	}
}

func each(fits []fit, of func(fit) fit) (out []fit) {
	for _, f := range fits {
		out = append(out, of(f))
	}
	return out
}

// write writes a line of it.
func (r *rows) write(w io.Writer, name string, a, b []fit) {
	smaller := func(f func(slope) float64) float64 {
		ratios := medians(a, f)
		for j, v := range medians(b, f) {
			ratios[j] /= v
		}
		return median(ratios)
	}
	fmt.Fprintf(w, "| %s | %d | %d → %d | %d | ÷ %.2g | ÷ %.2g | ÷ %.2g |", name, len(r.Rows)/r.m, a[0].steps, b[0].steps, min(len(a), len(b)),
		smaller(func(b slope) float64 { return math.Abs(b.Mean - b.plain) }), smaller(func(b slope) float64 { return math.Abs(b.bySums) }), smaller(func(b slope) float64 { return b.Upper - b.Lower }))
	price := func(b slope) float64 { return b.SD / b.se }
	fmt.Fprintf(w, " %.3g → %.3g |", median(medians(a, price)), median(medians(b, price)))
	for _, is := range []func(fit, slope) bool{
		func(_ fit, b slope) bool { return b.Lower <= b.plain && b.plain <= b.Upper },
		func(_ fit, b slope) bool { return b.Lower <= b.truth && b.truth <= b.Upper },
		func(f fit, _ slope) bool { return !(f.rhat <= calibration.RHatLimit) },
	} {
		fmt.Fprintf(w, " %.0f → %.0f |", percent(a, is), percent(b, is))
	}
	fmt.Fprintln(w)
}

// medians are those over fits, by slope.
func medians(fits []fit, of func(slope) float64) []float64 {
	all, v := make([]float64, len(fits[0].slopes)), make([]float64, len(fits))
	for j := range all {
		for i, f := range fits {
			v[i] = of(f.slopes[j])
		}
		all[j] = median(v)
	}
	return all
}

func median(v []float64) float64 {
	slices.Sort(v)
	return posterior.Quantile(v, 0.5)
}

// percent says of how many slopes something is so.
func percent(fits []fit, is func(fit, slope) bool) float64 {
	so, all := 0, 0
	for _, f := range fits {
		so += 100 * len(slices.DeleteFunc(slices.Clone(f.slopes), func(b slope) bool { return !is(f, b) }))
		all += len(f.slopes)
	}
	return float64(so) / float64(all)
}
