package custody

import (
	"context"
	"fmt"
	"math/big"
	"path/filepath"

	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/mechanisms/ledger"
	"github.com/dpreg/dpreg/release"
)

// Payment is what a run charges to a ledger. One that is nil charges nothing.
type Payment struct {
	*ledger.Ledger
	say    func(text string)
	cost   []ledger.Charge
	number int64 // of the last charge; 0 before there is one
}

// NewPayment opens a ledger, and refuses what it has no room for. It is nil where path is
// empty.
func NewPayment(ctx context.Context, say func(text string), path string, cost ...ledger.Charge) (*Payment, error) {
	if path == "" {
		return nil, nil
	}
	l, err := OpenLedger(ctx, say, path)
	if err != nil {
		return nil, err
	}
	if err := l.Check(ctx, cost...); err != nil {
		l.Close()
		return nil, LedgerError(err)
	}
	return &Payment{Ledger: l, say: say, cost: cost}, nil
}

// OpenLedger opens a ledger, and says so where others could open it until now.
func OpenLedger(ctx context.Context, say func(text string), path string) (*ledger.Ledger, error) {
	l, err := ledger.Open(ctx, path)
	if err != nil {
		return nil, LedgerError(err)
	}
	if l.Taken() {
		say(fmt.Sprintf("other users had rights on %s: only its owner can use it now", path))
	}
	return l, nil
}

// Pay charges: from here on ε is spent, whatever happens.
func (p *Payment) Pay(ctx context.Context) (err error) {
	if p == nil {
		return nil
	}
	if p.number, err = p.Charge(ctx, p.cost...); err != nil {
		return LedgerError(err)
	}
	p.say(fmt.Sprintf("charged to %s as %s", p.Path(), p.numbers()))
	return nil
}

// numbers names the charges.
func (p *Payment) numbers() string {
	if len(p.cost) == 1 {
		return fmt.Sprintf("No %d", p.number)
	}
	return fmt.Sprintf("No %d (bounds) and No %d (sums)", p.number-1, p.number)
}

// Finish notes in the ledger whether what was paid for was written, and closes it.
func (p *Payment) Finish(ctx context.Context, written bool) {
	if p == nil {
		return
	}
	defer p.Close()
	switch {
	case p.number == 0:
	case !written:
		p.say(fmt.Sprintf("%s keeps the charge %s, though this run failed: its noise may have been drawn", p.Path(), p.numbers()))
	default:
		p.tell(context.WithoutCancel(ctx))
	}
}

// tell says what is left. What was paid for is there: nothing of this can fail it.
func (p *Payment) tell(ctx context.Context) {
	for i := range p.cost {
		if err := p.SetWritten(ctx, p.number-int64(i)); err != nil {
			p.say(fmt.Sprintf("%s does not show that %s was written: %v", p.Path(), p.numbers(), err))
		}
	}
	last := p.cost[len(p.cost)-1]
	h, err := p.History(ctx)
	if err != nil {
		p.say(err.Error())
		return
	}
	left, err := Left(h, last.Noise, last.Delta)
	if err != nil {
		p.say(err.Error())
		return
	}
	p.say(fmt.Sprintf("%s, the ledger of %s, has for one more release: %s", p.Path(), h.Budget.Data, left))
}

// payment refuses, before anything is read, what the ledger has no room for.
func (s *Settled) payment(ctx context.Context) (*Payment, error) {
	if s.Ledger == "" {
		return nil, nil
	}
	cost, err := s.cost()
	if err != nil {
		return nil, err
	}
	return NewPayment(ctx, s.sayAll, s.Ledger, cost...)
}

// pay charges what the order costs now that the number of rows is known.
func (s *Settled) pay(ctx context.Context, p *Payment) (err error) {
	if p != nil {
		if p.cost, err = s.cost(); err != nil {
			return err
		}
	}
	return p.Pay(ctx)
}

// cost is what the release that is ordered states of its privacy and its noise. All steps
// are one charge: of ε, or of one Gaussian noise. Where
// the bounds are found in the rows and the noise is Gaussian, these are two charges,
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
		Neighbours: string(s.Privacy.Neighbours),
		Release:    path,
	}
	if s.Mechanism != release.Gaussian {
		return []ledger.Charge{c}, nil
	}
	c.Noise, c.Sensitivity, c.Scale = ledger.Gaussian, s.Noise.Sensitivity, s.Noise.Scale
	if s.Steps > 1 {
		c.Sensitivity, c.Scale = 1, s.budget.Sigma()
	}
	if s.bounds == nil {
		return []ledger.Charge{c}, nil
	}
	found := c
	found.Epsilon, found.Delta = number.Decimal(s.bounds.Epsilon), new(big.Rat)
	found.Noise, found.Sensitivity, found.Scale = ledger.Laplace, 0, 0
	c.Epsilon = new(big.Rat).Sub(c.Epsilon, found.Epsilon)
	return []ledger.Charge{found, c}, nil
}

// Charged says of r, which is used again, whether the ledger counts it.
func (s *Settled) Charged(ctx context.Context, r *release.Release) error {
	if s.Ledger == "" {
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
