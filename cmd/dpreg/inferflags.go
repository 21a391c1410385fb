package main

import (
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/gibbs"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/nuts/individual"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// nonPrivate is the method that needs rows, so that only fit has it.
const nonPrivate = "non-private"

// inferFlags are the flags of what samples and reports: infer and fit.
type inferFlags struct {
	priorFlags
	method, kernel, format, units string

	covariates, pooling string // of several releases
	sameRows            bool
	differ              string // how their bounds do, in words; empty: they do not

	save, plots string // directories to write to
	pageFlag

	chains, warmup, draws int
	drawsSet, essSet      bool
	whatIf, clamping      bool
	ess, level            float64
	seed                  uint64
}

func (f *inferFlags) register(cmd *cobra.Command) {
	f.registerSampler(cmd)
	f.registerDraws(cmd)
	fs := cmd.Flags()
	fs.StringVar(&f.save, "save", "", "write the draws (Stan CSV, a file a chain), the release and summary.json to this `DIR`")
	fs.StringVar(&f.plots, "plots", "", "draw posterior against prior, traces, ranks and pairs into this `DIR`, as SVG and as PNG")
	f.pageFlag.register(cmd)
	f.registerFormat(cmd)
	fs.StringVar(&f.units, "units", string(dpreg.Original), "`NAME`: original, the data's units, or scaled, with bounds at -1 and 1")
	f.registerLevel(cmd)
	fs.BoolVar(&f.whatIf, "what-if", false, whatIfUsage)
	oneOf(cmd, "units", string(dpreg.Original), string(dpreg.Scaled))
}

func (f *inferFlags) registerDraws(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.draws, "draws", 0, "`NUMBER` of draws kept of each chain (default: as many as --ess needs)")
}

func (f *inferFlags) registerFormat(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.format, "format", "table", "`NAME` of the format on stdout: table, json or csv")
	oneOf(cmd, "format", "table", "json", "csv")
}

func (f *inferFlags) registerLevel(cmd *cobra.Command) {
	cmd.Flags().Float64Var(&f.level, "level", posterior.DefaultLevel, "probability of the intervals, a `NUMBER` between 0 and 1")
}

// registerSampler registers what says how to sample, and not what is shown: predict
// and check have these, too.
func (f *inferFlags) registerSampler(cmd *cobra.Command) {
	plan, fs := dpreg.DefaultPlan(), cmd.Flags()
	f.priorFlags.register(cmd)
	f.format, f.units, f.level = "table", string(dpreg.Original), posterior.DefaultLevel
	fs.StringVar(&f.method, "method", dpreg.DefaultMethod, "`NAME` of the method: "+strings.Join(methods(cmd), ", "))
	fs.BoolVar(&f.clamping, "model-clamping", false, "let the rows be unbounded, and the sums be those of the clamped rows (mcmc-ind)")
	fs.IntVar(&f.chains, "chains", plan.Chains, "`NUMBER` of chains")
	fs.IntVar(&f.warmup, "warmup", plan.Warmup, "`NUMBER` of warm-up iterations of each chain")
	fs.Float64Var(&f.ess, "ess", plan.ESS, "sample until the effective sample size of every parameter is this `NUMBER`")
	fs.Uint64Var(&f.seed, "seed", plan.Seed, "seed of the chains, a `NUMBER`; noise of a release cannot be seeded")
	fs.StringVar(&f.kernel, "kernel", "", "advanced: `NAME` of the kernel of a method gibbs-ss-, exact or plain (as published; for studies)")
	oneOf(cmd, "method", methods(cmd)...)
	oneOf(cmd, "kernel", string(gibbs.Exact), string(gibbs.Plain))
}

// methods lists the methods of a command.
func methods(cmd *cobra.Command) []string {
	names := []string{dpreg.Auto}
	for _, m := range dpreg.Methods() {
		names = append(names, m.Name())
	}
	if cmd.Name() == "fit" {
		names = append(names, nonPrivate)
	}
	return names
}

// check checks what needs no file, and must come before anything is spent.
func (f *inferFlags) check(cmd *cobra.Command) error {
	f.drawsSet, f.essSet = cmd.Flags().Changed("draws"), cmd.Flags().Changed("ess")
	if err := f.pageFlag.check(cmd); err != nil {
		return err
	}
	return f.checkChoices(cmd)
}

