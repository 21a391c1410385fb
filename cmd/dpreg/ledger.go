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
		return refusef("%s exists: a ledger is never overwritten, since what it counts stays spent; see dpreg ledger show %s", path, files.Quoted(path))
	case err != nil:
		return custody.LedgerError(err)
	}
	f.note("ledger of %s made: next, dpreg release --ledger %s", b.Data, files.Quoted(path))
	return nil
}

func (f *flags) budget() (b ledger.Budget, err error) {
	if strings.TrimSpace(f.dataName) == "" {
		return b, usagef("--data is missing: name the data set that the budget is of, as in --data pums.csv")
	}
	if strings.ContainsFunc(f.dataName, func(r rune) bool { return r < ' ' }) {
		return b, usagef("--data %q: a name has no line breaks or control characters", f.dataName)
	}
	if _, err := f.privacy(); err != nil {
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
	l, err := custody.OpenLedger(f.ctx(), f.say, args[0])
	if err != nil {
		return err
	}
	defer l.Close()
	h, err := l.History(f.ctx())
	if err != nil {
		return custody.LedgerError(err)
	}
	return buffered(f.stdout(), func(out io.Writer) error { return report.Ledger(out, h) })
}

// payment is that of a run of noisy sums over samples, nil where no ledger is charged: the
// (ε, δ) asked for, and what the run is worth as one Gaussian release. It is named by a path.
func (f *flags) payment(name string, t accounting.Training) (*custody.Payment, error) {
	if f.ledger == "" {
		return nil, nil
	}
	privacy, err := f.privacy()
	if err != nil {
		return nil, err
	}
	mu, err := t.AsGaussian(privacy.Delta)
	if err != nil {
		return nil, err
	}
	if name, err = filepath.Abs(cmp.Or(f.save, name)); err != nil {
		return nil, err
	}
	return custody.NewPayment(f.ctx(), f.say, f.ledger, ledger.Charge{
		Epsilon: asWritten(f.epsilon), Delta: asWritten(f.delta), Noise: ledger.Sampled,
		Sensitivity: mu, Scale: 1, Neighbours: f.neighbours, Release: name,
	})
}
