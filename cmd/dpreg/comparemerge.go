package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

const compareMergeHelp = `Put the shards of a comparison together, each in the directory in which it was run. The
results are those of one run without shards, to the last byte; timing.csv aside. The
rows of a table are not read again.`

func newCompareMerge() *cobra.Command {
	var f comparisonOutput
	cmd := &cobra.Command{
		Use:     "merge --save DIR SHARD...",
		Short:   "Put the shards of a comparison together",
		Long:    compareMergeHelp,
		Example: `  dpreg compare merge --save whole part1 part2 part3`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("merge needs the directories of the shards: dpreg compare merge --save DIR SHARD...")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.merge(cmd.OutOrStdout(), cmd.ErrOrStderr(), args)
		},
	}
	f.register(cmd)
	return cmd
}

func (f *comparisonOutput) merge(stdout, stderr io.Writer, dirs []string) error {
	if err := f.check(); err != nil {
		return err
	}
	if f.save == "" {
		return usagef("merge writes to the directory of --save: give --save DIR")
	}
	d, err := readComparison(dirs[0])
	if err != nil {
		return usage(err)
	}
	study, err := d.Study(nil)
	if err != nil {
		return usage(fmt.Errorf("%s: %w", designOf(dirs[0]), err))
	}
	trials, err := mergeShards(dirs, study)
	if err != nil {
		return err
	}
	if err := keepMerged("compare", f.save, modeOf(d.Table != nil), study, trials); err != nil {
		return err
	}
	return f.conclude(stdout, stderr, d, study, trials)
}
