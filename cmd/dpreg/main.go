// Command dpreg does Bayesian linear regression under differential privacy.
//
// A custodian makes one small noisy file of sensitive rows (dpreg release); an
// analyst holds only that file and infers from it (dpreg infer), as often as
// wanted and at no further cost. Where both are one person, dpreg fit does the
// two together. Results go to stdout, everything else to stderr.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/pushdown"
)

func main() { os.Exit(run(untilInterrupted(), os.Stdout, os.Stderr, os.Args[1:])) }

// untilInterrupted is done at the first Ctrl-C. A second one, should the first take too
// long, ends the process at once: files are renamed into place, so none is left half
// written.
func untilInterrupted() context.Context {
	ctx, stop := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		stop()
		<-signals
		os.Exit(interrupted)
	}()
	return ctx
}

// run is the whole program but for the process: it returns the exit code. Messages may quote
// what was typed, but no secret of it.
func run(ctx context.Context, stdout, stderr io.Writer, args []string) int {
	stderr = pushdown.Hide(stderr, pushdown.Secrets(args...))
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return exitCode(ctx, stderr, root.ExecuteContext(context.WithValue(ctx, argsKey{}, args)))
}

// The exit codes.
const (
	done        = 0
	failed      = 1 // it went wrong though nothing was asked wrongly
	misused     = 2 // wrong usage or input
	refused     = 3 // for privacy
	unconverged = 4 // done, but a convergence diagnostic failed
	interrupted = 130
)

// exitError is an error with the exit code that it calls for.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// usage marks an error as the user's: a flag, a file or data that cannot serve.
// Where the run was interrupted, that is what went wrong.
func usage(err error) error { return custody.Misuse(err) }

func usagef(format string, args ...any) error { return custody.Misusef(format, args...) }

func refusef(format string, args ...any) error { return custody.Refusef(format, args...) }

// exitCode prints the error, if there is one, and returns its code. What fails in a run
// that was interrupted, failed of that.
func exitCode(ctx context.Context, stderr io.Writer, err error) int {
	if err == nil {
		return done
	}
	if errors.Is(err, context.Canceled) {
		note(stderr, "interrupted")
		return interrupted
	}
	note(stderr, "%v", err)
	var coded *exitError
	var asked *custody.Error
	switch {
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &asked) && asked.Private:
		return refused
	case asked != nil:
		return misused
	case ctx.Err() != nil:
		return interrupted
	}
	return failed
}

// note writes one message to stderr.
func note(stderr io.Writer, format string, args ...any) {
	fmt.Fprintln(stderr, "dpreg: "+fmt.Sprintf(format, args...))
}
