package model

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/dense"
)

// scales draws the residual scales of a Hierarchy: σ² and υ, which custodians share, and
// every σ_j, given θ, all θ_j and the statistics. With λ = log σ², λ_j = log σ_j² and R_j
// the residual sum of squares of custodian j's n_j rows,
//
//	log p = −(a₀ + ½q)λ − (b₀ + ½(θ−μ₀)ᵀΛ₀(θ−μ₀))e^{−λ} + log p(log τ_q)
//	        + Σ_j [−log τ_q − ½((λ_j − λ)/τ_q)² − ½n_jλ_j − ½R_je^{−λ_j}],   τ_q = 2υ,
//
// the terms of θ being left out of the first line where the prior is Unscaled,
// coordinate by coordinate by slice sampling. λ and log τ_q are drawn twice: with every λ_j
// held, on which alone they depend then, and with every ε_j = (λ_j − λ)/τ_q held, so that
// all λ_j go along. The first moves where the statistics tell λ_j, the second where they do
// not (Yu & Meng 2011, J. Computational and Graphical Statistics 20).
//
// Statistics at the border of what q + 1 rows or more can have, such as projected ones, may
// have R_j = 0, for which there is no law: the likelihood has no bound as σ_j falls, and υ goes
// along. Rows of the model are never there. R_j of such is taken to be 2b₀ at least, b₀ at a typical
// scale, which the posterior of one release adds to its own.
type scales struct {
	of             *Hierarchy
	shape, energy  float64   // of e^λ: a₀ + ½q, b₀ + ½(θ−μ₀)ᵀΛ₀(θ−μ₀)
	least          float64   // 2b₀
	residual, held []float64 // R_j, ε_j
	site           int       // whose λ_j moves

	own, centred, apart func() float64 // log densities
}

// scaleWidth is the first interval of slice sampling on the log scale.
const scaleWidth = 0.5

func newScales(h *Hierarchy) *scales {
	s := &scales{of: h, least: 2 * h.prior.Scale, residual: make([]float64, len(h.At)), held: make([]float64, len(h.At))}
	s.own, s.centred, s.apart = s.ownDensity, s.centredDensity, s.apartDensity
	return s
}

// draw reports false where numbers are not finite.
func (s *scales) draw(rng *rand.Rand) bool {
	h, q := s.of, len(s.of.Theta)
	s.shape, s.energy = h.prior.Shape, h.prior.Scale
	if !h.mixture.prior.Unscaled {
		floats.SubTo(h.deviates, h.Theta, h.prior.Mean)
		s.shape += 0.5 * float64(q)
		s.energy += 0.5 * dense.QuadForm(h.prior.Precision, q, h.deviates)
	}
	for j, at := range h.At {
		s.residual[j] = h.sites[j].residual(at[:q])
		if h.sites[j].border {
			s.residual[j] = math.Max(s.residual[j], s.least)
		}
	}
	ok := true
	move := func(f func() float64, x *float64) {
		present := f()
		if ok = ok && !math.IsNaN(present) && !math.IsInf(present, 0); ok {
			slice(f, x, present, scaleWidth, rng)
		}
	}
	for s.site = range h.At {
		move(s.own, &h.At[s.site][q])
	}
	move(s.centred, &h.Centre[q])
	move(s.centred, &h.Phi[q])
	tau := math.Exp(h.Phi[q])
	for j, at := range h.At {
		s.held[j] = (at[q] - h.Centre[q]) / tau
	}
	move(s.apart, &h.Centre[q])
	move(s.apart, &h.Phi[q])
	tau = math.Exp(h.Phi[q])
	for j, at := range h.At {
		at[q] = h.Centre[q] + tau*s.held[j]
	}
	h.setRoot()
	return ok
}

// likelihood is −½n_jλ_j − ½R_je^{−λ_j}.
func (s *scales) likelihood(j int, lambda float64) float64 {
	return -0.5 * (s.of.sites[j].n*lambda + s.residual[j]*math.Exp(-lambda))
}

// ownDensity is that of λ_j of one site.
func (s *scales) ownDensity() float64 {
	h, q := s.of, len(s.of.Theta)
	lambda := h.At[s.site][q]
	e := (lambda - h.Centre[q]) / math.Exp(h.Phi[q])
	return s.likelihood(s.site, lambda) - 0.5*e*e
}

// prior is that of λ and log τ_q.
func (s *scales) prior() float64 {
	h, q := s.of, len(s.of.Theta)
	lambda, u := h.Centre[q], math.Exp(h.Phi[q])/h.Spread.sd[q]
	return -s.shape*lambda - s.energy*math.Exp(-lambda) + h.Phi[q] - 0.5*u*u
}

// centredDensity is that of λ and log τ_q with every λ_j held.
func (s *scales) centredDensity() float64 {
	h, q := s.of, len(s.of.Theta)
	logp, tau := s.prior()-float64(len(h.At))*h.Phi[q], math.Exp(h.Phi[q])
	for _, at := range h.At {
		e := (at[q] - h.Centre[q]) / tau
		logp -= 0.5 * e * e
	}
	return logp
}

// apartDensity is that of λ and log τ_q with every ε_j held.
func (s *scales) apartDensity() float64 {
	h, q := s.of, len(s.of.Theta)
	logp, tau := s.prior(), math.Exp(h.Phi[q])
	for j, e := range s.held {
		logp += s.likelihood(j, h.Centre[q]+tau*e)
	}
	return logp
}

// sliceSteps bounds an interval: from far out in a tail it would grow without end.
const sliceSteps = 60

// slice moves *x by slice sampling, stepping out and shrinking (Neal 2003, "Slice
// Sampling", Annals of Statistics 31), which leaves the law of log density f, up to a
// constant, invariant. f reads *x; present is its value there, finite, and that at the new
// point is returned. A point where f is NaN has density 0. The interval has at most so many
// steps in all, a random part of them to the left, which leaves the law invariant too.
func slice(f func() float64, x *float64, present, width float64, rng *rand.Rand) float64 {
	at, level := *x, present-rng.ExpFloat64()
	value := func(v float64) float64 {
		*x = v
		return f()
	}
	left := at - width*rng.Float64()
	right, before := left+width, rng.IntN(sliceSteps)
	for k := before; k > 0 && value(left) >= level; k-- {
		left -= width
	}
	for k := sliceSteps - 1 - before; k > 0 && value(right) >= level; k-- {
		right += width
	}
	for {
		v := left + (right-left)*rng.Float64()
		if after := value(v); after >= level {
			return after
		}
		if v < at {
			left = v
		} else {
			right = v
		}
	}
}
