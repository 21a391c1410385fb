package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// registerSharing registers what only several releases have.
func (f *inferFlags) registerSharing(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.covariates, "covariates", dpreg.SeparateCovariates, "of several releases, `NAME`: separate, each has a law of the covariates of its own, or shared")
	fs.StringVar(&f.pooling, "pooling", dpreg.CompletePooling, "of several releases, `NAME`: complete, one regression, or partial, coefficients of each about a common mean")
	oneOf(cmd, "covariates", dpreg.SeparateCovariates, dpreg.SharedCovariates)
	oneOf(cmd, "pooling", dpreg.CompletePooling, dpreg.PartialPooling)
}

// checkSharing checks the flags for so many releases.
func (f *inferFlags) checkSharing(cmd *cobra.Command, releases int) error {
	if err := choose("covariates", f.covariates, []string{dpreg.SeparateCovariates, dpreg.SharedCovariates}); err != nil {
		return err
	}
	if err := choose("pooling", f.pooling, []string{dpreg.CompletePooling, dpreg.PartialPooling}); err != nil {
		return err
	}
	if releases == 1 {
		for _, flag := range []string{"covariates", "pooling"} {
			if cmd.Flags().Changed(flag) {
				return usagef("--%s is of several releases, and there is one", flag)
			}
		}
		return nil
	}
	if f.whatIf {
		return usagef("--what-if takes one release, and there are %d", releases)
	}
	return nil
}

// several infers one regression from the releases at paths.
func (c *inferCommand) several(ctx context.Context, stdout, stderr io.Writer, paths []string) error {
	custodians, common, err := c.custodians(stderr, paths)
	if err != nil {
		return err
	}
	if err := c.ofSeveral(paths); err != nil {
		return err
	}
	o, err := c.options(common, slices.Clone(paths))
	if err != nil {
		return err
	}
	if err := rehearseWith(func(ctx context.Context) (*dpreg.Fit, error) {
		return dpreg.InferJointly(ctx, custodians, o)
	}); err != nil {
		return err
	}
	bar := samplingBar(stderr, o.Plan)
	o.Plan.Progress = bar.update
	fit, err := dpreg.InferJointly(ctx, custodians, o)
	bar.finish()
	if err != nil {
		return err
	}
	return c.conclude(ctx, stdout, stderr, fit, nil)
}

// custodians reads releases, takes the model of the formula from each, and matches
// their columns.
func (c *inferCommand) custodians(stderr io.Writer, paths []string) ([]dpreg.Custodian, *schema.Design, error) {
	var custodians []dpreg.Custodian
	for _, path := range paths {
		r, err := readRelease(path)
		if err != nil {
			return nil, nil, err
		}
		for _, other := range custodians {
			if same(r, other.Release) {
				return nil, nil, usagef("%s and %s are the same release: its rows would count twice", other.Name, path)
			}
		}
		custodians = append(custodians, dpreg.Custodian{Name: path, Release: r})
	}
	for i, custodian := range custodians {
		r, err := selectModel(stderr, custodian.Release, c.formula)
		if err != nil {
			return nil, nil, usage(fmt.Errorf("%s: %w", custodian.Name, err))
		}
		custodians[i].Release = r
	}
	arranged, common, err := dpreg.Join(custodians)
	c.mixed = err == nil && mixed(arranged)
	return arranged, common, usage(err)
}

// same tells whether two releases hold the same numbers: noise does not repeat itself.
func same(a, b *release.Release) bool {
	return a.N == b.N && slices.Equal(a.Statistics.Vector(), b.Statistics.Vector())
}

// mixed tells whether the custodians' scaled units differ.
func mixed(custodians []dpreg.Custodian) bool {
	first := custodians[0].Release.Schema.Frame()
	for _, c := range custodians[1:] {
		f := c.Release.Schema.Frame()
		if !slices.Equal(f.Centre, first.Centre) || !slices.Equal(f.Half, first.Half) {
			return true
		}
	}
	return false
}

// readPrior reads the prior for a design; nil is the default prior.
func (f *inferFlags) readPrior(d *schema.Design) (*model.Prior, error) {
	if f.prior == "" {
		return nil, nil
	}
	file, err := os.Open(f.prior)
	if err != nil {
		return nil, fmt.Errorf("--prior: %w", err)
	}
	defer file.Close()
	if f.mixed {
		return model.ReadOriginalPrior(file, f.prior, d)
	}
	return model.ReadPrior(file, f.prior, d)
}
