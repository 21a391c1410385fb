package custody

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"slices"

	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/mechanisms/ledger"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/table"
)

// Account is the ledger that a run charges; without a path there is none.
type Account struct {
	Path string
	Make bool   // one that is not there is made by the first charge, without a total
	Data string // whose it is then
}

// Payment is what a run charges to a ledger. One that is nil charges nothing.
type Payment struct {
	*ledger.Ledger // nil until it is made
	path           string
	made           ledger.Budget // of one that is to be made
	key            ledger.Key
	say            func(text string)
	cost           []ledger.Charge
	number         int64           // of the last charge; 0 before there is one
	after          *ledger.History // it
	answers        int             // that were noted
}

// NewPayment opens a ledger, and refuses what it has no room for. It is nil where there is none
// to be charged.
func NewPayment(ctx context.Context, say func(text string), a Account, relation string, cost ...ledger.Charge) (*Payment, error) {
	if a.Path == "" {
		return nil, nil
	}
	p := &Payment{path: a.Path, say: say}
	if _, err := os.Lstat(a.Path); a.Make && errors.Is(err, fs.ErrNotExist) {
		p.made, p.key = ledger.Budget{Data: a.Data, Neighbours: relation, Delta: new(big.Rat), Filter: ledger.Auto}, ledger.NewKey()
		if err := files.CheckWritable(a.Path); err != nil {
			return nil, Misusef("no ledger can be made beside the data: %w. Name one elsewhere, by --ledger FILE, or say --no-ledger", err)
		}
		return p, p.Order(ctx, cost...)
	}
	var err error
	if p.Ledger, err = OpenLedger(ctx, say, a.Path); err != nil {
		return nil, err
	}
	if p.key, err = p.Key(ctx); err == nil {
		err = p.Order(ctx, cost...)
	}
	if err != nil {
		p.Close()
		return nil, LedgerError(err)
	}
	return p, nil
}

// Order says what will be charged, and refuses what there is no room for.
func (p *Payment) Order(ctx context.Context, cost ...ledger.Charge) error {
	if p == nil {
		return nil
	}
	if p.cost = cost; p.Ledger == nil {
		return nil
	}
	return LedgerError(p.Check(ctx, nil, cost...))
}

// Marks are to be given the rows that the ledger is to know again.
func (p *Payment) Marks() *table.Marks {
	if p == nil {
		return nil
	}
	return table.NewMarks(p.key)
}

// OpenLedger opens a ledger, and says so where others could open it until now.
func OpenLedger(ctx context.Context, say func(text string), path string) (*ledger.Ledger, error) {
	l, err := ledger.Open(ctx, path)
	if err != nil {
		return nil, LedgerError(err)
	}
	if l.Taken {
		say(fmt.Sprintf("other users had rights on %s: only its owner can use it now", path))
	}
	return l, nil
}

// Pay charges for rows with these marks, nil where there are none: from here on ε is spent,
// whatever happens.
func (p *Payment) Pay(ctx context.Context, marks *table.Marks) (err error) {
	if p == nil {
		return nil
	}
	if err := p.make(ctx); err != nil {
		return err
	}
	var sums ledger.Marks
	if marks != nil {
		sums = marks.Sums()
	}
	if p.number, p.after, err = p.ChargeFor(ctx, sums, p.cost...); err != nil {
		return LedgerError(err)
	}
	p.say(fmt.Sprintf("charged to %s as %s, head %s", p.path, p.numbers(), p.after.Head()))
	return nil
}

// Stands tells whether the ledger counts a charge of this name, of rows with these marks: what it paid for may go
// on after so many rounds that were answered. Errors: the ledger counts other rows, or more rounds.
func (p *Payment) Stands(ctx context.Context, name string, rounds int, marks *table.Marks) (bool, error) {
	if p.Ledger == nil {
		return false, nil
	}
	h, err := p.History(ctx)
	if err != nil {
		return false, LedgerError(err)
	}
	for _, e := range slices.Backward(h.Entries) {
		if e.Release != name {
			continue
		}
		if last := h.Answered(e.Number); last > rounds {
			return false, Refusef("%s is an older copy of itself: it ends with round %d, and %s has an answer to round %d. Put back the newest, or name a new directory, by --session DIR, which is charged anew", name, rounds, p.path, last)
		}
		p.number, p.after, p.cost = e.Number, h, []ledger.Charge{e.Charge}
		return true, LedgerError(p.Check(ctx, marks.Sums()))
	}
	return false, nil
}

