package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/dpreg/dpreg/custody"
)

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
