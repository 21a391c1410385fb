package audit

import (
	"context"
	"strings"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

// Path is a way from rows to releases. It reads a table, CSV in the data's units, and
// returns what publishes it: with fresh noise at each call, by any number of goroutines
// at once. trial numbers the calls of an audit, for paths that are to be repeatable.
type Path func(ctx context.Context, csv string) (func(ctx context.Context, trial int) (*release.Release, error), error)

// Released is the path of custody.Publish, with the noise of the operating system, but that
// rows are read and summed once.
func (a *Audit) Released() Path {
	return a.released(func(int) *mechanisms.Entropy { return nil })
}

func (a *Audit) released(entropy func(trial int) *mechanisms.Entropy) Path {
	return func(ctx context.Context, csv string) (func(context.Context, int) (*release.Release, error), error) {
		d := a.design()
		s, err := dpreg.Accumulate(ctx, table.CSV(strings.NewReader(csv), "pair", d), d)
		if err != nil {
			return nil, err
		}
		order, err := a.order(s)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, trial int) (*release.Release, error) {
			o := *order
			o.Entropy = entropy(trial)
			return o.Publish(ctx)
		}, nil
	}
}

// order is that of a release of sums of rows.
func (a *Audit) order(s *ssp.Statistics) (*custody.Settled, error) {
	return custody.Settle(custody.Order{Rows: custody.Summed(s), Design: a.design(), Privacy: a.Privacy, Mechanism: a.Noise})
}
