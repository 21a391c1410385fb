package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

// parseDelta gives δ, 0 where there is no --delta.
func (f *releaseFlags) parseDelta() (float64, error) {
	if f.delta == "" {
		return 0, nil
	}
	delta, err := schema.ParseNumber(f.delta)
	switch {
	case err != nil:
		return 0, usagef("--delta %q: %w", f.delta, err)
	case delta <= 0:
		return 0, usagef("--delta %s: δ must be above 0; leave --delta out for pure ε, with Laplace noise", f.delta)
	case delta >= 1:
		return 0, usagef("--delta %s: δ must be below 1, and far below 1/n to mean anything, as in --delta 1e-6", f.delta)
	case delta < ssp.MinDelta:
		return 0, usagef("--delta %s: below %v it is as good as none; leave --delta out for pure ε, with Laplace noise", f.delta, ssp.MinDelta)
	}
	return delta, nil
}

// parseMechanism checks that the noise asked for goes with δ and the sensitivity.
func (f *releaseFlags) parseMechanism(delta float64, kind ssp.Sensitivity) (release.Kind, error) {
	noise := release.Kind(strings.ToLower(f.mechanism))
	switch noise {
	case release.Laplace, release.Gaussian, ssp.Auto:
	default:
		return "", usagef("--mechanism %q: laplace, gaussian or auto", f.mechanism)
	}
	switch {
	case noise == release.Gaussian && delta == 0:
		return "", usagef("--mechanism gaussian needs a δ above 0, far below 1/n, as in --delta 1e-6")
	case kind == ssp.Paper && (noise == release.Gaussian || delta > 0):
		return "", usagef("--sensitivity paper is for Laplace noise, which needs no --delta")
	}
	return noise, nil
}

// settle decides what auto is, and compares the noise with what it could be, where
// there is a δ.
func (o *order) settle(stderr io.Writer) error {
	if o.privacy.Delta == 0 {
		o.noise = release.Laplace
		return nil
	}
	better, factor, err := o.choose()
	if err != nil {
		return usage(err)
	}
	switch {
	case o.noise == release.Laplace:
		var hint string
		if better == release.Gaussian {
			hint = "; or say --mechanism gaussian, whose noise is smaller here" + times(factor)
		}
		return usagef("--delta %v with --mechanism laplace: Laplace noise needs no δ, so leave --delta out%s", o.privacy.Delta, hint)
	case o.noise == release.Gaussian && better == release.Laplace:
		note(stderr, "Laplace noise would be smaller here%s, and needs no δ: --mechanism laplace without --delta", times(factor))
	case o.noise == ssp.Auto && better == release.Laplace:
		note(stderr, "--mechanism auto: Laplace noise, which is smaller than Gaussian noise here%s and needs no δ: the release has δ = 0", times(factor))
		o.privacy.Delta = 0
	case o.noise == ssp.Auto:
		note(stderr, "--mechanism auto: Gaussian noise, which is smaller than Laplace noise here%s", times(factor))
	}
	if o.noise == ssp.Auto {
		o.noise = better
	}
	return nil
}

// times says how much smaller, in parentheses.
func times(factor float64) string {
	return fmt.Sprintf(" (sd by a factor of %.3g)", factor)
}

// warn says of a δ that it is too large for n rows to mean much.
func (o *order) warn(stderr io.Writer, n int64) {
	if delta := o.privacy.Delta; delta*float64(n) >= 1 {
		note(stderr, "warning: δ = %v is not below 1/n = %.2g: publishing one row at random, as it is, has no larger δ. Take one far below", delta, 1/float64(n))
	}
}
