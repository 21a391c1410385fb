package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg/beam/trials"
	"github.com/dpreg/dpreg/calibration"
)

const studyHelp = `Run on an engine the trials that the study in --save has not finished. dpreg's command
of the same name begins the study, with --prepare, and afterwards tells its results:
those of a study that it ran alone, to the last byte; timing.csv aside.

A study of the rows of a table needs its file, under a path that all workers know.
Nothing of such a study is private: say --i-hold-the-data (dpreg compare --help).`

func newCalibrate() *cobra.Command {
	f := studyFlags{kind: calibrates}
	return f.command(&cobra.Command{
		Use:   "calibrate --save DIR [DATA]",
		Short: "Run the trials of a study that dpreg calibrate began",
		Long:  studyHelp,
		Example: `  dpreg calibrate --preset fig3 --save fig3 --prepare
  dpreg-beam calibrate --save fig3
  dpreg calibrate --save fig3 --plots`,
		Args: cobra.MaximumNArgs(1),
	})
}

func newCompare() *cobra.Command {
	f := studyFlags{kind: compares}
	return f.command(&cobra.Command{
		Use:   "compare --save DIR [DATA]",
		Short: "Run the trials of a study that dpreg compare began",
		Long:  studyHelp,
		Example: `  dpreg compare --n 1000,10000 --eps 0.3,1,3 --delta 1e-6 --save study --prepare
  dpreg-beam compare --save study
  dpreg compare --save study --plot study.svg`,
		Args: cobra.MaximumNArgs(1),
	})
}

// The commands of dpreg that begin studies.
const (
	calibrates = "calibrate"
	compares   = "compare"
)

// studyFlags are the flags of commands that run trials.
type studyFlags struct {
	kind      string // of studies: the command that begins them
	save      string
	holdsData bool
	engineFlags
}

func (f *studyFlags) command(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&f.save, "save", "", "directory `DIR` of the study")
	cmd.Flags().BoolVar(&f.holdsData, "i-hold-the-data", false, "for a table: you may see the rows, and the output stays with you")
	f.engineFlags.register(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if f.save == "" {
			return usagef("--save is missing: name the directory of a study that dpreg %s --prepare began", f.kind)
		}
		text, err := os.ReadFile(filepath.Join(f.save, "study.json"))
		if err != nil {
			return usagef("--save %s: there is no study, which dpreg %s --prepare begins: %w", f.save, f.kind, err)
		}
		s := trials.Study{Text: text}
		if len(args) > 0 {
			if !f.holdsData {
				return refusef("what comes of the rows of %s has no privacy. If you may see the rows and keep the output to yourself, say --i-hold-the-data", args[0])
			}
			if s.Data, err = filepath.Abs(args[0]); err != nil {
				return err
			}
		}
		return f.run(cmd, s)
	}
	return cmd
}

func (f *studyFlags) run(cmd *cobra.Command, s trials.Study) (err error) {
	study, err := s.Open()
	if err != nil {
		return usagef("the study in %s: %w", f.save, err)
	}
	if study.Compares != (f.kind == compares) {
		return usagef("the study in %s is not one that dpreg %s begins", f.save, f.kind)
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
	note(stderr, "all trials are finished: dpreg %s --save %s tells the results", f.kind, f.save)
	return nil
}
