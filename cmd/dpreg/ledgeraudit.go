package main

import (
	"fmt"
	"io"
	"math/big"
	"strings"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/mechanisms/ledger"
	"github.com/dpreg/dpreg/report"
)

// What auditors and other software have to do with a ledger.

// withLedger lets do work on the ledger that is named.
func (f *flags) withLedger(path string, do func(l *ledger.Ledger, h *ledger.History) error) error {
	l, err := custody.OpenLedger(f.ctx(), f.say, path)
	if err != nil {
		return err
	}
	return f.onLedger(l, func(h *ledger.History) error { return do(l, h) })
}

// onLedger lets do work with the history of an open ledger, which it closes.
func (f *flags) onLedger(l *ledger.Ledger, do func(h *ledger.History) error) error {
	defer l.Close()
	h, err := l.History(f.ctx())
	if err == nil {
		err = do(h)
	}
	return custody.LedgerError(err)
}

// leastHead is how many digits of a head are enough.
const leastHead = 16

func verifyLedger(f *flags, args []string) error {
	head := strings.TrimSpace(f.head)
	if f.given("head") && (len(head) < leastHead || len(head) > 64 || strings.Trim(strings.ToLower(head), "0123456789abcdef") != "") {
		return usagef("--head %q: a head has 64 hexadecimal digits, of which %d are enough", f.head, leastHead)
	}
	return f.withLedger(args[0], func(_ *ledger.Ledger, h *ledger.History) error {
		if head != "" {
			charged, found := h.At(head)
			if !found {
				return refusef("%s does not have the head %s: it was put back to an older copy, it went another way than the ledger that had that head, or it is another one. What was charged after that copy is not counted here", args[0], head)
			}
			f.note("the head is the one after charge %d of %d", charged, len(h.Entries))
		}
		_, err := fmt.Fprintf(f.stdout(), "Whole: %s, head %s\n", report.Count(len(h.Entries), "charge"), h.Head())
		return err
	})
}

func rebindLedger(f *flags, args []string) error {
	return f.withLedger(args[0], func(l *ledger.Ledger, h *ledger.History) error {
		if err := l.Rebind(f.ctx()); err != nil {
			return err
		}
		f.note("the next charge to %s may be of rows that are others than before; what was charged stays charged", args[0])
		return nil
	})
}

// importCharge charges what other software spent.
func importCharge(f *flags, args []string) error {
	c, err := f.importedCharge()
	if err != nil {
		return err
	}
	return f.withLedger(args[0], func(l *ledger.Ledger, h *ledger.History) error {
		c.Neighbours = h.Budget.Neighbours
		n, err := l.Charge(f.ctx(), c)
		if err != nil {
			return err
		}
		if err := l.SetWritten(f.ctx(), n); err != nil {
			return err
		}
		if h, err = l.History(f.ctx()); err != nil {
			return err
		}
		f.note("charged to %s as No %d, head %s: epsilon = %s, delta = %s", args[0], n, h.Head(), custody.Rational(c.Epsilon), custody.Rational(c.Delta))
		return nil
	})
}

// importedCharge is what flags say of one: ε and δ, or μ or ρ with the δ at which they are
// stated as an ε. μ counts as Gaussian noise does; of the others no more is known than (ε, δ).
func (f *flags) importedCharge() (c ledger.Charge, err error) {
	given := 0
	for _, name := range []string{"eps", "mu", "rho"} {
		if f.given(name) {
			given++
		}
	}
	switch {
	case given != 1:
		return c, usagef("say what was spent by one of --eps (with --delta, if it has one), --mu and --rho")
	case strings.TrimSpace(f.dataName) == "" || strings.ContainsFunc(f.dataName, func(r rune) bool { return r < ' ' }):
		return c, usagef("--name is missing: say what was released, in one line, for whoever reads the ledger")
	case !f.given("eps") && f.delta == "":
		return c, usagef("--delta is missing: the ledger states an ε for each charge, of --mu and --rho at this δ, as in --delta 1e-6")
	}
	c = ledger.Charge{Delta: new(big.Rat), Noise: ledger.Laplace, Release: f.dataName}
	if f.delta != "" {
		delta, err := custody.ParseDelta(f.delta)
		if err != nil {
			return c, err
		}
		c.Delta, c.Noise, c.Sensitivity, c.Scale = number.Decimal(delta), ledger.Other, 1, 1
	}
	delta, _ := c.Delta.Float64()
	var epsilon float64
	switch {
	case f.given("mu"):
		c.Noise, c.Sensitivity = ledger.Gaussian, f.mu
		epsilon, err = accounting.Epsilon(1, delta, f.mu)
	case f.given("rho"):
		epsilon, err = accounting.ZCDPEpsilon(f.rho, delta)
	default:
		if _, err := custody.ParseEpsilon(f.epsilon); err != nil {
			return c, err
		}
		c.Epsilon = asWritten(f.epsilon)
		return c, nil
	}
	c.Epsilon = number.Decimal(max(epsilon, 1e-12))
	return c, usage(err)
}

// exportLedger writes a table with a row for each link of the chain.
func exportLedger(f *flags, args []string) error {
	return f.withLedger(args[0], func(_ *ledger.Ledger, h *ledger.History) error {
		write := func(out io.Writer) error { return report.LedgerEvents(out, h) }
		if f.output == "" {
			return buffered(f.stdout(), write)
		}
		if err := (inputs{args[0]}).spare(f.output); err != nil {
			return err
		}
		return files.Write(f.output, public, write)
	})
}
