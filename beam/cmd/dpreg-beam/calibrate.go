package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg/beam/trials"
	"github.com/dpreg/dpreg/calibration"
)

const calibrateHelp = `Run on an engine the trials that the study in --save has not finished. dpreg calibrate
begins it, with --prepare, and afterwards tells the results, which are those of a
study that it ran alone, to the last byte; timing.csv aside.`

func newCalibrate() *cobra.Command {
	var f studyFlags
	cmd := &cobra.Command{
		Use:   "calibrate --save DIR",
		Short: "Run the trials of a study",
		Long:  calibrateHelp,
		Example: `  dpreg calibrate --preset fig3 --save fig3 --prepare
  dpreg-beam calibrate --save fig3 --runner flink --endpoint localhost:8099 --staging gs://bucket/dpreg
  dpreg calibrate --save fig3 --plots`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, trials.Calibration, "calibrate") },
	}
	f.register(cmd)
	return cmd
}

// studyFlags are the flags of commands that run trials.
type studyFlags struct {
	save string
	engineFlags
}

func (f *studyFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.save, "save", "", "directory `DIR` of the study")
	f.engineFlags.register(cmd)
}

// run runs the trials of a study of a kind, which the command of dpreg of this name began.
func (f *studyFlags) run(cmd *cobra.Command, kind, name string) (err error) {
	if f.save == "" {
		return usagef("--save is missing: name the directory of a study that `dpreg %s --prepare --save DIR` began", name)
	}
	text, err := os.ReadFile(filepath.Join(f.save, "study.json"))
	if err != nil {
		return usagef("there is no study in --save %s, which `dpreg %s --prepare --save %s` begins: %w", f.save, name, f.save, err)
	}
	s := trials.Study{Kind: kind, Text: text}
	study, err := s.Open()
	if err != nil {
		return usagef("%s: %w", filepath.Join(f.save, "study.json"), err)
	}
	journal, recorded, err := calibration.OpenJournal(filepath.Join(f.save, "journal"), study, calibration.Shard{})
	if err != nil {
		return usage(err)
	}
	defer func() { err = errors.Join(err, journal.Close()) }()
	stderr := cmd.ErrOrStderr()
	if n := len(recorded.Trials); n > 0 {
		note(stderr, "going on after %d finished trials", n)
	}
	engine, dir, remove, err := f.launch(stderr, cmd)
	if err != nil {
		return err
	}
	defer remove()
	if err := trials.Run(cmd.Context(), engine, dir, s, recorded.Trials, journal.Keep); err != nil {
		note(stderr, "finished trials are kept in %s: the same command goes on", f.save)
		return err
	}
	note(stderr, "all trials are finished: `dpreg %s --save %s` tells the results", name, f.save)
	return nil
}
