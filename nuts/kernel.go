package nuts

import (
	"math"
	"math/rand/v2"
)

// Chain is a target with what one chain of it does beside trajectories. It holds the chain's
// workspace.
type Chain interface {
	Target
	// Move makes the moves that follow a trajectory, by Try, Put or MoveTo.
	Move(k *Kernel, rng *rand.Rand)
	// Reach makes the gradient that of the density about x, where it was that of a smoother
	// function nearby. It is called twice, at the ends of a twentieth and a tenth of warm-up.
	Reach(x []float64)
	// Write writes what is kept of a draw x.
	Write(dst, x []float64)
}

// Kernel is one chain: trajectories of a Sampler and the moves of its Chain, in turns.
type Kernel struct {
	*Sampler
	Chain    Chain
	proposed []float64
	grad     []float64
}

// NewKernel starts a chain; see New.
func NewKernel(c Chain, start []float64, o Options) (*Kernel, error) {
	s, err := New(c, start, o)
	if err != nil {
		return nil, err
	}
	return &Kernel{Sampler: s, Chain: c, proposed: make([]float64, c.Dim()), grad: make([]float64, c.Dim())}, nil
}

// Step does one transition.
func (k *Kernel) Step(rng *rand.Rand) Info {
	info := k.Sampler.Step(rng)
	k.Chain.Move(k, rng)
	info.LogDensity = k.LogDensity()
	return info
}

// Proposal is a copy of the position, for a move to change, and space for a gradient.
func (k *Kernel) Proposal() (x, grad []float64) {
	copy(k.proposed, k.Position())
	return k.proposed, k.grad
}

// Try moves the chain to x by Metropolis' test, x being what an involution of Jacobian 1
// makes of the position.
func (k *Kernel) Try(x []float64, rng *rand.Rand) {
	after, err := k.target.LogDensity(k.grad, x)
	if err == nil && rng.Float64() < math.Exp(after-k.LogDensity()) {
		k.MoveTo(x, after, k.grad)
	}
}

// Put moves the chain to x, where a move that leaves the target invariant went; it stays
// where x has no density in floating point.
func (k *Kernel) Put(x []float64) {
	if after, err := k.target.LogDensity(k.grad, x); err == nil {
		k.MoveTo(x, after, k.grad)
	}
}

// Adapt is called by the driver after each warm-up step.
func (k *Kernel) Adapt(iteration, warmup int) {
	if done := iteration + 1; done == warmup/20 || done == warmup/10 {
		k.Chain.Reach(k.Position())
		k.Moved()
	}
	k.Sampler.Adapt(iteration, warmup)
}

// Fail ends the run, unless an error has already.
func (k *Kernel) Fail(err error) {
	if k.err == nil {
		k.err = err
	}
}

// Params writes the parameters.
func (k *Kernel) Params(dst []float64) { k.Chain.Write(dst, k.Position()) }
