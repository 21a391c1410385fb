// Command dpreg does Bayesian linear regression under differential privacy.
//
// A custodian makes one small noisy file of sensitive rows (dpreg release); an
// analyst holds only that file and infers from it (dpreg infer), as often as
// wanted and at no further cost. Where both are one person, dpreg fit does the
// two together. Results go to stdout, everything else to stderr.
package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/docs/help"
	"github.com/dpreg/dpreg/pushdown"
	"github.com/dpreg/dpreg/signature"
)

func main() { os.Exit(run(custody.UntilInterrupted(), os.Stdout, os.Stderr, os.Args[1:])) }

// run is the whole program but for the process: it returns the exit code. Messages may quote
// what was typed, but no secret of it.
func run(ctx context.Context, stdout, stderr io.Writer, args []string) int {
	stderr = pushdown.Hide(stderr, pushdown.Secrets(args...))
	root := newRoot(args)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return custody.Exit(ctx, stderr, "dpreg", root.ExecuteContext(context.WithValue(ctx, argsKey{}, args)))
}

// unconvergedError says that all was done, but that a convergence diagnostic failed.
type unconvergedError string

func (e unconvergedError) Error() string { return string(e) }
func (unconvergedError) ExitCode() int   { return custody.Unconverged }

// usage marks an error as the user's: a flag, a file or data that cannot serve.
// Where the run was interrupted, that is what went wrong.
func usage(err error) error { return custody.Misuse(err) }

func usagef(format string, args ...any) error { return custody.Misusef(format, args...) }

func refusef(format string, args ...any) error { return custody.Refusef(format, args...) }

func note(stderr io.Writer, format string, args ...any) {
	fmt.Fprintln(stderr, "dpreg: "+fmt.Sprintf(format, args...))
}

// newRoot has all commands and what each does; those that are named have their flags.
func newRoot(of named) *cobra.Command {
	root, noFile := parent(""), takes(0, "")
	root.Version, root.SilenceErrors, root.SilenceUsage = signature.Version(), true, true
	root.SuggestionsMinimumDistance = 2 // letters of a mistyped command's name that may be wrong
	pool := of.declare("pool", takes(many, "a file of dpreg pool mask"), "sign output", runPool)
	pool.AddCommand(
		of.declare("pool key", takes(1, "a custodian's name"), "", makeMember),
		of.declare("pool agree", takes(many, "a file of dpreg pool key"), "schema bounds levels other formula eps delta neighbours person-rows steps rows former colluding absent output", agree),
		of.declare("pool share", nil, fileFlags+remoteFlags+"session key person on-bad-cell missing na other ledger no-ledger pad-time output", runShare),
		of.declare("pool mask", takes(many, "files of dpreg pool share"), "key output", runMask))
	pvi := of.declare("pvi", nil, viFlags+roundFlags, runPVI)
	pvi.AddCommand(
		of.declare("pvi serve", takes(many, "the names of the clients"), "schema bounds levels other formula"+runFlags+roundFlags+resultFlags+"listen cert key ca session wait", servePVI),
		of.declare("pvi join", nil, fileFlags+"on-bad-cell missing na other ledger no-ledger"+resultFlags+"server cert key ca agree session", joinPVI))
	custodians := []*cobra.Command{
		of.declare("plan", noFile, priorFlags+"family n p schema formula covariate width of slope mean sd r2 eps delta neighbours steps by-level releases seed no-grid level format plot report", runPlan),
		of.declare("schema", nil, fileFlags+"bounds levels from table output", writeTemplate),
		of.declare("release", nil, releaseFlags+"output", runRelease),
		of.declare("fit", nil, releaseFlags+fitFlags+sharingFlags+"release i-hold-the-data", runFit),
		of.declare("sql", noFile, columnFlags+"dialect table", writeSQL),
		parent("ledger",
			of.declare("ledger init", takes(1, "a file to make"), "data eps delta neighbours filter", initLedger),
			of.declare("ledger show", takes(1, "a ledger"), "", showLedger),
			of.declare("ledger verify", takes(1, "a ledger"), "head", verifyLedger),
			of.declare("ledger import", takes(1, "a ledger"), "name eps delta mu rho", importCharge),
			of.declare("ledger export", takes(1, "a ledger"), "output", exportLedger),
			of.declare("ledger rebind", takes(1, "a ledger"), "", rebindLedger)),
		pool,
		of.declare("keys", takes(1, "a name for the key"), "", makeKeys),
		of.declare("vi", takes(1, "a data file"), viFlags+"group neighbours rows batch plot non-private i-hold-the-data", runVI),
		pvi,
	}
	analysts := []*cobra.Command{
		of.declare("show", takes(many, "a release"), "verify statement plot", show),
		of.declare("infer", takes(many, "a release"), fitFlags+sharingFlags+"verify formula print-prior same-rows", runInfer),
		of.declare("ask", nil, samplerFlags+sharingFlags+"verify family same-rows draws formula format level units digits quiet", runAsk),
		of.declare("models", takes(1, "a release"), samplerFlags+"verify family draws formula format digits quiet", runModels),
		of.declare("predict", nil, samplerFlags+sharingFlags+"verify family same-rows level formula draws custodian along mean output plot"+fileFlags, runPredict),
		of.declare("serve", takes(many, "a release"), "verify port", runServe),
		of.declare("check", takes(many, "a release"), samplerFlags+sharingFlags+"family verify formula draws calibrate format plot report", runCheck),
	}
	calibrate := of.declare(calibrates, noFile, studyFlags+"prior prior-sd preset population split x kernel sensitivity model-clamping chains warmup draws ess plots report", runCalibrate)
	calibrate.AddCommand(of.declare("calibrate merge", takes(many, "the directories of the shards"), "save format plots report", runMerge(calibrates)))
	compare := of.declare(compares, takes(1, ""), studyFlags+"test plot family", runCompare)
	compare.AddCommand(of.declare("compare merge", takes(many, "the directories of the shards"), "save format plot", runMerge(compares)))
	studies := []*cobra.Command{
		calibrate, compare,
		of.declare("audit", noFile, "m eps delta mechanism neighbours steps releases format", runAudits),
		parent("account",
			of.declare("account gaussian", noFile, "sigma q steps eps delta sensitivity neighbours plot format", accountGaussian),
			of.declare("account laplace", noFile, "scale count eps delta sensitivity plot format", accountLaplace)),
	}
	group(root, "Who holds rows:", custodians)
	group(root, "Who holds releases:", analysts)
	group(root, "Who studies methods:", studies)
	root.AddCommand(newTopics()...)
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), "Flags:\n{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}", "{{flagGroups .}}", 1))
	root.SetFlagErrorFunc(flagError)
	root.InitDefaultHelpCmd()
	help, _, _ := root.Find([]string{"help"})
	help.Run, help.RunE = nil, helpOn
	return root
}

