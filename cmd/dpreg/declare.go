package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/schema"
)

// declared is how a flag is declared, once for all commands that have it.
type declared struct {
	group   string
	name    string
	short   string   // its shorthand, if it has one
	of      string   // the commands that this declaration is for; empty: those that no other is for
	to      any      // the field that it sets: of type *string, *[]string, *bool, *int, *int64, *uint64 or *float64
	value   string   // its default; empty: that of its type
	usage   string   // as pflag has it
	words   []string // that it may be
	aFile   bool     // not stdout, whose name is a dash
	accepts *limits  // of a number
}

// limits are what a number must keep to, and how that is said.
type limits struct {
	holds func(v float64) bool
	says  string
}

func between(least, most int) *limits {
	return &limits{func(v float64) bool { return v >= float64(least) && v <= float64(most) }, fmt.Sprintf("from %d to %d", least, most)}
}

// aShare is a number between 0 and 1, as like is.
func aShare(like string) *limits {
	return &limits{func(v float64) bool { return v > 0 && v < 1 }, "it must lie between 0 and 1, as " + like + " does"}
}

var (
	upToOne    = &limits{func(v float64) bool { return v > 0 && v <= 1 }, "above 0, and at most 1"}
	isPositive = &limits{func(v float64) bool { return v > 0 && v <= math.MaxFloat64 }, "it must be a positive number"}

	isFinite = &limits{func(v float64) bool { return math.Abs(v) <= math.MaxFloat64 }, "a number is needed, in the units of the columns"}

	wholeCount   = &limits{func(v float64) bool { return v >= 1 && v <= accounting.MaxCount && v == math.Trunc(v) }, fmt.Sprintf("a whole number from 1 to %d", accounting.MaxCount)}
	samplingRate = &limits{func(v float64) bool { return v >= accounting.MinRate && v <= 1 }, fmt.Sprintf("a number from %v to 1", accounting.MinRate)}
	accountDelta = &limits{func(v float64) bool { return v >= accounting.MinSampledDelta && v < 1 }, fmt.Sprintf("it must be a number from %v to below 1, and far below 1/n to mean anything, as in --delta 1e-6", accounting.MinSampledDelta)}
)

// named are the commands that get their flags; nil: all do. To declare a flag takes longer than
// most commands run.
type named []string

// declare makes a command of its name, the arguments that it takes (nil: it looks at them
// itself), the names of its flags and what it does.
func (n named) declare(path string, takes cobra.PositionalArgs, names string, run func(f *flags, args []string) error) *cobra.Command {
	cmd := described(path)
	cmd.Args = takes
	f := &flags{cmd: cmd}
	cmd.Flags().SortFlags = false
	if n == nil || slices.Contains(n, cmd.Name()) {
		f.declare(names)
	}
	cmd.RunE = func(_ *cobra.Command, args []string) (err error) {
		if f.stated, f.share, err = parseBounds(f.bounds); err != nil {
			return err
		}
		factors, err := schema.ParseLevels(f.levels...)
		if err != nil {
			return usagef("--%w", err)
		}
		f.stated = append(f.stated, factors...)
		if f.prior, err = f.parsePrior(); err != nil {
			return err
		}
		return run(f, args)
	}
	return cmd
}

// declare gives a command the flags of some names.
func (f *flags) declare(names string) {
	picked := strings.Fields(names)
	all := f.all(func(name string) bool { return slices.Contains(picked, name) })
	for _, d := range all {
		if d.isOf(f.cmd.Name(), all) {
			d.add(f.cmd)
		}
	}
	for _, name := range picked {
		if f.cmd.Flags().Lookup(name) == nil {
			panic("there is no flag " + name)
		}
	}
}

// isOf tells whether the declaration, of all of its name, is for a command.
func (d *declared) isOf(command string, all []declared) bool {
	names := func(of string) bool { return slices.Contains(strings.Fields(of), command) }
	if d.of != "" {
		return names(d.of)
	}
	return !slices.ContainsFunc(all, func(other declared) bool { return other.name == d.name && names(other.of) })
}

// groupNames are the groups of flags, in the order of --help.
var groupNames = []string{"data", "privacy", "model", "sampling", "output", "network"}

// inGroup is the annotation that has a flag's group.
const inGroup = "group"

func (d *declared) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	switch to := d.to.(type) {
	case *string:
		fs.StringVarP(to, d.name, d.short, d.value, d.usage)
	case *[]string:
		fs.StringArrayVarP(to, d.name, d.short, nil, d.usage)
	case *bool:
		fs.BoolVarP(to, d.name, d.short, false, d.usage)
	case *int:
		fs.IntVarP(to, d.name, d.short, 0, d.usage)
	case *int64:
		fs.Int64VarP(to, d.name, d.short, 0, d.usage)
	case *uint64:
		fs.Uint64VarP(to, d.name, d.short, 0, d.usage)
	case *float64:
		fs.Float64VarP(to, d.name, d.short, 0, d.usage)
	}
	own := fs.Lookup(d.name)
	if d.value != "" {
		if err := own.Value.Set(d.value); err != nil {
			panic(err) // a mistake in the declaration
		}
		own.DefValue = d.value
	}
	own.Annotations = map[string][]string{inGroup: {d.group}}
	if _, text := d.to.(*string); text || d.accepts != nil {
		own.Value = &checked{own.Value, d}
	}
	if d.words != nil {
		complete := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return d.words, cobra.ShellCompDirectiveNoFileComp
		}
		if err := cmd.RegisterFlagCompletionFunc(d.name, complete); err != nil {
			panic(err)
		}
	}
}

