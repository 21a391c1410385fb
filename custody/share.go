package custody

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"

	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/ssp"
)

// sharesFile is what a custodian sends to all others, in the order of the session.
type sharesFile struct {
	Format    string   `json:"format"`
	Session   *Session `json:"session"`
	Custodian string   `json:"custodian"`
	Simulated bool     `json:"simulated,omitzero"`
	Sealed    [][]byte `json:"sealed"`
}

// Share reads the rows of an order, charges, draws the custodian's share of the noise, and writes shares of
// the noisy sums, sealed for each custodian of the session, to o.Path, which must not exist. Columns
// and privacy are the session's. Each call spends ε, once. Errors are those of Publish.
func (s *Session) Share(ctx context.Context, o Order, key MemberKey) error {
	at, err := s.place(key)
	if err != nil {
		return err
	}
	order, err := s.settle(o)
	if err != nil {
		return err
	}
	read := func(ctx context.Context) (int64, func() ([][]byte, error), error) {
		rows, noised, err := s.read(ctx, order)
		return rows, func() ([][]byte, error) {
			z, err := noised()
			if err != nil {
				return nil, err
			}
			return s.group().Split(key.key, at, z)
		}, err
	}
	return spend(ctx, order, read, func(sealed [][]byte, _ bool, _ *Payment) error {
		f := sharesFile{Format: sharesFormat, Session: s, Custodian: s.Custodians[at].Name, Simulated: order.entropy().IsSimulated(), Sealed: sealed}
		if err := writeNew(order.Path, 0o644, f); err != nil {
			return err
		}
		spent := Describe(s.Privacy)
		if s.Steps > 1 {
			spent = fmt.Sprintf("the part of %s that look %d of %d has", spent, s.look()+1, s.Steps)
		}
		order.sayf("shares written to %s: they spent %s; send them to all custodians", order.Path, spent)
		return nil
	})
}

// read reads the rows, and returns how many there are, and what draws the noise.
func (s *Session) read(ctx context.Context, order *Settled) (rows int64, noised func() ([]*big.Int, error), err error) {
	q, err := s.shared()
	if err != nil {
		return 0, nil, err
	}
	q.Noise = s.Noise
	more := func() int64 {
		if order.people == nil {
			return 0
		}
		return order.people.told.More
	}
	if s.Frame == nil {
		all, err := order.Rows.sum(ctx, order)
		if err != nil {
			return 0, nil, err
		}
		return all.N, func() ([]*big.Int, error) { return q.Share(all.Statistics, more(), order.entropy()) }, nil
	}
	l := &looker{Settled: order}
	radii, err := whole(gather[*ssp.RadiusCount](ctx, l, s.Frame, true))
	if err != nil {
		return 0, nil, err
	}
	sums, err := whole(gather[*ssp.BallAccumulator](ctx, l, s.Frame, false))
	if err != nil {
		return 0, nil, err
	}
	return radii.N(), func() ([]*big.Int, error) { return q.ShareLook(sums, radii, more(), order.entropy()) }, nil
}

// settle is Settle of the order that the session makes of o.
func (s *Session) settle(o Order) (*Settled, error) {
	rule, err := s.rule()
	switch {
	case err != nil:
		return nil, Misuse(err)
	case o.Persons.Column == "" && s.Persons != "":
		return nil, Misusef("the session is private for persons, of whose rows --person-rows %s: say by --person COLUMN whose a row is", s.Persons)
	case o.Persons.Column != "" && s.Persons == "":
		return nil, Misusef("--person: the session is private for rows; custodians agree upon persons by dpreg pool agree --person-rows RULE")
	}
	o.Persons.Rule = rule
	if o.WithMoments || o.ByLevel != "" || o.Bounds.Columns != nil || o.Sign != nil || o.SpendAgain || o.Split != 0 || o.Path == "" {
		return nil, Misuse(errors.New("a share is of sums of rows in public bounds, and goes to a file of its own"))
	}
	say, design := o.Say, s.Schema
	o.Design, o.Privacy, o.Mechanism, o.Steps, o.Say = &design, s.Privacy, release.Gaussian, 1, nil // nothing is to be chosen
	order, err := Settle(o)
	if err != nil {
		return nil, err
	}
	order.Say, order.session, order.Frame = say, s, s.Frame
	if s.Frame != nil {
		if err := order.readable("a look in a frame"); err != nil {
			return nil, err
		}
	}
	if _, err := os.Lstat(o.Path); !errors.Is(err, fs.ErrNotExist) {
		return nil, Refusef("%s exists. Shares that were made once are sent again at no further cost; other ones would spend ε again, and go to another file, by -o FILE", o.Path)
	}
	if err := files.CheckWritable(o.Path); err != nil {
		return nil, Misuse(err)
	}
	return order, nil
}
