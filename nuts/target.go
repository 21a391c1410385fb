// Package nuts is the No-U-Turn sampler over any differentiable density
// (Hoffman & Gelman, JMLR 15, 2014), in the form that Stan runs now: a
// multinomial choice along the trajectory, biased towards its new half, and the
// generalised criterion of a U-turn (Betancourt, arXiv:1701.02434), checked
// across neighbouring subtrees too. Lengths of trajectories may be learnt instead
// (Options.LearnLength). It knows nothing of regression or privacy.
package nuts

import (
	"errors"
	"math/rand/v2"
)

// Target is a density on R^Dim, known up to a constant. LogDensity returns its
// logarithm at x and writes the gradient, both of length Dim; it does not keep
// or change x.
//
// The gradient is what a trajectory follows, the density what its points are
// weighed by. So the gradient may be that of a smoother function nearby: a
// leapfrog step along any field that depends on x alone is reversible and keeps
// volume, and the draws are the density's. What is lost is acceptance, by the
// difference of the two functions along a trajectory.
//
// ErrReject, NaN and ±Inf say that x is outside the support, or that the density
// cannot be computed there: the trajectory ends and the step diverged. Any other
// error ends the run.
//
// A Target may hold a workspace: each chain has its own.
type Target interface {
	Dim() int
	LogDensity(grad, x []float64) (float64, error)
}

// Chain is a target with what one chain of it does beside trajectories. It holds the chain's
// workspace.
type Chain interface {
	Target
	// Move makes the moves that follow a trajectory, by Try, Put or MoveTo.
	Move(s *Sampler, rng *rand.Rand)
	// Reach makes the gradient that of the density about x, where it was that of a smoother
	// function nearby. It is called twice, at the ends of a twentieth and a tenth of warm-up.
	Reach(x []float64)
	// Write writes what is kept of a draw x.
	Write(dst, x []float64)
}

// ErrReject is returned by a Target at a point outside its support.
var ErrReject = errors.New("nuts: point rejected")
