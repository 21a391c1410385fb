// Command engines runs one engine on a release, for bench/stan:
//
//	go run ./bench/engines -method mcmc-ind -draws 10000 -prior prior.json -save DIR x.release.json
//
// Its draws go to DIR, in Stan CSV and scaled units, and the CPU seconds of warm-up and of
// sampling to stdout, as JSON. Which engine wins where, go test ./nuts/exact -bench Engines says.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/bench/program"
	"github.com/dpreg/dpreg/internal/cputime"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
)

func main() { program.Main("engines", run) }

func run(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	plan := mcmc.Plan{}
	f := flag.NewFlagSet("engines", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Uint64Var(&plan.Seed, "seed", 1, "seed of the chains, a `NUMBER`")
	f.IntVar(&plan.Chains, "chains", 2, "`NUMBER` of chains")
	f.IntVar(&plan.Warmup, "warmup", 1000, "`NUMBER` of warm-up iterations of a chain")
	f.IntVar(&plan.Draws, "draws", 10000, "`NUMBER` of draws of a chain")
	method := f.String("method", "mcmc-exact", "`NAME` of the engine")
	prior := f.String("prior", "", "prior `FILE`")
	save := f.String("save", ".", "`DIR` for the draws")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() != 1 {
		return errors.New("it takes one release file")
	}
	methods := dpreg.Methods()
	i := slices.IndexFunc(methods, func(m model.Method) bool { return m.Name() == *method })
	if i < 0 {
		return fmt.Errorf("-method %q: there is none of this name", *method)
	}
	problem, err := read(f.Arg(0), *prior)
	if err != nil {
		return err
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // all chains in turn on one core
	plan.Workers = plan.Chains
	// Twice from the same seed, to the first draw and to the end: the difference is that of sampling.
	first := plan
	first.Draws = 1
	_, warmup, err := timed(ctx, methods[i], problem, first)
	if err != nil {
		return err
	}
	draws, whole, err := timed(ctx, methods[i], problem, plan)
	if err != nil {
		return err
	}
	for chain := range draws.NumChains() {
		file, err := os.Create(filepath.Join(*save, fmt.Sprintf("draws-%d.csv", chain+1)))
		if err == nil {
			err = errors.Join(draws.WriteStanCSV(file, chain, nil), file.Close())
		}
		if err != nil {
			return err
		}
	}
	return json.NewEncoder(stdout).Encode(map[string]float64{"warmup": warmup, "sampling": whole - warmup})
}

func read(path, prior string) (*model.Problem, error) {
	r, err := release.ReadFile(path)
	if err != nil {
		return nil, err
	}
	p, err := model.StatedPrior{File: prior}.For(&r.Schema, "")
	return &model.Problem{Releases: []*release.Release{r}, Prior: p}, err
}

// timed runs a method, and returns the CPU seconds of the process that it took.
func timed(ctx context.Context, m model.Method, problem *model.Problem, plan mcmc.Plan) (*posterior.Draws, float64, error) {
	runtime.GC() // each run pays for its own garbage
	before := cputime.Used()
	draws, err := m.Sample(ctx, problem, plan)
	return draws, (cputime.Used() - before).Seconds(), err
}
