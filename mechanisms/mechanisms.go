// Package mechanisms adds exact random noise to vectors of integers.
//
// It knows no column and no regression. A caller that holds statistics on a
// lattice of spacing g hands over the integers z/g and a scale in units of g;
// whether that scale pays for a privacy guarantee is the caller's calculation
// (package ssp).
//
// Every step from the random bytes to the noisy integer is integer or rational
// arithmetic: there is no floating-point number in this package, so the noise
// has exactly the law that its docstring states, on every integer, whatever the
// input. The attacks of Mironov (On Significance of the Least Significant Bits
// for Differential Privacy, CCS 2012), which read the input off the holes in
// the support of a floating-point Laplace variate, have nothing to hold on to.
// docs/mechanism-laplace.md has the proofs.
package mechanisms

import (
	"fmt"
	"math/big"
)

// A Mechanism adds noise of one law to the entries of an integer vector, independent from
// one to the next but for Ball.
type Mechanism struct {
	law     func(*entropyState) sampler
	entries int // of a vector; 0: any number
}

// sampler draws the noise of a vector, entry by entry.
type sampler interface {
	draw(*big.Int)
	wipe() // clears what was drawn
}

// AddNoise adds noise to z in place. It panics if an entry of z or e is nil, if e was
// not made by OS or Simulated, or if the mechanism is one of vectors of another length. It
// holds e for the whole call, so one source may serve several goroutines.
func (m Mechanism) AddNoise(z []*big.Int, e *Entropy) {
	source := e.mustState()
	if m.entries > 0 && len(z) != m.entries {
		panic(fmt.Sprintf("mechanisms: noise of %d entries on a vector of %d", m.entries, len(z)))
	}
	source.mu.Lock()
	defer source.mu.Unlock()
	defer source.drop()
	s := m.law(source)
	defer s.wipe()
	var noise big.Int
	for _, v := range z {
		s.draw(&noise)
		v.Add(v, &noise)
	}
}
