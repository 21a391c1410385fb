package main

import "github.com/spf13/cobra"

const rootHelp = `dpreg-beam runs dpreg's large jobs on Apache Beam.

  release    rows in many files -> one release: spends ε, once
  calibrate  the trials of a study that dpreg calibrate began
  compare    those of one that dpreg compare began
  prism      a job service of Beam's runner Prism, for tests and one machine

Without flags of an engine all runs in this process, which opens no port. Engines
are named as in any program of Beam's Go SDK: --runner, --endpoint,
--environment_type and so on (docs/beam.md).

Exit codes: 0 done; 1 failed; 2 wrong usage or input; 3 refused for privacy;
130 interrupted.`

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "dpreg-beam",
		Short:         "Large jobs of dpreg, on Apache Beam",
		Long:          rootHelp,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(newRelease(), newCalibrate(), newCompare(), newPrism())
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w (`%s --help` lists the flags)", err, cmd.CommandPath())
	})
	root.InitDefaultHelpCmd()
	help, _, _ := root.Find([]string{"help"})
	help.Run, help.RunE = nil, func(_ *cobra.Command, args []string) error { // cobra's own shows this command's
		of, rest, err := root.Find(args)
		if err != nil || len(rest) > 0 {
			return usagef("there is no help on %q: `dpreg-beam --help` lists the commands", args)
		}
		return of.Help()
	}
	return root
}
