package main

import (
	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg"
)

// registerSharing registers what only several releases have.
func (f *inferFlags) registerSharing(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.covariates, "covariates", dpreg.SeparateCovariates, "of several releases, `NAME`: separate, each has a law of the covariates of its own, or shared")
	fs.StringVar(&f.pooling, "pooling", dpreg.CompletePooling, "of several releases, `NAME`: complete, one regression, or partial, coefficients and sigma of each about common ones")
	oneOf(cmd, "covariates", dpreg.SeparateCovariates, dpreg.SharedCovariates)
	oneOf(cmd, "pooling", dpreg.CompletePooling, dpreg.PartialPooling)
}

// registerSameRows registers what is of several releases of the same rows.
func (f *inferFlags) registerSameRows(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.sameRows, "same-rows", false, "all releases are of the same rows, and measure the same sums")
}

// checkSharing checks the flags for so many releases.
func (f *inferFlags) checkSharing(cmd *cobra.Command, releases int) error {
	if err := choose("covariates", f.covariates, []string{dpreg.SeparateCovariates, dpreg.SharedCovariates}); err != nil {
		return err
	}
	if err := choose("pooling", f.pooling, []string{dpreg.CompletePooling, dpreg.PartialPooling}); err != nil {
		return err
	}
	for _, flag := range []string{"covariates", "pooling", "same-rows"} {
		switch changed := cmd.Flags().Changed(flag); {
		case changed && releases == 1:
			return usagef("--%s is of several releases, and there is one", flag)
		case changed && f.sameRows && flag != "same-rows":
			return usagef("--same-rows and --%s exclude each other: the same rows share everything", flag)
		}
	}
	return nil
}
