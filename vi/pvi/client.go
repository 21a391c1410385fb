package pvi

import (
	"errors"
	"fmt"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/mechanisms/accounting"
)

// Rule finds what a client's factor should be.
type Rule interface {
	// Family is that of the factors.
	Family() Family
	// Len is the number of records.
	Len() int
	// Aim overwrites dst, which may be factor, with the factor to go to from this global
	// law and factor.
	Aim(dst, global, factor []float64)
	// Spends is the noisy releases of records that one Aim makes; nil where it makes
	// none and what it writes is not private.
	Spends() []accounting.Training
}

// Client holds records, behind a Rule, and a factor t that stands for them.
type Client struct {
	rule    Rule
	damping float64
	left    int // updates that the budget has room for; below 0: any number
	floor   bool

	factor, change []float64
}

// NewClient has a factor of 1 and moves a share damping, in (0, 1], of the way to a rule's
// aim. Of budget, nil for none, it does as many updates as fit. Errors: no records, damping
// out of range, a budget for a rule that is not private, a budget too small for one update.
func NewClient(rule Rule, damping float64, budget *Budget) (*Client, error) {
	if rule.Len() < 1 {
		return nil, errEmpty
	}
	if !(damping > 0 && damping <= 1) {
		return nil, fmt.Errorf("damping must lie in (0, 1], not %v", damping)
	}
	size := rule.Family().Len()
	c := &Client{rule: rule, damping: damping, left: -1, floor: !rule.Family().Full, factor: make([]float64, size), change: make([]float64, size)}
	if budget == nil {
		return c, nil
	}
	spends := rule.Spends()
	if spends == nil {
		return nil, errors.New("a budget for updates without noise")
	}
	var err error
	c.left, err = budget.Updates(spends)
	return c, err
}

// Factor is the natural parameters of t, not to be changed.
func (c *Client) Factor() []float64 { return c.factor }

// pay takes an update from the budget, before it is computed.
func (c *Client) pay() bool {
	if c.left == 0 {
		return false
	}
	if c.left > 0 {
		c.left--
	}
	return true
}

// propose computes the change: damping times the way to the aim.
func (c *Client) propose(global []float64) {
	c.rule.Aim(c.change, global, c.factor)
	floats.Sub(c.change, c.factor)
}

// damp makes the change, to what the client would have the factor be, one to what it
// becomes: damping of the way, and 1 in coordinates where the precision would be negative
// (Sharma et al. 2019). Both are post-processing of what Aim released.
func (c *Client) damp() {
	floats.Scale(c.damping, c.change)
	if !c.floor {
		return
	}
	d := len(c.factor) / 2
	for j := range d {
		if c.factor[d+j]+c.change[d+j] < 0 {
			c.change[j], c.change[d+j] = -c.factor[j], -c.factor[d+j]
		}
	}
}

// settle makes an accepted change the client's own.
func (c *Client) settle() { floats.Add(c.factor, c.change) }
