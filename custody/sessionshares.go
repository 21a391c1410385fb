package custody

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"

	"github.com/dpreg/dpreg/adaptive"
	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/shares"
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
		if err := writeNew(order.Path, files.MoveNew, f); err != nil {
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
		all, err := order.sum(ctx)
		if err != nil {
			return 0, nil, err
		}
		return all.N, func() ([]*big.Int, error) { return q.Share(all, more(), order.entropy()) }, nil
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

// maskedFile is a custodian's sum of the shares that it was sent, which tells nothing by itself.
type maskedFile struct {
	Format    string   `json:"format"`
	Session   *Session `json:"session"`
	Custodian string   `json:"custodian"`
	Simulated bool     `json:"simulated,omitzero"`
	Of        []string `json:"of"`     // custodians whose shares they are
	Shares    []byte   `json:"shares"` // SHA-256 of these
	Sums      []byte   `json:"sums"`
}

// Mask adds up the shares in these files that are for the custodian with this key, and writes the sum to
// path, which must not exist. Then the key is gone: a custodian adds up once in a session,
// or two sums of different custodians would tell of those that one has and the other has not.
func Mask(key MemberKey, path string, from []string) error {
	if err := files.CheckWritable(path); err != nil {
		return Misuse(err)
	}
	m, sealed, at, err := collect(key, from)
	if err != nil {
		return err
	}
	if m.Sums, err = m.Session.group().Add(key.key, at, sealed); err != nil {
		return m.Session.blame(err)
	}
	spent := func(temporary, target string) error {
		if _, err := os.Lstat(target); err == nil {
			return os.ErrExist
		}
		if err := os.Remove(key.path); err != nil {
			return err
		}
		if err := files.SyncDir(filepath.Dir(key.path)); err != nil {
			return err
		}
		return files.MoveNew(temporary, target)
	}
	return writeNew(path, spent, m)
}

// collect reads the shares, and what of them is for the custodian with the key.
func collect(key MemberKey, from []string) (m maskedFile, sealed map[int][]byte, at int, err error) {
	digest := sha256.New()
	all := map[int]*sharesFile{}
	for _, path := range from {
		var f sharesFile
		if err := readAs(path, sharesFormat, &f, &f.Format); err != nil {
			return m, nil, 0, err
		}
		i, err := join(&m.Session, f.Session, f.Custodian, path)
		if err != nil {
			return m, nil, 0, err
		}
		switch {
		case all[i] != nil:
			return m, nil, 0, Misusef("%s: shares of %s are there already; of two that it made, all custodians must take the same", path, f.Custodian)
		case len(f.Sealed) != len(m.Session.Custodians):
			return m, nil, 0, Misusef("%s: shares for %d custodians, not for all %d", path, len(f.Sealed), len(m.Session.Custodians))
		}
		all[i] = &f
	}
	s := m.Session
	if s == nil {
		return m, nil, 0, Misusef("there are no shares")
	}
	if len(all) < s.threshold() {
		return m, nil, 0, Refusef("shares of %d custodians: the session needs those of %d, or noise would be less than it promises", len(all), s.threshold())
	}
	if at, err = s.place(key); err != nil {
		return m, nil, 0, err
	}
	m.Format, m.Custodian, sealed = maskedFormat, s.Custodians[at].Name, map[int][]byte{}
	for i, member := range s.Custodians { // in this order, whatever that of the files
		f := all[i]
		if f == nil {
			continue
		}
		m.Of, m.Simulated, sealed[i] = append(m.Of, member.Name), m.Simulated || f.Simulated, f.Sealed[at]
		for _, share := range f.Sealed {
			sum := sha256.Sum256(share)
			digest.Write(sum[:])
		}
	}
	m.Shares = digest.Sum(nil)
	return m, sealed, at, nil
}

// join checks that a file is of the session of those before it, and gives the place of its custodian.
func join(session **Session, s *Session, custodian, path string) (int, error) {
	if s == nil {
		return 0, Misusef("%s: it has no session", path)
	}
	if err := s.check(); err != nil {
		return 0, Misusef("%s: session: %w", path, err)
	}
	if *session == nil {
		*session = s
	}
	i := s.named(custodian)
	switch {
	case s.digest() != (*session).digest():
		return 0, Misusef("%s is of another session than the files before it", path)
	case i < 0:
		return 0, Misusef("%s: %q is no custodian of the session: %s", path, custodian, s.names())
	}
	return i, nil
}

// blame names the custodian of what package shares says of a member.
func (s *Session) blame(err error) error {
	var of *shares.MemberError
	if errors.As(err, &of) {
		return Misusef("of %s: %w", s.Custodians[of.Member].Name, of.Err)
	}
	return Misuse(err)
}

// Total is the release of the sums of all custodians, by the files that enough of them wrote by Mask. It
// refuses files that are not of one session and of the same shares, and sums that were changed.
func Total(from []string) (*release.Release, error) {
	var session *Session
	var first maskedFile
	sums := map[int][]byte{}
	for k, path := range from {
		var f maskedFile
		if err := readAs(path, maskedFormat, &f, &f.Format); err != nil {
			return nil, err
		}
		i, err := join(&session, f.Session, f.Custodian, path)
		if err != nil {
			return nil, err
		}
		if k == 0 {
			first = f
		}
		switch {
		case sums[i] != nil:
			return nil, Misusef("%s: the sum of %s is there already", path, f.Custodian)
		case !bytes.Equal(f.Shares, first.Shares) || f.Simulated != first.Simulated:
			return nil, Misusef("%s is of other shares than %s: all custodians must add up the same files. Each adds up once, so this session is over; begin another, which is charged anew", path, from[0])
		}
		sums[i] = f.Sums
	}
	if session == nil {
		return nil, Misusef("there are no sums")
	}
	if err := session.covers(first.Of); err != nil {
		return nil, Misusef("%s: %w", from[0], err)
	}
	total, err := session.group().Total(sums)
	if err != nil {
		return nil, session.blame(err)
	}
	r, err := session.release(total, first)
	return r, Misuse(err)
}

// release is that of a total of the shares that m is of.
func (s *Session) release(total []*big.Int, m maskedFile) (*release.Release, error) {
	q, err := s.shared()
	if err != nil {
		return nil, err
	}
	q.Noise = s.Noise
	privacy, schema := s.Privacy, s.Schema
	r := &release.Release{
		Simulated: m.Simulated, Schema: schema, Privacy: &privacy,
		Pooled: &release.Pooled{Custodians: int64(len(m.Of)), Colluding: int64(s.Colluding)},
	}
	if s.Former != nil {
		r.Steps, r.Persons = s.Former.Looks(), s.Former.Persons
		r.Simulated = r.Simulated || s.Former.Simulated
		if s.Privacy.Neighbours != release.AddRemove {
			for i := range r.Steps {
				r.Steps[i].N = 0 // the last look has it
			}
		}
	} else if s.Persons != "" {
		rule, err := s.rule()
		if err != nil {
			return nil, err
		}
		r.Persons = &release.Persons{Rows: string(rule.Kind), Most: int64(rule.Most)}
	}
	if s.Frame != nil {
		r.Pooled.Rounds, r.Pooled.Rows = int64(s.Steps), s.Rows
	}
	if err := q.Total(total, r); err != nil || r.Frame == nil {
		return r, err
	}
	look := r.Looks()[len(r.Steps)]
	frame := *r.Frame
	r.Frame, frame.Lost = &frame, adaptive.Lost(&look, float64(r.N))
	return r, r.Validate()
}

// covers refuses names that are not those of enough different custodians.
func (s *Session) covers(names []string) error {
	seen := map[int]bool{}
	for _, name := range names {
		seen[s.named(name)] = true
	}
	if seen[-1] || len(seen) != len(names) || len(seen) < s.threshold() {
		return errors.New("it is not of enough custodians of the session")
	}
	return nil
}
