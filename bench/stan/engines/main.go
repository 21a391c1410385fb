//go:build unix

// Command engines samples from the posterior of a release and says how many CPU
// seconds warm-up and sampling took: dpreg's side of the comparison with Stan.
//
//	engines -method gibbs-ss-update -prior prior.json -save DIR x.release.json
//
// It runs twice from the same seed: to the end, and to the first draw. The
// difference of their CPU times is that of sampling. The draws go to DIR, in Stan
// CSV and scaled units, and the times to stdout, as JSON.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "engines:", err)
		os.Exit(1)
	}
}

// seconds are CPU seconds of this process, summed over the chains.
type seconds struct {
	Warmup   float64 `json:"warmup"`
	Sampling float64 `json:"sampling"`
}

func run(stdout io.Writer, args []string) error {
	flags := flag.NewFlagSet("engines", flag.ContinueOnError)
	options := dpreg.Options{Plan: mcmc.Plan{Workers: 1}}
	plan := &options.Plan
	flags.StringVar(&options.Method, "method", dpreg.DefaultMethod, "`NAME` of the method")
	flags.IntVar(&plan.Chains, "chains", 4, "`NUMBER` of chains, one after the other")
	flags.IntVar(&plan.Warmup, "warmup", 1000, "`NUMBER` of warm-up iterations of each chain")
	flags.IntVar(&plan.Draws, "draws", 1000, "`NUMBER` of draws kept of each chain")
	flags.Uint64Var(&plan.Seed, "seed", 1, "seed of the chains, a `NUMBER`")
	prior := flags.String("prior", "", "prior `FILE`")
	save := flags.String("save", ".", "`DIR` for the draws")
	if err := flags.Parse(args); err != nil {
		return err
	}
	r, err := release.ReadFile(flags.Arg(0))
	if err != nil {
		return err
	}
	if options.Prior, err = readPrior(*prior, r); err != nil {
		return err
	}
	fit, whole, err := timed(r, options)
	if err != nil {
		return err
	}
	plan.Draws = 1
	_, warmup, err := timed(r, options)
	if err != nil {
		return err
	}
	if err := write(fit, *save); err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(seconds{Warmup: warmup, Sampling: whole - warmup})
}

func readPrior(path string, r *release.Release) (*model.Prior, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return model.ReadPrior(file, path, &r.Schema)
}

// timed infers, and returns the CPU seconds that this took.
func timed(r *release.Release, o dpreg.Options) (*dpreg.Fit, float64, error) {
	runtime.GC() // each run pays for its own garbage
	before, err := cpu()
	if err != nil {
		return nil, 0, err
	}
	fit, err := dpreg.Infer(context.Background(), dpreg.One(r), o)
	if err != nil {
		return nil, 0, err
	}
	after, err := cpu()
	return fit, (after - before).Seconds(), err
}

// cpu is the CPU time of this process so far, its own and the system's for it.
func cpu() (time.Duration, error) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}

// write saves a file of draws for each chain.
func write(fit *dpreg.Fit, dir string) error {
	draws := fit.StanDraws(dpreg.Scaled)
	for chain := range draws.NumChains() {
		file, err := os.Create(filepath.Join(dir, fmt.Sprintf("draws-%d.csv", chain+1)))
		if err != nil {
			return err
		}
		if err := draws.WriteStanCSV(file, chain, nil); err != nil {
			return err
		}
		if err := file.Close(); err != nil {
			return err
		}
	}
	return nil
}
