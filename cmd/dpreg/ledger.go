package main

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"math/big"
	"path/filepath"
	"strings"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/mechanisms/ledger"
	"github.com/dpreg/dpreg/report"
)

func initLedger(f *flags, args []string) error {
	b, err := f.budget()
	if err != nil {
		return err
	}
	path := args[0]
	err = ledger.Create(f.ctx(), path, b)
	switch {
	case errors.Is(err, fs.ErrExist):
		return f.setTotal(path, b)
	case err != nil:
		return custody.LedgerError(err)
	}
	f.note("ledger of %s made: next, dpreg release --ledger %s", b.Data, files.Quoted(path))
	return nil
}

// setTotal gives a total to a ledger that a release made without one.
func (f *flags) setTotal(path string, b ledger.Budget) error {
	exists := refusef("%s exists: a ledger is never overwritten, since what it counts stays spent; see dpreg ledger show %s", path, files.Quoted(path))
	l, err := custody.OpenLedger(f.ctx(), f.say, path)
	if err != nil {
		return exists // or is no ledger
	}
	return f.onLedger(l, func(h *ledger.History) error {
		if h.Budget.Epsilon != nil {
			return exists
		}
		err := l.SetTotal(f.ctx(), b)
		if err == nil {
			f.note("%s, the ledger of %s, has a total now", path, h.Budget.Data)
		}
		return err
	})
}

func (f *flags) budget() (b ledger.Budget, err error) {
	if strings.TrimSpace(f.dataName) == "" {
		return b, usagef("--data is missing: name the data set that the budget is of, as in --data pums.csv")
	}
	if strings.ContainsFunc(f.dataName, func(r rune) bool { return r < ' ' }) {
		return b, usagef("--data %q: a name has no line breaks or control characters", f.dataName)
	}
	if _, err := custody.ParsePrivacy(f.epsilon, f.delta, strings.TrimSuffix(f.neighbours, ledger.OfPersons)); err != nil {
		return b, err
	}
	delta := asWritten(cmp.Or(f.delta, "0"))
	return ledger.Budget{Data: f.dataName, Neighbours: f.neighbours, Epsilon: asWritten(f.epsilon), Delta: delta, Filter: ledger.Filter(f.filter)}, nil
}

// asWritten is the value of a number that schema.ParseNumber reads, to its last digit.
func asWritten(text string) *big.Rat {
	x, _ := new(big.Rat).SetString(strings.TrimSpace(text))
	return x
}

func showLedger(f *flags, args []string) error {
	return f.withLedger(args[0], func(_ *ledger.Ledger, h *ledger.History) error {
		return buffered(f.stdout(), func(out io.Writer) error { return report.Ledger(out, h) })
	})
}

// ledgerOf is the ledger of data: the one named or, unless there is to be none, the one beside
// them.
func (f *flags) ledgerOf(data string) custody.Account {
	if f.noLedger || f.ledger != "" {
		return custody.Account{Path: f.ledger}
	}
	return custody.Account{Path: besides(data, ".ledger.db"), Make: true, Data: filepath.Base(data)}
}

func (f *flags) payment(data string) (*custody.Payment, error) {
	return custody.NewPayment(f.ctx(), f.say, f.ledgerOf(data), f.neighbours)
}

// orderRun says what a run of noisy sums over samples is charged: the (ε, δ) asked for, and what
// it is worth as one Gaussian release. It is named by a path.
func (f *flags) orderRun(p *custody.Payment, name string, t accounting.Training) error {
	if p == nil {
		return nil
	}
	privacy, err := f.privacy()
	if err != nil {
		return err
	}
	mu, err := t.AsGaussian(privacy.Delta)
	if err != nil {
		return err
	}
	if name, err = filepath.Abs(name); err != nil {
		return err
	}
	return p.Order(f.ctx(), ledger.Charge{
		Epsilon: asWritten(f.epsilon), Delta: asWritten(f.delta), Noise: ledger.Sampled,
		Sensitivity: mu, Scale: 1, Neighbours: f.neighbours, Release: name,
	})
}
