package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg/report"
)

const showHelp = `Show what a release holds: its columns and their bounds, the privacy it states,
and each statistic beside the standard deviation of its noise. Statistics are in
scaled units, in which bounds lie at -1 and 1. Several are shown one after another.`

func newShow() *cobra.Command {
	return &cobra.Command{
		Use:     "show RELEASE.json ...",
		Short:   "Show a release: columns, bounds, privacy, statistics",
		Long:    showHelp,
		Example: "  dpreg show pums.release.json\n  dpreg show north.json south.json",
		Args:    releases,
		RunE: func(cmd *cobra.Command, args []string) error {
			for i, path := range args {
				r, err := readRelease(path)
				if err != nil {
					return err
				}
				if len(args) > 1 {
					if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s%s\n", strings.Repeat("\n", min(i, 1)), path); err != nil {
						return err
					}
				}
				if err := report.Show(cmd.OutOrStdout(), r); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
