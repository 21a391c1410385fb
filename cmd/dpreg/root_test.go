package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// fit is release and infer of one table of rows: it has the flags of both, but for
// those of several releases, or of a release that is there.
func TestFitHasAllFlags(t *testing.T) {
	all := called(t, "fit").Flags()
	others := []string{"covariates", "pooling", "same-rows", "print-prior", "verify"}
	for _, cmd := range []*cobra.Command{called(t, "release"), called(t, "infer")} {
		for word := range strings.FieldsSeq(cmd.Flags().FlagUsages()) {
			name, isFlag := strings.CutPrefix(word, "--")
			if !isFlag || name == "output" || slices.Contains(others, name) {
				continue
			}
			own, other := cmd.Flags().Lookup(name), all.Lookup(name)
			if own != nil && (other == nil || other.DefValue != own.DefValue) {
				t.Errorf("--%s of %s is not the same in fit", name, cmd.Name())
			}
		}
	}
}

func TestHelp(t *testing.T) {
	for _, args := range []string{"", "--help", "schema --help", "release --help", "infer --help", "fit --help", "show --help", "predict --help", "check --help", "--version", "help fit", "ledger", "ledger --help", "ledger init --help", "ledger show --help"} {
		if r := command(strings.Fields(args)...); r.code != done || r.stdout == "" || r.stderr != "" {
			t.Errorf("dpreg %s: exit code %d, stderr %q", args, r.code, r.stderr)
		}
	}
}

func TestCompletion(t *testing.T) {
	for flag, want := range map[string]string{"--format": "table\njson\ncsv\n", "--method": strings.Join(methods(&cobra.Command{}), "\n") + "\n"} {
		if r := command("__complete", "infer", flag, ""); !strings.HasPrefix(r.stdout, want) {
			t.Errorf("%s completes to %q", flag, r.stdout)
		}
	}
}

// There is help on commands and topics; of anything else, that there is none.
func TestNoHelp(t *testing.T) {
	for _, args := range []string{"help factor", "help fit factors", "help account factor"} {
		command(strings.Fields(args)...).says(t, "there is help on account, ask, audit, ").ends(t, misused)
	}
}

// Help says where rows may be.
func TestHelpNamesPlacesOfRows(t *testing.T) {
	for _, name := range []string{"release", "fit", "schema"} {
		for _, text := range []string{"DATA is a file", "PostgreSQL"} {
			if shown := command(name, "--help").stdout; !strings.Contains(shown, text) {
				t.Errorf("%s --help does not say %q", name, text)
			}
		}
	}
}

// --help has a heading for each group of flags, in one order; where there are few, one.
func TestHelpGroupsFlags(t *testing.T) {
	for name, want := range map[string][]string{
		"fit":         {"Flags, data:", "--schema", "Flags, privacy:", "--eps", "Flags, model:", "--prior", "Flags, sampling:", "--ess", "Flags, output:", "--format", "--help"},
		"schema":      {"Flags, data:", "--delim", "--from", "Flags, output:", "--output", "--help"},
		"ledger init": {"Flags:", "--data", "--eps", "--help"},
	} {
		rest := command(append(strings.Fields(name), "--help")...).stdout
		if n := strings.Count(rest, "\nFlags"); n != strings.Count(strings.Join(want, ""), "Flags") {
			t.Errorf("%s has %d headings", name, n)
		}
		_, rest, _ = strings.Cut(rest, "Examples:")
		for _, word := range want {
			_, after, ok := strings.Cut(rest, word)
			if !ok {
				t.Errorf("%s: %q is not there, or out of order", name, word)
			}
			rest = after
		}
	}
}

// Every declaration is of a command: none of a flag that no command has, or of a command that
// there is not.
func TestDeclaredFlagsAreUsed(t *testing.T) {
	var commands []*cobra.Command
	for _, c := range newRoot(nil).Commands() {
		commands = append(append(commands, c), c.Commands()...)
	}
	for _, d := range (&flags{cmd: silent(t)}).all(func(string) bool { return true }) {
		for name := range strings.FieldsSeq(d.of) {
			if !slices.ContainsFunc(commands, func(c *cobra.Command) bool { return c.Name() == name && c.Flags().Lookup(d.name) != nil }) {
				t.Errorf("--%s is declared for %s, which has no such flag", d.name, name)
			}
		}
		if !slices.ContainsFunc(commands, func(c *cobra.Command) bool { f := c.Flags().Lookup(d.name); return f != nil && f.Usage == d.usage }) && d.name != "method" {
			t.Errorf("--%s of %q is no command's: %s", d.name, d.of, d.usage)
		}
	}
}
