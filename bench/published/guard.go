package main

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/vi"
	"github.com/dpreg/dpreg/vi/pvi"
)

// How the noise of clients that are protected as a whole is shared.
const (
	// individual: each client adds all of it, of standard deviation σC, and trusts nobody.
	individual = "individual"
	// aggregated: each adds a share σC/√M, and only the sum over clients is ever seen.
	// Clients measure from the factor that all have in common, (q − p)/M.
	aggregated = "aggregated"
	// published is Algorithm 3 of the thesis: shares as of aggregated, and a factor of each
	// client with its own share in it. The guarantee does not hold, even where only sums are
	// seen. To the server it is individual noise, of a share's size.
	published = "published"
)

// guarded protects a client's records as a whole: neighbours are a client that takes part
// and one that sends nothing but noise. Each round a client's way to its aim, v, leaves as
//
//	α (v / max(1, ‖v‖/C) + noise).
//
// README.md has the proof for individual and aggregated, and the trust that aggregated
// needs.
type guarded struct {
	family           pvi.Family
	prior, global    []float64
	rules            []pvi.Rule
	factors, changes [][]float64
	sharing          string
	damping          float64 // α
	clip, multiplier float64 // C and σ; σ = 0 adds no noise
	stream           *mechanisms.Stream
	rejections       int
}

func newGuarded(family pvi.Family, prior []float64, rules []pvi.Rule) *guarded {
	g := &guarded{family: family, prior: prior, global: slices.Clone(prior), rules: rules}
	for range rules {
		g.factors, g.changes = append(g.factors, make([]float64, len(prior))), append(g.changes, make([]float64, len(prior)))
	}
	return g
}

func (g *guarded) Global() []float64 { return g.global }
func (g *guarded) Rejections() int   { return g.rejections }

// Synchronous lets all clients change their factors, and accepts all changes or, where they
// would leave no law, none: which is a function of the noisy sum.
func (g *guarded) Synchronous() bool {
	next := slices.Clone(g.global)
	sum := make([]float64, len(next))
	for m, rule := range g.rules {
		factor, change := g.factors[m], g.changes[m]
		if g.sharing == aggregated {
			floats.SubTo(factor, g.global, g.prior)
			floats.Scale(1/float64(len(g.rules)), factor)
		}
		rule.Aim(change, g.global, factor)
		floats.Sub(change, factor)
		g.release(change)
		floats.Scale(g.damping, change)
		floats.Add(sum, change)
	}
	floats.Add(next, sum)
	if !g.family.Proper(next) {
		g.rejections++
		return true
	}
	g.global = next
	for m, change := range g.changes {
		floats.Add(g.factors[m], change)
	}
	return true
}

// release clips a vector and adds the client's part of the noise.
func (g *guarded) release(v []float64) {
	multiplier := g.multiplier
	if g.sharing != individual {
		multiplier *= 1 / math.Sqrt(float64(len(g.rules)))
	}
	if multiplier == 0 {
		floats.Scale(1/max(1, floats.Norm(v, 2)/g.clip), v)
		return
	}
	sum := vi.NewSum(len(v), g.clip, multiplier, g.stream)
	sum.Add(1, v, floats.Norm(v, 2))
	sum.Release(v)
}
