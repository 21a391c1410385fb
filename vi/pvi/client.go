package pvi

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/mechanisms/accounting"
)

// Task is an update that a client is asked for. All of it is public: it follows from what
// clients sent before.
type Task struct {
	Round  int       `json:"round"`  // of this client, from 1
	Global []float64 `json:"global"` // natural parameters of q
	Factor []float64 `json:"factor"` // of t, the client's
}

// Client proposes changes of its factor.
type Client interface {
	// Update returns the change that the client proposes, valid until the next call; nil where
	// it has none, for want of budget or because it was not to be reached. Errors end the run.
	Update(ctx context.Context, t Task) (change []float64, err error)
}

// Rule finds what a client's factor should be.
type Rule interface {
	// Family is that of the factors.
	Family() Family
	// Len is the number of records.
	Len() int
	// Aim overwrites dst, which may be factor, with the factor to go to from this global
	// law and factor.
	Aim(dst, global, factor []float64)
	// Spends is the noisy releases of records that one Aim makes; it has no steps where Aim
	// makes none and what it writes is not private.
	Spends() accounting.Training
	// Memory is what the rule remembers from Aim to Aim, nil for nothing: noisy sums and what
	// follows from them. Copied back it lets another rule of the same records go on.
	Memory() []float64
}

// Local is a client that holds records, behind a Rule.
type Local struct {
	rule    Rule
	damping float64
	left    int // updates that the budget has room for; below 0: any number
	change  []float64
}

// NewLocal moves a share damping, in (0, 1], of the way to a rule's aim. Of budget, nil for none,
// it does as many updates as fit. Errors: no records, damping out of range, a budget for a rule
// that is not private, a budget too small for one update.
func NewLocal(rule Rule, damping float64, budget *Budget) (c *Local, err error) {
	if rule.Len() < 1 {
		return nil, errEmpty
	}
	if !(damping > 0 && damping <= 1) {
		return nil, fmt.Errorf("damping must lie in (0, 1], not %v", damping)
	}
	c = &Local{rule: rule, damping: damping, left: -1, change: make([]float64, rule.Family().Len())}
	if budget != nil {
		c.left, err = budget.Updates(rule.Spends())
	}
	return c, err
}

// Memory is its rule's.
func (c *Local) Memory() []float64 { return c.rule.Memory() }

// Update implements Client. It takes an update from the budget, where there is room for one, and
// then computes the change: damping times the way to the aim, and in coordinates where the
// precision would be negative what makes the factor 1 (Sharma et al. 2019). Both are
// post-processing of what Aim released. Errors: a task that is not of the rule's family, a global
// law that is none, a context that is done.
func (c *Local) Update(ctx context.Context, t Task) ([]float64, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f := c.rule.Family()
	if len(t.Global) != f.Len() || len(t.Factor) != f.Len() {
		return nil, fmt.Errorf("a law of %d numbers and a factor of %d, where the client has %d", len(t.Global), len(t.Factor), f.Len())
	}
	if !f.Proper(t.Global) || !finite(t.Factor) {
		return nil, errImproper
	}
	if c.left == 0 {
		return nil, nil
	}
	c.left = max(-1, c.left-1)
	c.rule.Aim(c.change, t.Global, t.Factor)
	floats.Sub(c.change, t.Factor)
	floats.Scale(c.damping, c.change)
	if f.Full {
		return c.change, nil
	}
	for j := range f.Dim {
		if k := f.Dim + j; t.Factor[k]+c.change[k] < 0 {
			c.change[j], c.change[k] = -t.Factor[j], -t.Factor[k]
		}
	}
	return c.change, nil
}

// Budget is what a client may spend on all its updates together, counted by privacy-loss
// distributions.
type Budget struct {
	Epsilon, Delta float64
}

// Updates returns how many updates a client may do, each of which makes the releases of one.
// Errors: budget or releases out of range, no update fits.
func (b Budget) Updates(one accounting.Training) (int, error) {
	if !(b.Epsilon > 0) || math.IsInf(b.Epsilon, 0) {
		return 0, fmt.Errorf("epsilon must be positive and finite, not %v", b.Epsilon)
	}
	first, err := one.Epsilon(accounting.PLD, b.Delta)
	if err != nil {
		return 0, fmt.Errorf("a budget needs updates that spend: %w", err)
	}
	if first > b.Epsilon {
		return 0, fmt.Errorf("epsilon = %v at delta = %v is too small for one update, which spends %.3g: more noise, fewer steps or smaller batches are needed", b.Epsilon, b.Delta, first)
	}
	steps, err := one.FindSteps(accounting.PLD, b.Epsilon, b.Delta)
	return steps / one.Steps, err
}
