package pvi

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/vi"
)

// Sharing is who adds how much of the noise of a Guard.
type Sharing int

const (
	// Individual: each client adds all of it, of standard deviation σC, and trusts nobody.
	Individual Sharing = iota
	// Aggregated: each adds a share σC/√H, and only the sum over clients is ever seen.
	// Clients measure from the factor that all have in common, (q − p)/M.
	Aggregated
)

func (s Sharing) String() string {
	return [...]string{"individual", "aggregated"}[s]
}

// Guard protects a client's records as a whole: neighbours are a client that takes part
// and one that sends nothing but noise. Each round a client's way to its aim, v, leaves as
//
//	α (v / max(1, ‖v‖/C) + noise).
//
// docs/pvi.md has the proof for Individual and Aggregated, and the trust that Aggregated
// needs.
type Guard struct {
	Sharing    Sharing
	Clip       float64            // C, which Quantile moves
	Multiplier float64            // σ; 0 adds no noise
	Honest     int                // H: clients that add their share, at the least; 0: all
	Budget     *Budget            // of each client; nil: none
	Quantile   *Quantile          // nil: C stays
	Stream     *mechanisms.Stream // of all clients, in this process

	left  int
	share float64 // of the standard deviation, that a client adds
	bits  float64 // noisy number of clients below C this round, less half of all
}

// Spends is what a round releases of a client.
func (g *Guard) Spends() []accounting.Training {
	return []accounting.Training{{Multiplier: g.Multiplier, Rate: 1, Steps: 1}}
}

// prepare checks the guard and how often it may be used. A nil Guard is none.
func (g *Guard) prepare(clients []*Client) error {
	if g == nil {
		return nil
	}
	if !(g.Clip >= 1e-20 && g.Clip <= 1e20) || !(g.Multiplier >= 0 && g.Multiplier <= 1e6) {
		return fmt.Errorf("a guard needs a positive clip and a multiplier of at least 0, not %v and %v", g.Clip, g.Multiplier)
	}
	if g.Multiplier > 0 && g.Stream == nil {
		return errors.New("noise needs a stream: mechanisms.NewStream(mechanisms.OS())")
	}
	if g.Honest == 0 {
		g.Honest = len(clients)
	}
	if g.Honest < 1 || g.Honest > len(clients) {
		return fmt.Errorf("of %d clients %d cannot be honest", len(clients), g.Honest)
	}
	for m, c := range clients {
		if c.rule.Spends() != nil {
			return fmt.Errorf("client %d protects its records one by one: a guard would add noise to noise", m+1)
		}
		c.floor = false // it would be done to what is not released
	}
	g.share = 1
	if g.Sharing == Aggregated {
		g.share = 1 / math.Sqrt(float64(g.Honest))
	}
	g.left = -1
	if g.Budget != nil {
		if g.Multiplier == 0 {
			return errors.New("a budget for a guard without noise")
		}
		var err error
		if g.left, err = g.Budget.Updates(g.Spends()); err != nil {
			return err
		}
	}
	return g.Quantile.check(g.Multiplier)
}

func (g *Guard) pay() bool {
	if g.left == 0 {
		return false
	}
	if g.left > 0 {
		g.left--
	}
	return true
}

// protect makes a client's way to its aim what leaves the client.
func (g *Guard) protect(c *Client) {
	length := floats.Norm(c.change, 2)
	if g.Quantile != nil {
		g.bits += g.bit(length <= g.Clip)
	}
	g.release(c.change, g.Clip, g.Quantile.rest(g.Multiplier))
	floats.Scale(c.damping, c.change)
}

// release clips a vector and adds the client's part of the noise.
func (g *Guard) release(v []float64, clip, multiplier float64) {
	if multiplier == 0 {
		floats.Scale(1/max(1, floats.Norm(v, 2)/clip), v)
		return
	}
	sum := vi.NewSum(len(v), clip, multiplier*g.share, g.Stream)
	sum.Add(1, v, floats.Norm(v, 2))
	sum.Release(v)
}
