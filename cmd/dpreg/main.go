// Command dpreg does Bayesian linear regression under differential privacy.
//
// A custodian makes one small noisy file of sensitive rows (dpreg release); an
// analyst holds only that file and infers from it (dpreg infer), as often as
// wanted and at no further cost. Where both are one person, dpreg fit does the
// two together. Results go to stdout, everything else to stderr.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

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