// Answer notes an answer of the run that is charged, which nobody has seen yet. Errors: the round had another one.
func (p *Payment) Answer(ctx context.Context, round int, answer []float64) error {
	if p == nil || p.number == 0 { // what was kept is sent again, and paid for elsewhere
		return nil
	}
	text, err := binary.Append(nil, binary.LittleEndian, answer)
	if err != nil {
		return err
	}
	err = p.Ledger.Answer(ctx, p.number, round, fmt.Sprintf("%x", sha256.Sum256(text)))
	if errors.Is(err, ledger.ErrAnswered) {
		return Refusef("%s has another answer to round %d, and a round is answered once: nothing was sent", p.path, round)
	}
	p.answers++
	return LedgerError(err)
}

// make makes the ledger, if it is to be made.
func (p *Payment) make(ctx context.Context) error {
	if p.Ledger != nil {
		return nil
	}
	err := ledger.CreateWith(ctx, p.path, p.made, p.key)
	switch {
	case errors.Is(err, fs.ErrExist):
		return Refusef("another run made %s while this one read the rows: nothing was charged or released; run this again", p.path)
	case err != nil:
		return LedgerError(err)
	}
	p.say(fmt.Sprintf("%s made, the ledger of %s: it counts what is spent, and has no total until dpreg ledger init gives it one", p.path, p.made.Data))
	p.Ledger, err = OpenLedger(ctx, p.say, p.path)
	return err
}

func (p *Payment) numbers() string {
	if len(p.cost) == 1 {
		return fmt.Sprintf("No %d", p.number)
	}
	return fmt.Sprintf("No %d (Laplace noise) and No %d (sums)", p.number-1, p.number)
}

// Finish notes in the ledger whether what was paid for was written, and closes it.
func (p *Payment) Finish(ctx context.Context, written bool) {
	if p == nil {
		return
	}
	if p.Ledger != nil {
		defer p.Close()
	}
	if p.answers > 0 {
		if h, err := p.History(context.WithoutCancel(ctx)); err == nil {
			p.say(fmt.Sprintf("%s has what was sent, head %s", p.path, h.Head()))
		}
	}
	switch {
	case p.number == 0:
	case !written:
		p.say(fmt.Sprintf("%s keeps the charge %s, though this run failed: its noise may have been drawn", p.path, p.numbers()))
	default:
		p.tell(context.WithoutCancel(ctx))
	}
}

// tell says what is left. What was paid for is there: nothing of this can fail it.
func (p *Payment) tell(ctx context.Context) {
	for i := range p.cost {
		if err := p.SetWritten(ctx, p.number-int64(i)); err != nil {
			p.say(fmt.Sprintf("%s does not show that %s was written: %v", p.path, p.numbers(), err))
		}
	}
	last, h := p.cost[len(p.cost)-1], p.after
	if h.Budget.Epsilon == nil {
		p.say(fmt.Sprintf("%s, the ledger of %s, has no total. %s", p.path, h.Budget.Data, Spent(h)))
		return
	}
	left, err := Left(h, last.Noise, last.Delta)
	if err != nil {
		p.say(err.Error())
		return
	}
	p.say(fmt.Sprintf("%s, the ledger of %s, has for one more release: %s", p.path, h.Budget.Data, left))
}

// payment refuses, before anything is read, what the ledger has no room for.
func (s *Settled) payment(ctx context.Context) (*Payment, error) {
	switch {
	case s.Ledger == "" && !s.NoLedger && s.Entropy == nil:
		return nil, Misusef("what a release spends is charged to a ledger, and beside %s there is no place for one: name it, by --ledger FILE (dpreg ledger init makes it), or say --no-ledger", s.Rows)
	case s.Ledger == "":
		return nil, nil
	}
	cost, err := s.cost()
	if err != nil {
		return nil, err
	}
	return NewPayment(ctx, s.sayAll, Account{Path: s.Ledger, Make: s.MakeLedger, Data: filepath.Base(s.Rows.String())}, s.relation(), cost...)
}

// pay charges what the order costs now that the number of rows is known.
func (s *Settled) pay(ctx context.Context, p *Payment) (err error) {
	if p == nil {
		return nil
	}
	if p.cost, err = s.cost(); err != nil {
		return err
	}
	if _, here := s.Rows.(Files); here {
		return p.Pay(ctx, s.marks)
	}
	s.sayf("%s stays where it is: the ledger cannot tell it from other rows", s.Rows)
	return p.Pay(ctx, nil)
}

