package main

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/report"
)

// conclude prints the result, saves and draws what is to be, and then says whether
// the chains converged.
func (f *inferFlags) conclude(ctx context.Context, stdout, stderr io.Writer, fit *dpreg.Fit, what *dpreg.WhatIf) error {
	if err := f.print(stdout, fit, what); err != nil {
		return err
	}
	if f.save != "" {
		if err := f.write(fit); err != nil {
			return err
		}
		note(stderr, "draws and summary saved in %s", f.save)
	}
	if err := f.illustrate(ctx, stderr, fit, what); err != nil {
		return err
	}
	if ok, reason := fit.Converged(); !ok {
		return &exitError{unconverged, fmt.Errorf("not converged: %s", reason)}
	}
	return nil
}

// print writes the result in the format asked for, and nothing else.
func (f *inferFlags) print(stdout io.Writer, fit *dpreg.Fit, what *dpreg.WhatIf) error {
	out, units := bufio.NewWriter(stdout), dpreg.Units(f.units)
	var err error
	switch f.format {
	case "json":
		s := fit.Summary(units, f.level)
		if what != nil {
			s.WhatIf = what
		}
		err = s.WriteJSON(out)
	case "csv":
		err = fit.Summary(units, f.level).WriteCSV(out)
	default:
		err = report.Fit(out, fit, report.Options{Units: units, Level: f.level})
		if err == nil && what != nil {
			err = report.WhatIf(out, what)
		}
	}
	if err != nil {
		return err
	}
	return out.Flush()
}
