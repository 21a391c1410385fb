package main

import (
	"context"
	"io"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/whatif"
)

const whatIfUsage = "repeat the fit with other priors (scales a third and three times as large) and another model of the covariates, and say whether the conclusions move"

// checkWhatIf refuses --what-if where it has no meaning.
func (f *inferFlags) checkWhatIf() error {
	switch {
	case !f.whatIf:
		return nil
	case f.method == nonPrivate:
		return usagef("--what-if repeats a fit of a release, and --method %s has none", nonPrivate)
	case f.format == "csv":
		return usagef("--what-if has no CSV: choose --format table or json")
	}
	return nil
}

// asked answers --what-if; nil where it was not given.
func (f *inferFlags) asked(ctx context.Context, stderr io.Writer, fit *dpreg.Fit) (*whatif.Answers, error) {
	if !f.whatIf {
		return nil, nil
	}
	var bar *counting
	defer func() { bar.finish() }()
	progress := func(done, total int) {
		if bar == nil {
			bar = countingBar(stderr, "what if ", total)
		}
		bar.update(done, total)
	}
	return whatif.Of(ctx, fit, whatif.Options{Units: dpreg.Units(f.units), Level: f.level, Progress: progress})
}
