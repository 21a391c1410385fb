package main

import (
	"fmt"
	"strings"

	"github.com/dpreg/dpreg/report"
)

func show(f *flags, paths []string) error {
	for i, path := range paths {
		r, err := readRelease(path)
		if err != nil {
			return err
		}
		if len(paths) > 1 {
			if _, err := fmt.Fprintf(f.stdout(), "%s%s\n", strings.Repeat("\n", min(i, 1)), path); err != nil {
				return err
			}
		}
		if err := report.Show(f.stdout(), r); err != nil {
			return err
		}
	}
	return nil
}