// cost is what the release that is ordered states of its privacy and its noise. All steps
// are one charge: of ε, or of one Gaussian noise. Where
// the bounds are found in the rows, or persons are counted, and the noise is Gaussian, these are two charges,
// since a ledger counts the two kinds of noise apart; they add up to the whole.
func (s *Settled) cost() ([]ledger.Charge, error) {
	path, err := filepath.Abs(s.Path)
	if err != nil {
		return nil, err
	}
	c := ledger.Charge{
		Epsilon:    number.Decimal(s.Privacy.Epsilon),
		Delta:      number.Decimal(s.Privacy.Delta),
		Noise:      ledger.Laplace, // stands for all that needs no δ
		Neighbours: s.relation(),
		Release:    path,
	}
	if s.Mechanism != release.Gaussian {
		return []ledger.Charge{c}, nil
	}
	c.Noise, c.Sensitivity, c.Scale = ledger.Gaussian, s.Noise.Sensitivity, s.Noise.Scale
	if s.Steps > 1 {
		c.Sensitivity, c.Scale = 1, s.budget.Sigma()
	}
	c.Sensitivity *= float64(s.Persons.Rule.PerPerson())
	if s.session != nil {
		err := s.session.charge(&c)
		return []ledger.Charge{c}, err
	}
	pure := s.moreEpsilon()
	if s.bounds != nil {
		pure = s.bounds.Epsilon
	}
	if pure == 0 {
		return []ledger.Charge{c}, nil
	}
	found := c
	found.Epsilon, found.Delta = number.Decimal(pure), new(big.Rat)
	found.Noise, found.Sensitivity, found.Scale = ledger.Laplace, 0, 0
	c.Epsilon = new(big.Rat).Sub(c.Epsilon, found.Epsilon)
	return []ledger.Charge{found, c}, nil
}

// Charged says of r, which is used again, whether the ledger counts it.
func (s *Settled) Charged(ctx context.Context, r *release.Release) error {
	if _, err := os.Lstat(s.Ledger); s.Ledger == "" || s.MakeLedger && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	settled := *s
	settled.Mechanism, settled.Privacy.Delta = r.Noise.Kind, r.Privacy.Delta
	cost, err := settled.cost()
	if err != nil {
		return err
	}
	l, err := OpenLedger(ctx, s.sayAll, s.Ledger)
	if err != nil {
		return err
	}
	defer l.Close()
	h, err := l.History(ctx)
	if err != nil {
		return LedgerError(err)
	}
	last := cost[len(cost)-1]
	for _, e := range h.Entries {
		if e.Release == last.Release && e.Epsilon.Cmp(last.Epsilon) == 0 && e.Delta.Cmp(last.Delta) == 0 {
			s.sayf("nothing is charged to %s, which has this release as No %d", s.Ledger, e.Number)
			return nil
		}
	}
	s.sayf("warning: nothing is charged to %s, but it has no charge for %s: what that release spent, it does not count", s.Ledger, s.Path)
	return nil
}

// Left says which ε one more release may have, with Laplace noise and, where delta
// is above 0, with noise of that δ.
func Left(h *ledger.History, noise ledger.Noise, delta *big.Rat) (string, error) {
	pure, err := h.Left(ledger.Laplace, new(big.Rat))
	if err != nil {
		return "", err
	}
	text := upTo(pure) + " with Laplace noise"
	if delta.Sign() == 0 || h.Budget.Delta.Sign() == 0 {
		return text, nil
	}
	epsilon, err := h.Left(noise, delta)
	if err != nil {
		return "", err
	}
	kind := map[ledger.Noise]string{ledger.Gaussian: " with Gaussian noise and", ledger.Sampled: " for a run of dpreg vi or pvi with"}
	return text + ", " + upTo(epsilon) + kind[noise] + " delta = " + Rational(delta), nil
}

// Spent says what was charged in all, by the plain sums.
func Spent(h *ledger.History) string {
	epsilon, delta := new(big.Rat), new(big.Rat)
	for _, e := range h.Entries {
		epsilon.Add(epsilon, e.Epsilon)
		delta.Add(delta, e.Delta)
	}
	return fmt.Sprintf("Spent in all: epsilon = %s, delta = %s", Rational(epsilon), Rational(delta))
}

func upTo(epsilon float64) string {
	if epsilon == 0 {
		return "nothing"
	}
	return fmt.Sprintf("epsilon up to %v", epsilon)
}

// Rational writes a decimal as a float64 has it.
func Rational(x *big.Rat) string {
	f, _ := x.Float64()
	return fmt.Sprint(f)
}
