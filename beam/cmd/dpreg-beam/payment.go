package main

import (
	"context"
	"errors"
	"io"
	"math/big"
	"path/filepath"
	"strconv"

	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/mechanisms/ledger"
	"github.com/dpreg/dpreg/release"
)

// payment is what a release charges to the ledger of --ledger, if there is one.
type payment struct {
	ledger  *ledger.Ledger // nil: none
	cost    ledger.Charge
	number  int64 // of the charge; 0 before there is one
	written bool  // the release that was paid for
}

// payment refuses, before anything is read, what the ledger has no room for.
func (o *order) payment(ctx context.Context, stderr io.Writer) (*payment, error) {
	if o.ledger == "" {
		return &payment{}, nil
	}
	path, err := filepath.Abs(o.output)
	if err != nil {
		return nil, err
	}
	p := &payment{cost: ledger.Charge{
		Epsilon:    asStated(o.privacy.Epsilon),
		Delta:      asStated(o.privacy.Delta),
		Noise:      ledger.Noise(o.noise),
		Neighbours: string(o.privacy.Neighbours),
		Release:    path,
	}}
	if o.noise == release.Gaussian {
		p.cost.Sensitivity, p.cost.Scale = o.stated.Sensitivity, o.stated.Scale
	}
	if p.ledger, err = ledger.Open(ctx, o.ledger, accounting.Sigma); err != nil {
		return nil, ledgerError(err)
	}
	if p.ledger.Taken() {
		note(stderr, "other users had rights on %s: only its owner can use it now", o.ledger)
	}
	if err := p.ledger.Check(ctx, p.cost); err != nil {
		return nil, errors.Join(ledgerError(err), p.ledger.Close())
	}
	return p, nil
}

// asStated is the value of the decimal that a release states.
func asStated(x float64) *big.Rat {
	r, _ := new(big.Rat).SetString(strconv.FormatFloat(x, 'g', -1, 64))
	return r
}

// pay charges: from here on ε is spent, whatever happens.
func (p *payment) pay(ctx context.Context, stderr io.Writer) (err error) {
	if p.ledger == nil {
		return nil
	}
	if p.number, err = p.ledger.Charge(ctx, p.cost); err != nil {
		return ledgerError(err)
	}
	note(stderr, "charged to %s as No %d", p.ledger.Path(), p.number)
	return nil
}

// finish notes in the ledger whether the release that was paid for was written.
func (p *payment) finish(ctx context.Context, stderr io.Writer) {
	if p.ledger == nil {
		return
	}
	defer p.ledger.Close()
	switch {
	case p.number == 0:
	case !p.written:
		note(stderr, "%s keeps the charge No %d, though this run failed: its noise may have been drawn", p.ledger.Path(), p.number)
	default:
		if err := p.ledger.SetWritten(context.WithoutCancel(ctx), p.number); err != nil {
			note(stderr, "%s does not show that No %d was written: %v", p.ledger.Path(), p.number, err)
		}
	}
}

// ledgerError gives an error of a ledger the exit code that it calls for.
func ledgerError(err error) error {
	var exhausted *ledger.ExhaustedError
	switch {
	case errors.As(err, &exhausted):
		return refusef("%s has no room for this release: nothing was charged or released; dpreg ledger show %s tells what is left", exhausted.Path, exhausted.Path)
	case errors.Is(err, ledger.ErrUnusable):
		return usage(err)
	}
	return err
}
