package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/report"
	"github.com/dpreg/dpreg/saved"
)

// evidenceOf is the release that an order made, or its parts.
func evidenceOf(o *custody.Settled, made []*release.Release) (*saved.Run, error) {
	var custodians []dpreg.Custodian
	for i, r := range made {
		r, err := o.Answer(r)
		if err != nil {
			return nil, err
		}
		custodians = append(custodians, dpreg.Custodian{Name: o.PathOf(i + 1), Release: r})
	}
	custodians, design, err := dpreg.Join(custodians)
	return &saved.Run{Custodians: custodians, Design: design}, usage(err)
}

// sayParts says which parts of a dealing there are. Of several alone, partial pooling is the default.
func (f *flags) sayParts(all []*release.Release) error {
	whole, part := release.OneDealing(all...), all[0].Part
	switch {
	case !whole && slices.ContainsFunc(all, func(r *release.Release) bool { return r.Part != nil }):
		f.note("some of the releases are parts of all rows (--split), and others are not of the same: --pooling %s takes all for custodians", f.pooling)
	case !whole:
		return nil
	case f.sameRows:
		return usagef("--same-rows: these are parts, which have no row together")
	case len(all) < int(part.Of):
		f.note("warning: %d of %d parts that rows were dealt to: the others would tell more, at no further cost", len(all), part.Of)
	}
	if whole && len(all) > 1 && !f.given("pooling") {
		f.pooling = dpreg.PartialPooling
		f.note("parts of one dealing (--split): --pooling partial")
	}
	return nil
}

// checkedEvidence is the evidence of releases from which a command samples.
func (f *flags) checkedEvidence(paths []string) (*saved.Run, error) {
	if err := errors.Join(f.checkFit(), f.checkSharing(len(paths))); err != nil {
		return nil, err
	}
	return f.evidence(paths)
}

// evidence reads the releases at paths, takes the model of the formula from each, and
// matches the columns of several.
func (f *flags) evidence(paths []string) (*saved.Run, error) {
	var custodians []dpreg.Custodian
	for _, path := range paths {
		r, err := f.readRelease(path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && len(paths) > 1 && !strings.HasSuffix(path, ".json"):
			return nil, usage(fmt.Errorf("%w; is a quotation mark missing around a formula?", err))
		case err != nil:
			return nil, err
		}
		for _, other := range custodians {
			// Noise does not repeat itself.
			if r.N == other.Release.N && slices.Equal(r.Statistics.Vector(), other.Release.Statistics.Vector()) {
				return nil, usagef("%s and %s are the same release: its rows would count twice", other.Name, path)
			}
		}
		custodians = append(custodians, dpreg.Custodian{Name: path, Release: r})
	}
	if err := f.sayParts(dpreg.Releases(custodians)); err != nil {
		return nil, err
	}
	for i, custodian := range custodians {
		r, err := f.selectModel(custodian.Release)
		switch {
		case err != nil && len(paths) > 1:
			return nil, usage(fmt.Errorf("%s: %w", custodian.Name, err))
		case err != nil:
			return nil, err
		}
		custodians[i].Release = r
	}
	custodians, design, err := dpreg.Join(custodians)
	return &saved.Run{Custodians: custodians, Design: design, Family: model.Family(f.family)}, usage(err)
}

// differ says how the scaled units of two custodians differ, those of a column; empty
// where none do.
func differ(custodians []dpreg.Custodian) string {
	first := custodians[0]
	ours := first.Release.Schema.Frame()
	for _, c := range custodians[1:] {
		theirs := c.Release.Schema.Frame()
		for j, column := range first.Release.Schema.Columns() {
			if ours.Centre[j] != theirs.Centre[j] || ours.Half[j] != theirs.Half[j] {
				other := c.Release.Schema.Columns()[j]
				return fmt.Sprintf("%s has the bounds %v:%v of %q, %s has %v:%v", first.Name, column.Lower, column.Upper, column.Name, c.Name, other.Lower, other.Upper)
			}
		}
	}
	return ""
}

func (f *flags) selectModel(r *release.Release) (*release.Release, error) {
	out, err := r.Select(f.formula)
	if err != nil {
		return nil, formulaError(err)
	}
	if r.Moments != nil && out.Moments == nil {
		f.note("the moments of this release are left out: there are none of %q, which was the response and is a covariate now", r.Schema.Response.Name)
	}
	return out, nil
}

func show(f *flags, paths []string) error {
	if f.plot != "" && len(paths) > 1 {
		return usagef("--plot draws one release, and %d are given", len(paths))
	}
	if err := f.checkPlot(paths...); err != nil {
		return err
	}
	for i, path := range paths {
		r, err := f.readRelease(path)
		if err != nil {
			return err
		}
		if len(paths) > 1 {
			if _, err := fmt.Fprintf(f.stdout(), "%s%s\n", strings.Repeat("\n", min(i, 1)), path); err != nil {
				return err
			}
		}
		if err := f.showOne(path, r); err != nil {
			return err
		}
		if err := f.writePlot(public, report.ReleasePlot(r).Write); err != nil {
			return err
		}
	}
	return nil
}

// showOne shows the sums of a release, or states its privacy.
func (f *flags) showOne(path string, r *release.Release) error {
	if !f.statement {
		return report.Show(f.stdout(), r)
	}
	digest, err := digestOf(path)
	if err != nil {
		return err
	}
	return report.PrivacyStatement(f.stdout(), r, path, digest)
}

// parsePrior reads the lines in words, and finds the file.
func (f *flags) parsePrior() (p model.StatedPrior, err error) {
	p.Shrink, p.Family = f.shrink, model.Family(f.family)
	for _, text := range f.priors {
		if _, err := os.Stat(text); err == nil || !strings.Contains(text, "~") { // which a line in words has
			if p.File != "" {
				return p, usagef("--prior: there can be one file, and %s and %s are two", p.File, text)
			}
			p.File = text
			continue
		}
		s, err := model.ParseStatement(text)
		if err != nil {
			return p, usagef("--prior %w", err)
		}
		p.Stated = append(p.Stated, s)
	}
	for _, text := range f.priorSDs {
		s, err := model.ParsePriorSD(text)
		if err != nil {
			return p, usagef("--prior-sd %w", err)
		}
		p.Stated = append(p.Stated, s)
	}
	return p, nil
}

func (f *flags) printThePrior(e *saved.Run) error {
	prior, err := f.prior.For(e.Design, differ(e.Custodians), dpreg.Releases(e.Custodians)...)
	if err == nil && prior == nil {
		prior, err = f.prior.Family.DefaultPrior(e.Design, dpreg.Releases(e.Custodians)...)
	}
	if err != nil {
		return usage(err)
	}
	_, err = io.WriteString(f.stdout(), strings.Join(prior.Words(f.prior.Family.Design(e.Design)), "\n")+"\n")
	return err
}
