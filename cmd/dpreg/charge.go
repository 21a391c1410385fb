package main

import (
	"context"
	"fmt"
	"io"
	"math/big"
	"path/filepath"
	"strconv"

	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/mechanisms/ledger"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/report"
)

// payment is what a release charges to the ledger of --ledger; nil without one.
type payment struct {
	*ledger.Ledger
	cost   []ledger.Charge
	number int64 // of the last charge; 0 before there is one
}

// payment refuses, before anything is read, what the ledger has no room for.
func (o *order) payment(ctx context.Context, stderr io.Writer) (*payment, error) {
	if o.ledger == "" {
		return nil, nil
	}
	cost, err := o.cost()
	if err != nil {
		return nil, err
	}
	return newPayment(ctx, stderr, o.ledger, cost...)
}

// newPayment refuses what a ledger has no room for.
func newPayment(ctx context.Context, stderr io.Writer, path string, cost ...ledger.Charge) (*payment, error) {
	l, err := openLedger(ctx, stderr, path)
	if err != nil {
		return nil, err
	}
	if err := l.Check(ctx, cost...); err != nil {
		l.Close()
		return nil, ledgerError(err)
	}
	return &payment{Ledger: l, cost: cost}, nil
}

// cost is what the release that is ordered states of its privacy and its noise. Where
// the bounds are found in the rows and the noise is Gaussian, these are two charges,
// since a ledger counts the two kinds of noise apart; they add up to the whole.
func (o *order) cost() ([]ledger.Charge, error) {
	path, err := filepath.Abs(o.path)
	if err != nil {
		return nil, err
	}
	c := ledger.Charge{
		Epsilon:    asStated(o.privacy.Epsilon),
		Delta:      asStated(o.privacy.Delta),
		Noise:      ledger.Noise(o.noise),
		Neighbours: string(o.privacy.Neighbours),
		Release:    path,
	}
	if o.noise != release.Gaussian {
		return []ledger.Charge{c}, nil
	}
	noise, err := o.calibrate()
	c.Sensitivity, c.Scale = noise.Sensitivity, noise.Scale
	if o.bounds == nil {
		return []ledger.Charge{c}, usage(err)
	}
	found := c
	found.Epsilon, found.Delta = asStated(o.bounds.Epsilon), new(big.Rat)
	found.Noise, found.Sensitivity, found.Scale = ledger.Laplace, 0, 0
	c.Epsilon = new(big.Rat).Sub(c.Epsilon, found.Epsilon)
	return []ledger.Charge{found, c}, usage(err)
}

// runCharge is what a run of noisy sums over samples costs: the (ε, δ) asked for, and what
// the run is worth as one Gaussian release. It is named by a path.
func runCharge(f *releaseFlags, name string, all ...accounting.Training) (c ledger.Charge, err error) {
	var run accounting.Composition
	for _, t := range all {
		if err := run.Sampled(t); err != nil {
			return c, err
		}
	}
	delta, err := f.parseDelta()
	if err != nil {
		return c, err
	}
	mu, err := run.AsGaussian(delta)
	if err != nil {
		return c, err
	}
	if name, err = filepath.Abs(name); err != nil {
		return c, err
	}
	return ledger.Charge{
		Epsilon: asWritten(f.epsilon), Delta: asWritten(f.delta), Noise: ledger.Sampled,
		Sensitivity: mu, Scale: 1, Neighbours: f.neighbours, Release: name,
	}, nil
}

// asStated is the value of the decimal that a release states, to which its noise is
// calibrated.
func asStated(x float64) *big.Rat { return asWritten(strconv.FormatFloat(x, 'g', -1, 64)) }

// pay charges: from here on ε is spent, whatever happens.
func (p *payment) pay(ctx context.Context, stderr io.Writer) error {
	if p == nil {
		return nil
	}
	var err error
	if p.number, err = p.Charge(ctx, p.cost...); err != nil {
		return ledgerError(err)
	}
	note(stderr, "charged to %s as %s", p.Path(), p.numbers())
	return nil
}

// numbers names the charges.
func (p *payment) numbers() string {
	if len(p.cost) == 1 {
		return fmt.Sprintf("No %d", p.number)
	}
	return fmt.Sprintf("No %d (bounds) and No %d (sums)", p.number-1, p.number)
}

// finish notes in the ledger whether the release that was paid for was written.
func (p *payment) finish(ctx context.Context, stderr io.Writer, written bool) {
	if p == nil {
		return
	}
	defer p.Close()
	switch {
	case p.number == 0:
	case !written:
		note(stderr, "%s keeps the charge %s, though this run failed: its noise may have been drawn", p.Path(), p.numbers())
	default:
		p.tell(context.WithoutCancel(ctx), stderr)
	}
}

// tell says what is left. The release is there: nothing of this can fail it.
func (p *payment) tell(ctx context.Context, stderr io.Writer) {
	for i := range p.cost {
		if err := p.SetWritten(ctx, p.number-int64(i)); err != nil {
			note(stderr, "%s does not show that %s was written: %v", p.Path(), p.numbers(), err)
		}
	}
	h, err := p.History(ctx)
	if err != nil {
		note(stderr, "%v", err)
		return
	}
	left, err := report.Left(h, p.cost[len(p.cost)-1].Noise, p.cost[len(p.cost)-1].Delta)
	if err != nil {
		note(stderr, "%v", err)
		return
	}
	note(stderr, "%s, the ledger of %s, has for one more release: %s", p.Path(), h.Budget.Data, left)
}

// charged says of a release that is used again whether the ledger counts it.
func (o *order) charged(ctx context.Context, stderr io.Writer) error {
	if o.ledger == "" {
		return nil
	}
	cost, err := o.cost()
	if err != nil {
		return err
	}
	l, err := openLedger(ctx, stderr, o.ledger)
	if err != nil {
		return err
	}
	defer l.Close()
	h, err := l.History(ctx)
	if err != nil {
		return ledgerError(err)
	}
	last := cost[len(cost)-1]
	for _, e := range h.Entries {
		if e.Release == last.Release && e.Epsilon.Cmp(last.Epsilon) == 0 && e.Delta.Cmp(last.Delta) == 0 {
			note(stderr, "nothing is charged to %s, which has this release as No %d", o.ledger, e.Number)
			return nil
		}
	}
	note(stderr, "warning: nothing is charged to %s, but it has no charge for %s: what that release spent, it does not count", o.ledger, o.path)
	return nil
}
