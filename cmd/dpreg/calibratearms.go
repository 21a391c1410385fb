package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/gibbs"
	"github.com/dpreg/dpreg/nuts/individual"
)

// modelsClamping is the method that can.
var modelsClamping = individual.Method{}.Name()

// arms takes --method, --kernel and --sensitivity.
func (f *calibrateFlags) arms(_ *cobra.Command, d *calibration.Design) error {
	if f.method == "" && f.kernel == "" && f.sensitivity == "" {
		return nil
	}
	list := func(flag, text string, words []string, otherwise []string) ([]string, error) {
		if text == "" {
			return otherwise, nil
		}
		var list []string
		for word := range strings.SplitSeq(text, ",") {
			if err := choose(flag, strings.TrimSpace(word), words); err != nil {
				return nil, err
			}
			list = append(list, strings.TrimSpace(word))
		}
		return list, nil
	}
	var methods, kernels, sensitivities []string
	for _, a := range d.Arms {
		methods, kernels, sensitivities = addNew(methods, a.Method), addNew(kernels, a.Kernel), addNew(sensitivities, a.Sensitivity)
	}
	var err error
	if methods, err = f.methods(methods); err != nil {
		return err
	}
	if kernels == nil { // no method has a choice yet
		kernels = exactKernel
	}
	if kernels, err = list("kernel", f.kernel, []string{string(gibbs.Exact), string(gibbs.Plain)}, kernels); err != nil {
		return err
	}
	if sensitivities, err = list("sensitivity", f.sensitivity, []string{calibration.ExactSensitivity, calibration.PaperSensitivity}, sensitivities); err != nil {
		return err
	}
	d.Arms = calibration.Arms(methods, kernels, sensitivities)
	if d.Population != nil {
		d.Arms = calibration.PopulationArms(methods, kernels, sensitivities)
	}
	return nil
}

// methods parses --method; `choose` would send non-private to fit.
func (f *calibrateFlags) methods(otherwise []string) ([]string, error) {
	if f.method == "" {
		return otherwise, nil
	}
	var list []string
	for word := range strings.SplitSeq(f.method, ",") {
		list = addNew(list, strings.TrimSpace(word))
	}
	return list, nil
}

// addNew appends a word that is neither empty nor there.
func addNew(list []string, word string) []string {
	for _, w := range list {
		if w == word {
			return list
		}
	}
	if word == "" {
		return list
	}
	return append(list, word)
}

// runs takes --chains, --warmup, --draws, --ess and --model-clamping.
func (f *calibrateFlags) runs(cmd *cobra.Command, d *calibration.Design) error {
	given := cmd.Flags().Changed
	if f.modelClamping && !slices.ContainsFunc(d.Arms, func(a calibration.Arm) bool { return a.Method == modelsClamping }) {
		return usagef("--model-clamping: %s alone can; give --method %s", modelsClamping, modelsClamping)
	}
	if given("draws") && given("ess") {
		return usagef("--draws and --ess exclude each other: one fixes the number of draws, the other finds it")
	}
	for i := range d.Arms {
		a := &d.Arms[i]
		a.ModelClamping = f.modelClamping && a.Method == modelsClamping
		if given("chains") {
			a.Chains = f.chains
		}
		if given("warmup") {
			a.Warmup = f.warmup
		}
		if given("draws") {
			a.Draws, a.ESS = f.draws, 0
		}
		if given("ess") {
			a.Draws, a.ESS = 0, f.ess
		}
		if a.Chains > maxChains || a.Warmup > maxDraws || a.Draws > maxDraws {
			return usagef("at most %d chains, and %d iterations of each, are possible", maxChains, maxDraws)
		}
	}
	return nil
}
