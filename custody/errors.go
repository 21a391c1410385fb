package custody

import (
	"context"
	"errors"
	"fmt"

	"github.com/dpreg/dpreg/mechanisms/ledger"
)

// Error says that an order was refused: nothing was released, and nobody saw noise.
type Error struct {
	Private bool // it was refused for privacy; else it is a mistake in the order or its files
	err     error
}

func (e *Error) Error() string { return e.err.Error() }
func (e *Error) Unwrap() error { return e.err }

// Misuse marks an error as one of the order. A run that was interrupted failed of that.
func Misuse(err error) error {
	var marked *Error
	if err == nil || errors.Is(err, context.Canceled) || errors.As(err, &marked) {
		return err
	}
	return &Error{err: err}
}

// Misusef is an error of the order.
func Misusef(format string, args ...any) error { return Misuse(fmt.Errorf(format, args...)) }

// Refusef is a refusal for privacy.
func Refusef(format string, args ...any) error { return &Error{true, fmt.Errorf(format, args...)} }

// LedgerError makes an *Error of what a ledger refuses.
func LedgerError(err error) error {
	var e *ledger.ExhaustedError
	switch {
	case errors.As(err, &e):
		left, err := Left(e.History, e.Charge.Noise, e.Charge.Delta)
		if err != nil {
			return err
		}
		return Refusef("%s, the ledger of %s, has no room for epsilon = %s, delta = %s: nothing was charged or released.\n  Left for one more release: %s",
			e.Path, e.History.Budget.Data, Rational(e.Charge.Epsilon), Rational(e.Charge.Delta), left)
	case errors.Is(err, ledger.ErrUnusable):
		return Misuse(err)
	}
	return err
}
