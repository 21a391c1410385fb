package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

const mergeHelp = `Put the shards of a study together, each in the directory in which it was run. The
results are those of one run without shards, to the last byte; timing.csv aside.`

func newCalibrateMerge() *cobra.Command {
	var f studyOutput
	cmd := &cobra.Command{
		Use:     "merge --save DIR SHARD...",
		Short:   "Put the shards of a study together",
		Long:    mergeHelp,
		Example: `  dpreg calibrate merge --save whole part1 part2 part3`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("merge needs the directories of the shards: dpreg calibrate merge --save DIR SHARD...")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			return f.merge(cmd.OutOrStdout(), cmd.ErrOrStderr(), args)
		},
	}
	f.register(cmd)
	return cmd
}

func (f *studyOutput) merge(stdout, stderr io.Writer, dirs []string) error {
	if f.save == "" {
		return usagef("merge writes to the directory of --save: give --save DIR")
	}
	if err := f.writable(nil); err != nil {
		return err
	}
	design, err := readStudy(dirs[0])
	if err != nil {
		return usage(err)
	}
	study, err := design.Study(nil)
	if err != nil {
		return usage(fmt.Errorf("%s: %w", designOf(dirs[0]), err))
	}
	trials, err := mergeShards(dirs, study)
	if err != nil {
		return err
	}
	if err := keepMerged("calibrate", f.save, modeOf(design.Population != nil), study, trials); err != nil {
		return err
	}
	return f.conclude(stdout, stderr, modeOf(design.Population != nil), study, trials)
}
