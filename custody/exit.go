package custody

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/dpreg/dpreg/mechanisms/ledger"
)

// The exit codes of the programs.
const (
	Done        = 0
	Failed      = 1 // it went wrong though nothing was asked wrongly
	Misused     = 2 // wrong usage or input
	Refused     = 3 // for privacy
	Unconverged = 4 // done, but a convergence diagnostic failed
	Interrupted = 130
)

// ExitCode is that of an order that was refused.
func (e *Error) ExitCode() int {
	if e.Private {
		return Refused
	}
	return Misused
}

// Exit writes a program's error, if there is one, to stderr and returns the exit code: that
// of an error that has one. What fails in a run that was interrupted, failed of that.
func Exit(ctx context.Context, stderr io.Writer, program string, err error) int {
	if err == nil {
		return Done
	}
	if errors.Is(err, context.Canceled) {
		fmt.Fprintf(stderr, "%s: interrupted\n", program)
		return Interrupted
	}
	fmt.Fprintf(stderr, "%s: %v\n", program, err)
	var coded interface{ ExitCode() int }
	switch {
	case errors.As(err, &coded):
		return coded.ExitCode()
	case ctx.Err() != nil:
		return Interrupted
	}
	return Failed
}

// UntilInterrupted is done at the first Ctrl-C. A second one, should the first take too
// long, ends the process at once, or after the moment that a charge takes: other files are renamed into place, so
// none is left half written.
func UntilInterrupted() context.Context {
	ctx, stop := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		stop()
		<-signals
		ledger.AtRest(2 * time.Second)
		os.Exit(Interrupted)
	}()
	return ctx
}
