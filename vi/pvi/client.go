package pvi

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/floats"
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
	// it has none, because it did all its updates or was not to be reached. Errors end the run.
	Update(ctx context.Context, t Task) (change []float64, err error)
}

// Rule finds what a client's factor should be.
type Rule interface {
	// Family is that of the factors.
	Family() Family
	// Aim overwrites dst, which may be factor, with the factor to go to from this global
	// law and factor.
	Aim(dst, global, factor []float64)
	// Memory is what the rule remembers from Aim to Aim, nil for nothing: noisy sums and what
	// follows from them. Copied back it lets another rule of the same records go on.
	Memory() []float64
}

// Local is a client that holds records, behind a Rule.
type Local struct {
	rule    Rule
	damping float64
	left    int // updates
	change  []float64
}

// NewLocal moves a share damping, in (0, 1], of the way to a rule's aim, in so many updates: what
// these spend is to be counted before. Errors: damping or updates out of range.
func NewLocal(rule Rule, damping float64, updates int) (*Local, error) {
	if !(damping > 0 && damping <= 1) {
		return nil, fmt.Errorf("damping must lie in (0, 1], not %v", damping)
	}
	if updates < 1 {
		return nil, fmt.Errorf("a client does one update or more, not %d", updates)
	}
	return &Local{rule: rule, damping: damping, left: updates, change: make([]float64, rule.Family().Len())}, nil
}

// Memory is its rule's.
func (c *Local) Memory() []float64 { return c.rule.Memory() }

// Update implements Client. Where an update is left it takes one, and then computes the change:
// damping times the way to the aim, and in coordinates where the precision would be negative what
// makes the factor 1 (Sharma et al. 2019). Both are post-processing of what Aim released. Errors: a
// task that is not of the rule's family, a global law that is none, a context that is done.
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
	c.left--
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