func group(root *cobra.Command, title string, commands []*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, c := range commands {
		c.GroupID = title
	}
	root.AddCommand(commands...)
}

// parent is a command that does nothing but have others.
func parent(name string, children ...*cobra.Command) *cobra.Command {
	cmd := described(name)
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		hint := ""
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			hint = fmt.Sprintf("; did you mean `%s %s`?", cmd.CommandPath(), near[0])
		}
		return usagef("unknown command %q%s (`%s --help` lists the commands)", args[0], hint, cmd.CommandPath())
	}
	cmd.AddCommand(children...)
	return cmd
}

// newTopics are commands that do nothing but be found by dpreg help.
func newTopics() (topics []*cobra.Command) {
	for _, t := range help.Topics {
		page, err := help.Page(t.Name)
		if err != nil {
			panic(err) // the program was built without it
		}
		topics = append(topics, &cobra.Command{Use: t.Name, Short: t.Short, Long: page})
	}
	return topics
}

// described is a command of which its help is known.
func described(path string) *cobra.Command {
	text := help.Command(strings.TrimSpace("dpreg " + path))
	of := strings.TrimSuffix(path, path[strings.LastIndex(path, " ")+1:]) // "ledger " of "ledger init"
	use := strings.TrimPrefix(text.Use, "dpreg "+of)
	return &cobra.Command{Use: use, Short: text.Short, Long: text.Long, Example: text.Example}
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
	slices.Sort(names)
	return usagef("there is no help on %q: there is help on %s", strings.Join(args, " "), listed(names))
}

// many is more than any number of files.
const many = math.MaxInt

// takes is the cobra.PositionalArgs of a command on so many files at the most and, where what
// names it, one at least.
func takes(most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case what != "" && len(args) == 0:
			return usagef("%s needs %s: %s", cmd.Name(), what, cmd.UseLine())
		case most == 0 && len(args) > 0:
			return usagef("%s takes no file but by a flag: %q (is a blank in a list, or a quotation mark missing around a formula?)", cmd.Name(), args[0])
		case len(args) > most:
			return usagef("%s takes one file, and %d were given (is a quotation mark missing around a formula?)", cmd.Name(), len(args))
		}
		return nil
	}
}