// checked is a value that is not any of its type.
type checked struct {
	pflag.Value
	of *declared
}

func (c *checked) Set(text string) error {
	switch {
	case text == "":
		return unacceptable("a value is needed")
	case text == "-" && c.of.aFile:
		return unacceptable("it needs a file, not stdout")
	}
	if words := c.of.words; words != nil {
		i := slices.IndexFunc(words, func(word string) bool { return strings.EqualFold(word, text) })
		if i < 0 {
			return unacceptable("choose one of " + strings.Join(words, ", "))
		}
		text = words[i]
	}
	if err := c.Value.Set(text); err != nil || c.of.accepts == nil {
		return err
	}
	if v, err := strconv.ParseFloat(text, 64); err == nil && !c.of.accepts.holds(v) {
		return unacceptable(c.of.accepts.says)
	}
	return nil
}

// unacceptable says what a flag's value has to be.
type unacceptable string

func (u unacceptable) Error() string { return string(u) }

func (f *flags) ctx() context.Context { return f.cmd.Context() }
func (f *flags) stdout() io.Writer    { return f.cmd.OutOrStdout() }
func (f *flags) stderr() io.Writer    { return f.cmd.ErrOrStderr() }

// note writes one message to stderr; a warning where --quiet was given, too.
func (f *flags) note(format string, args ...any) {
	if !f.quiet || strings.HasPrefix(format, "warning") {
		note(f.stderr(), format, args...)
	}
}

func (f *flags) progress() io.Writer {
	if f.quiet {
		return io.Discard
	}
	return f.stderr()
}

// say notes what must not be missed: what is spent, and of what.
func (f *flags) say(text string) { note(f.stderr(), "%s", text) }

func (f *flags) given(name string) bool { return f.cmd.Flags().Changed(name) }

// refuseGiven refuses the first of some flags that was given, in words that take its name.
func (f *flags) refuseGiven(names, says string) error {
	for name := range strings.FieldsSeq(names) {
		if f.given(name) {
			return usagef(says, name)
		}
	}
	return nil
}

// fewFlags are not worth a heading for each of their groups.
const fewFlags = 6

// Flags are shown by their groups, and commands in the order that they are added in. cobra has both
// for the whole process, in which tests make commands side by side.
func init() {
	cobra.AddTemplateFunc("flagGroups", flagGroups)
	cobra.EnableCommandSorting = false
}

// flagGroups shows the flags of a command by their groups; those of none, as --help, come last.
func flagGroups(cmd *cobra.Command) string {
	groups := make(map[string]*pflag.FlagSet)
	for _, name := range append(slices.Clip(groupNames), "") {
		groups[name] = pflag.NewFlagSet(name, pflag.ContinueOnError)
		groups[name].SortFlags = false
	}
	count, last := 0, ""
	cmd.LocalFlags().VisitAll(func(*pflag.Flag) { count++ })
	cmd.Flags().VisitAll(func(own *pflag.Flag) {
		if of := own.Annotations[inGroup]; of != nil && count > fewFlags {
			last = of[0]
		}
		groups[last].AddFlag(own)
	})
	var text strings.Builder
	for _, name := range append(slices.Clip(groupNames), "") {
		if groups[name].HasFlags() {
			title := strings.TrimSuffix("Flags, "+name, ", ")
			fmt.Fprintf(&text, "%s:\n%s\n", title, groups[name].FlagUsagesWrapped(100))
		}
	}
	return strings.TrimSpace(text.String())
}

// flagError says of a flag that another command has where it belongs, and of a value that it
// may not have, what it has to be.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		name := unknown.GetSpecifiedName()
		if owners := owners(newRoot(nil), name); len(owners) > 0 {
			return usagef("%s%s belongs to %s%s", strings.Repeat("-", min(2, len(name))), name, listed(owners), elsewhere(cmd, name))
		}
	}
	var invalid *pflag.InvalidValueError
	var reason unacceptable
	if errors.As(err, &invalid) && errors.As(err, &reason) {
		value := invalid.GetValue()
		if invalid.GetFlag().Value.Type() == "string" {
			value = strconv.Quote(value)
		}
		if invalid.GetFlag().Name == "method" && invalid.GetValue() == nonPrivate {
			return usagef("--method %s needs the rows, and a release has none: use `dpreg fit --method %s --i-hold-the-data DATA.csv`", nonPrivate, nonPrivate)
		}
		return usagef("--%s %s: %s", invalid.GetFlag().Name, value, reason)
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
	slices.Sort(owners)
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

// elsewhere adds how this command comes by what the flag says.
func elsewhere(cmd *cobra.Command, name string) string {
	switch {
	case cmd.Name() == "fit" && (name == "o" || name == "output"):
		return "; fit writes its release to --release FILE"
	case cmd.Name() == "release" && name == "release":
		return "; release writes to -o FILE"
	case cmd.Name() == "plan" && (name == "bounds" || name == "levels"):
		return "; plan has columns with their bounds and levels from a file, --schema FILE (dpreg schema writes a template)"
	case cmd.Name() == "infer":
		return "; infer reads a release, whose privacy and bounds stand"
	case cmd.Name() == "release" && slices.Contains(strings.Fields(samplerFlags), name):
		return "; infer from the release once it is made"
	}
	return ""
}
