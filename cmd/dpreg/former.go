package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"

	"github.com/dpreg/dpreg/release"
)

// What stands where a release is to go: a former one, or what a killed run left.

// former reads the release that stands where the new one is to go; nil where
// there is nothing. What is no release is not to be overwritten, whatever is
// asked.
func (o *order) former() (*release.Release, error) {
	switch info, err := os.Stat(o.path); {
	case errors.Is(err, fs.ErrNotExist) && isLink(o.path):
		return nil, usagef("%s is a link to a file that is not there: a release may stand on a disk that is not mounted. Mount it, or remove the link", o.path)
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err == nil && !info.Mode().IsRegular():
		return nil, usagef("cannot write to %s: it is not a regular file", o.path)
	}
	r, err := release.ReadFile(o.path)
	if err != nil {
		return nil, usagef("%w\nThe release would go to this file, and is not to overwrite what is no release: name another one", err)
	}
	return r, nil
}

// differs says why r is not the release that is ordered, nil if it is.
func (o *order) differs(r *release.Release) error {
	if err := o.boundsDiffer(r); err != nil {
		return err
	}
	if err := r.Answers(o.adopt(r), o.privacy, o.noise); err != nil {
		return err
	}
	if has := r.Moments != nil; has != o.moments {
		return fmt.Errorf("%s moments of the covariates (--with-moments)", map[bool]string{true: "it has", false: "it has no"}[has])
	}
	if r.WithoutYY() {
		return fmt.Errorf("it withholds the sum of squares of %q", r.Schema.Response.Name)
	}
	want, err := o.calibrate()
	if err != nil {
		return err
	}
	// The two kinds are a factor of four apart; rounding is not the question.
	if math.Abs(r.Noise.Scale/want.Scale-1) > 1e-6 {
		return errors.New("its noise is calibrated to another sensitivity (--sensitivity)")
	}
	return nil
}

// stale says how the data may have changed after the release was made; empty if they
// did not.
func (o *order) stale() (how string, err error) {
	if o.remote != nil {
		return fmt.Sprintf("the rows of %s may be newer than %s", o.remote, o.path), nil
	}
	changed, err := newer(o.source, o.path)
	if changed {
		how = fmt.Sprintf("%s is newer than %s", o.source.Name, o.path)
	}
	return how, err
}

// leftovers refuses where a run was killed between the noise and the renaming:
// what it left would be a second release of these rows, that nobody counts. It
// may serve as the release where none stands.
func (o *order) leftovers(former *release.Release) error {
	left, err := release.Leftovers(o.path)
	if err != nil || left == nil {
		return usage(err)
	}
	remedy := fmt.Sprintf("If nobody else can have read it, remove it and run this again:  rm %s", shellWord(left[0]))
	if _, err := release.ReadFile(left[0]); err == nil && former == nil {
		remedy = fmt.Sprintf("It is complete. To use it, at no further cost:  mv %s %s\n  ", shellWord(left[0]), shellWord(o.path)) + remedy
	}
	return refusef("%s was left by a run that was killed while it wrote, or another run writes it now: a release of which nobody knows may have been read, and a new one would spend ε again.\n  %s",
		left[0], remedy)
}

// again says what overwriting a release means.
func (o *order) again(stderr io.Writer, former *release.Release) {
	if former.Privacy == nil {
		note(stderr, "--spend-again: %s will be overwritten; whatever it spent stays spent", o.path)
		return
	}
	sum := fmt.Sprintf("ε adds up to %.12g", former.Privacy.Epsilon+o.privacy.Epsilon)
	if delta := former.Privacy.Delta + o.privacy.Delta; delta > 0 {
		sum += fmt.Sprintf(" and δ to %.12g", delta)
	}
	note(stderr, "--spend-again: %s will be overwritten, but the %s that it spent stays spent; if both are of the same persons, %s",
		o.path, describe(*former.Privacy), sum)
}
