package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg/calibration"
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
	study, err := design.Study()
	if err != nil {
		return usage(fmt.Errorf("%s: %w", designOf(dirs[0]), err))
	}
	var parts []*calibration.Recorded
	for _, dir := range dirs {
		part, err := readShard(dir, design, study)
		if err != nil {
			return usage(err)
		}
		parts = append(parts, part)
	}
	trials, err := calibration.Merge(study, parts)
	if err != nil {
		return usage(err)
	}
	if err := f.keep(design, study, trials); err != nil {
		return err
	}
	return f.conclude(stdout, stderr, study, trials)
}

// readShard reads the journal of a shard, which has to be of the design.
func readShard(dir string, design *calibration.Design, study *calibration.Study) (*calibration.Recorded, error) {
	other, err := readStudy(dir)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(other.Text(), design.Text()) {
		return nil, fmt.Errorf("%s is of another study than the first shard", designOf(dir))
	}
	return calibration.ReadJournal(journalOf(dir), study)
}

// keep writes the journal of the whole study to the directory of --save.
func (f *studyOutput) keep(design *calibration.Design, study *calibration.Study, trials []*calibration.Trial) error {
	folder, err := openStudy(f.save, design, study, calibration.Shard{})
	if err != nil {
		return err
	}
	if len(folder.recorded.Trials) > 0 {
		return errors.Join(usagef("--save %s: there are trials already: choose another directory", f.save), folder.journal.Close())
	}
	for _, t := range trials {
		if err := folder.journal.Keep(t); err != nil {
			return errors.Join(err, folder.journal.Close())
		}
	}
	return folder.journal.Close()
}
