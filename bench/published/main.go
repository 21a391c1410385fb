// Command published repeats published experiments with variational inference under
// differential privacy, and compares it (federated), and other published methods for several
// custodians, with what is inferred from releases:
//
//	go run ./bench/published abalone abalone.data       # Jälkö, Dikmen & Honkela 2017
//	go run ./bench/published hierarchical               # d3p: Prediger et al. 2022
//	go run ./bench/published mixture                    # the same
//	go run ./bench/published -seeds 1 vae DIR           # the same
//	go run ./bench/published workshop-A DIR             # and -B, -C, -D: Sharma et al. 2019
//	go run ./bench/published -seeds 500 thesis-dataset  # Sharma's thesis, 2019
//	go run ./bench/published -seeds 100 thesis-datapoint
//	go run ./bench/published -seed 0 federated DIR
//	go run ./bench/published -seed 0 -seeds 60 custodians   # and custodians-gaussian, secure-sum
//
// abalone.data is UCI's file, and DIR a directory with UCI's adult.data and adult.test.
// With -only TEXT, settings that do not begin with it are left out. The table goes to
// stdout, and the settings, as they are begun, to stderr.
//
// Data are public or simulated, and so is all noise: results are repeated from a seed, and
// nothing is private. README.md has what comes out.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"text/tabwriter"

	"gonum.org/v1/gonum/stat"

	"github.com/dpreg/dpreg/bench/program"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/vi/pvi"
)

func main() { program.Main("published", run) }

// source is where a study's data come from.
type source struct {
	path        string
	seed, split uint64 // of what is simulated, and of what tells rows to train from those to test
	pictures    string // a folder, where they are asked for
}

// studies are by name. Those that need a file or a directory say which.
var studies = map[string]struct {
	needs string
	open  func(source) (*study, error)
}{
	"abalone":             {"UCI's abalone.data", abaloneStudy},
	"hierarchical":        {"", groupsStudy},
	"mixture":             {"", clustersStudy},
	"vae":                 {needsImages, vaeStudy},
	"workshop-A":          {needsAdult, workshopStudy("A")},
	"workshop-B":          {needsAdult, workshopStudy("B")},
	"workshop-C":          {needsAdult, workshopStudy("C")},
	"workshop-D":          {needsAdult, workshopStudy("D")},
	"thesis-dataset":      {"", thesisDataset},
	"thesis-datapoint":    {"", thesisDatapoint},
	"federated":           {needsAdult, federatedStudy},
	"custodians":          {"", custodiansStudy(0)},
	"custodians-gaussian": {"", custodiansStudy(1e-6)},
	"secure-sum":          {"", secureSumStudy},
}

const needsAdult = "a directory with UCI's adult.data and adult.test"

func run(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	f := flag.NewFlagSet("published", flag.ContinueOnError)
	f.SetOutput(stderr)
	seeds := f.Int("seeds", 5, "`NUMBER` of runs of each setting")
	seed := f.Uint64("seed", 1, "seed of the first run, a `NUMBER`; the next has the next")
	split := f.Uint64("split", 0, "workshop: seed of the permutation that divides rows into those to train and to test, a `NUMBER`")
	pictures := f.String("pictures", "", "vae: write images drawn from the model into `DIR`, which exists; default: none")
	only := f.String("only", "", "run settings that begin with `TEXT`; default: all")
	if err := f.Parse(args); err != nil {
		return err
	}
	s, ok := studies[f.Arg(0)]
	switch {
	case !ok:
		return fmt.Errorf("%q is no experiment: go doc ./bench/published lists them", f.Arg(0))
	case s.needs != "" && f.NArg() != 2:
		return fmt.Errorf("%s needs %s", f.Arg(0), s.needs)
	case s.needs == "" && f.NArg() != 1:
		return fmt.Errorf("%s needs no data", f.Arg(0))
	case *seeds < 1:
		return fmt.Errorf("-seeds %d: at least 1", *seeds)
	}
	opened, err := s.open(source{f.Arg(1), *seed, *split, *pictures})
	if err != nil {
		return err
	}
	return opened.run(ctx, stdout, stderr, *seed, *seeds, *only)
}

// study is settings, each of which is run with every seed.
type study struct {
	intro    string
	settings []string // names of what tells settings apart
	header   []string // names of what is shown of all runs of a setting
	arms     []arm
}

// arm is a setting.
type arm struct {
	values []string
	run    func(ctx context.Context, seed uint64) ([]float64, error) // measures
	show   func(runs [][]float64) []string
}

func (s *study) run(ctx context.Context, stdout, stderr io.Writer, seed uint64, seeds int, only string) error {
	fmt.Fprintf(stdout, "%s\n\n", s.intro)
	out := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, strings.Join(append(s.settings, s.header...), "\t"))
	for _, a := range s.arms {
		name := strings.Join(a.values, " ")
		if !strings.HasPrefix(name, only) {
			continue
		}
		fmt.Fprintln(stderr, name)
		var runs [][]float64
		for k := range seeds {
			measured, err := a.run(ctx, seed+uint64(k))
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			runs = append(runs, measured)
		}
		fmt.Fprintln(out, strings.Join(append(a.values, a.show(runs)...), "\t"))
	}
	return out.Flush()
}

func column(runs [][]float64, measure int) []float64 {
	values := make([]float64, len(runs))
	for k := range runs {
		values[k] = runs[k][measure]
	}
	return values
}

// meanSD is mean ± standard deviation, or the one value.
func meanSD(values []float64, digits int) string {
	if len(values) == 1 {
		return fmt.Sprintf("%.*f", digits, values[0])
	}
	mean, sd := stat.MeanStdDev(values, nil)
	return fmt.Sprintf("%.*f ± %.*f", digits, mean, digits, sd)
}

// one is an arm with one measure.
func one(run func(context.Context, uint64) (float64, error), values ...string) arm {
	return arm{values, func(ctx context.Context, seed uint64) ([]float64, error) {
		v, err := run(ctx, seed)
		return []float64{v}, err
	}, func(runs [][]float64) []string { return []string{meanSD(column(runs, 0), 4)} }}
}

// simulated is randomness that a seed repeats.
func simulated(seed, stream uint64) *mechanisms.Entropy {
	return mechanisms.Simulated(rand.New(rand.NewPCG(seed, stream)))
}

// serve starts a server of clients with these rules.
func serve(f pvi.Family, prior []float64, damping float64, updates int, rules ...pvi.Rule) (*pvi.Server, error) {
	clients := make([]pvi.Client, len(rules))
	for m, rule := range rules {
		var err error
		if clients[m], err = pvi.NewLocal(rule, damping, updates); err != nil {
			return nil, fmt.Errorf("client %d: %w", m+1, err)
		}
	}
	return pvi.NewServer(f, prior, clients)
}
