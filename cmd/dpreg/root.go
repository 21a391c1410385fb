package main

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const rootHelp = `dpreg does Bayesian linear regression under differential privacy.

Rows that must stay secret become one small file, a release: sums of x, y and
their products over rows clamped to public bounds, with noise that makes them
ε-differentially private. The posterior is inferred from that file alone and
accounts for the noise, so its intervals tell the truth.

  plan     which ε, how many records? from simulations, before any row is touched
  schema   a template for the public bounds of a table's columns
  release  rows -> release: spends ε, once
  infer    release, or several -> posterior: costs nothing, as often as wanted
  fit      release and infer in one step
  show     what a release holds
  predict  new responses, with intervals that account for the noise
  check    whether the release is one that the model makes
  ledger   the budget of a data set over many releases
  account  what repeated noise spends, by every accountant
  calibrate  whether a method's posteriors are right, by simulation
  compare  many methods on the same data at the same budget
  audit    whether releases are as private as they claim, by attack
  sql      the query by which a database sums its rows for a release
  vi       logistic and other models on rows, by private variational inference
  pvi      the same over clients that share no rows

Exit codes: 0 done; 1 failed; 2 wrong usage or input; 3 refused for privacy;
4 done, but a convergence diagnostic failed; 130 interrupted.`

const rootExample = `  dpreg schema pums.csv -o pums.schema.json        # then fill in the bounds
  dpreg fit pums.csv --eps 1 --formula 'income ~ age + educ'
  dpreg infer pums.release.json --formula 'income ~ educ'`

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "dpreg",
		Short:         "Bayesian linear regression under differential privacy",
		Long:          rootHelp,
		Example:       rootExample,
		Version:       version(),
		SilenceErrors: true,
		// Of a mistyped command's name: how many letters may be wrong.
		SuggestionsMinimumDistance: 2,
		SilenceUsage:               true,
		Args:                       cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	root.AddCommand(newSchema(), newRelease(), newInfer(), newFit(), newShow(), newPlan(), newPredict(), newCheck(), newLedger(), newCalibrate(), newCompare(), newAccount(), newAudit(), newSQL(), newVI(), newPVI())
	root.AddCommand(newTopics()...)
	root.SetFlagErrorFunc(flagError)
	root.InitDefaultHelpCmd()
	help, _, _ := root.Find([]string{"help"})
	help.Run, help.RunE = nil, helpOn
	return root
}

// helpOn is dpreg help: cobra's own shows the root's for what it does not know.
func helpOn(cmd *cobra.Command, args []string) error {
	of, rest, err := cmd.Root().Find(args)
	if err == nil && len(rest) == 0 {
		of.InitDefaultHelpFlag()
		return of.Help()
	}
	var names []string
	for _, c := range cmd.Root().Commands() {
		if c.IsAvailableCommand() || c.IsAdditionalHelpTopicCommand() {
			names = append(names, c.Name())
		}
	}
	return usagef("there is no help on %q: there is help on %s", strings.Join(args, " "), listed(names))
}

// version is that of the module, or the revision it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	if v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "development, " + s.Value
		}
	}
	return "development"
}

func unknownCommand(root *cobra.Command, name string) error {
	var hint string
	if near := root.SuggestionsFor(name); len(near) > 0 {
		hint = fmt.Sprintf("; did you mean `dpreg %s`?", near[0])
	}
	return usagef("unknown command %q%s (`dpreg --help` lists the commands)", name, hint)
}

// oneFile is the cobra.PositionalArgs of a command on one file; what names it.
func oneFile(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case 1:
			return nil
		case 0:
			return usagef("%s needs %s: %s", cmd.Name(), what, cmd.UseLine())
		}
		return usagef("%s takes one file, and %d were given (is a quotation mark missing around a formula?)", cmd.Name(), len(args))
	}
}

// flagError says of a flag that another command has where it belongs.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		name := unknown.GetSpecifiedName()
		if owners := owners(cmd.Root(), name); len(owners) > 0 {
			return usagef("%s belongs to %s%s", dashed(name), listed(owners), elsewhere(cmd, name))
		}
	}
	// strconv's part of the message says nothing to a user.
	text, _, _ := strings.Cut(err.Error(), ": strconv.")
	return usagef("%s (`%s --help` lists the flags)", text, cmd.CommandPath())
}

// owners lists the commands that have a flag of this name or shorthand.
func owners(root *cobra.Command, name string) []string {
	var owners []string
	for _, c := range root.Commands() {
		has := c.Flags().Lookup(name) != nil
		if len(name) == 1 {
			has = c.Flags().ShorthandLookup(name) != nil
		}
		if has {
			owners = append(owners, "`"+c.CommandPath()+"`")
		}
	}
	return owners
}

// listed joins words: a, b and c.
func listed(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// elsewhere adds how this command comes by what the flag says.
func elsewhere(cmd *cobra.Command, name string) string {
	switch {
	case cmd.Name() == "fit" && (name == "o" || name == "output"):
		return "; fit writes its release to --release FILE"
	case cmd.Name() == "release" && name == "release":
		return "; release writes to -o FILE"
	case cmd.Name() == "infer":
		return "; infer reads a release, whose privacy and bounds stand"
	case cmd.Name() == "release":
		return "; infer from the release once it is made"
	}
	return ""
}

// oneOf completes a flag with a few fixed words.
func oneOf(cmd *cobra.Command, flag string, words ...string) {
	complete := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return words, cobra.ShellCompDirectiveNoFileComp
	}
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // the flag is not there: a mistake in this package
	}
}
