package main

import (
	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg/report"
)

const showHelp = `Show what a release holds: its columns and their bounds, the privacy it states,
and each statistic beside the standard deviation of its noise. Statistics are in
scaled units, in which bounds lie at -1 and 1.`

func newShow() *cobra.Command {
	return &cobra.Command{
		Use:     "show RELEASE.json",
		Short:   "Show a release: columns, bounds, privacy, statistics",
		Long:    showHelp,
		Example: "  dpreg show pums.release.json",
		Args:    oneFile("a release"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := readRelease(args[0])
			if err != nil {
				return err
			}
			return report.Show(cmd.OutOrStdout(), r)
		},
	}
}
