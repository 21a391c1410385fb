package main

import (
	"io"

	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/ssp"
)

// checkWithoutYY refuses what a release without Σy² cannot have.
func (o *order) checkWithoutYY() error {
	switch {
	case !o.withoutYY:
		return nil
	case o.moments:
		return usagef("--without-yy and --with-moments exclude each other: the method that takes moments needs the sum of the response's squares")
	case o.kind != ssp.Exact:
		return usagef("--without-yy needs --sensitivity exact")
	}
	return nil
}

// noteWithoutYY says what is gained, and who can use the release.
func (o *order) noteWithoutYY(stderr io.Writer) error {
	if !o.withoutYY {
		return nil
	}
	without, err := o.calibrate()
	if err != nil {
		return usage(err)
	}
	with, err := ssp.Calibrate(len(o.design.Columns()), o.left(), o.noise, ssp.Exact)
	if err != nil {
		return usage(err)
	}
	y := o.design.Response.Name
	note(stderr, "--without-yy: the sum of squares of %q is left out; noise of scale %.4g, against %.4g with it", y, without.Scale, with.Scale)
	if o.noise != release.Gaussian || o.design.Intercept || o.privacy.Neighbours != release.ReplaceOne {
		note(stderr, "warning: no method will infer %q from this release: normalx and fixeds need Gaussian noise (--delta 1e-6 --mechanism gaussian), a formula that ends in \"- 1\", and a public n", y)
	}
	return nil
}