// checkChoices is check for flags some of which a command may not have.
func (f *inferFlags) checkChoices(cmd *cobra.Command) error {
	for _, choice := range []struct {
		flag, got string
		words     []string
	}{
		{"method", f.method, methods(cmd)},
		{"kernel", f.kernel, []string{"", string(gibbs.Exact), string(gibbs.Plain)}},
		{"format", f.format, []string{"table", "json", "csv"}},
		{"units", f.units, []string{string(dpreg.Original), string(dpreg.Scaled)}},
	} {
		if err := choose(choice.flag, choice.got, choice.words); err != nil {
			return err
		}
	}
	if err := f.priorFlags.parse(); err != nil {
		return err
	}
	auto := f.method == dpreg.Auto
	switch {
	case f.kernel != "" && !auto && !dpreg.Traits(f.method).Kernels:
		return usagef("--kernel: method %s has no choice of kernel", f.method)
	case f.clamping && !auto && !dpreg.Traits(f.method).Clamping:
		return usagef("--model-clamping: method %s cannot model clamping, %s can", f.method, individual.Method{}.Name())
	case f.clamping && f.kernel != "":
		return usagef("--model-clamping and --kernel exclude each other: no method has both")
	}
	if !(f.level > 0 && f.level < 1) {
		return usagef("--level %v: it must lie between 0 and 1, as 0.95 does", f.level)
	}
	if err := f.checkWhatIf(); err != nil {
		return err
	}
	return f.checkPlan()
}

func choose(flag, got string, words []string) error {
	for _, w := range words {
		if got == w {
			return nil
		}
	}
	if flag == "method" && got == nonPrivate {
		return usagef("--method %s needs the rows, and a release has none: use `dpreg fit --method %s --i-hold-the-data DATA.csv`", nonPrivate, nonPrivate)
	}
	return usagef("--%s %q: choose one of %s", flag, got, strings.Join(nonEmpty(words), ", "))
}

func nonEmpty(words []string) []string {
	if words[0] == "" {
		return words[1:]
	}
	return words
}

// Limits beyond which a number is a slip of the keyboard: memory would not do.
const (
	maxChains = 1000
	maxDraws  = 10_000_000
)

func (f *inferFlags) checkPlan() error {
	switch {
	case f.drawsSet && f.essSet:
		return usagef("--draws and --ess exclude each other: one fixes the number of draws, the other finds it")
	case f.chains < 1 || f.chains > maxChains:
		return usagef("--chains %d: from 1 to %d", f.chains, maxChains)
	case f.warmup < 1 || f.warmup > maxDraws:
		return usagef("--warmup %d: from 1 to %d", f.warmup, maxDraws)
	case f.drawsSet && (f.draws < 1 || f.draws > maxDraws):
		return usagef("--draws %d: from 1 to %d", f.draws, maxDraws)
	case !(f.ess > 0) || math.IsInf(f.ess, 1):
		return usagef("--ess %v: it must be a positive number", f.ess)
	}
	return nil
}

// options turns flags that check passed into those of dpreg.Infer. keep is what
// the run reads or pays for beside the prior. The default prior is that for the releases.
func (f *inferFlags) options(d *schema.Design, keep inputs, releases ...*release.Release) (dpreg.Options, error) {
	o := dpreg.Options{
		Method:        f.method,
		Kernel:        f.kernel,
		ModelClamping: f.clamping,
		Covariates:    f.covariates,
		Pooling:       f.pooling,
		SameRows:      f.sameRows,
		Plan:          mcmc.Plan{Chains: f.chains, Warmup: f.warmup, ESS: f.ess, Seed: f.seed},
	}
	if f.drawsSet {
		o.Plan.Draws, o.Plan.ESS = f.draws, 0
	}
	err := f.checkOutputs(append(keep, f.prior))
	if err != nil {
		return o, err
	}
	o.Prior, err = f.priorFlags.read(d, f.differ, releases...)
	return o, usage(err)
}

// checkOutputs looks, before anything is spent, whether what is asked for can be
// written.
func (f *inferFlags) checkOutputs(keep inputs) error {
	if err := f.checkSave(keep); err != nil {
		return err
	}
	if _, err := checkDir(f.plots, f.plotFiles(), keep); err != nil {
		return within("--plots", err)
	}
	return f.writable(keep)
}
