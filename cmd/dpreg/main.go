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
	"os"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/pushdown"
)

func main() { os.Exit(run(custody.UntilInterrupted(), os.Stdout, os.Stderr, os.Args[1:])) }

// run is the whole program but for the process: it returns the exit code. Messages may quote
// what was typed, but no secret of it.
func run(ctx context.Context, stdout, stderr io.Writer, args []string) int {
	stderr = pushdown.Hide(stderr, pushdown.Secrets(args...))
	root := newRoot()
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

// note writes one message to stderr.
func note(stderr io.Writer, format string, args ...any) {
	fmt.Fprintln(stderr, "dpreg: "+fmt.Sprintf(format, args...))
}
