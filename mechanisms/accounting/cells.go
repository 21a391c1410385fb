package accounting

import "math"

// The privacy loss of a dominating pair (P, Q) is ℓ(x) = log dP/dQ(x). Its law is
// held as cells: sets of outcomes on which ℓ varies by little, in increasing order
// of ℓ. A cell's loss is log(P(cell)/Q(cell)), so that mass·e^−loss is its Q-mass.
type cell struct {
	mass, loss float64
	// The cell lies between two multiples of span steps of the lattice.
	span int
}

// law is the law of the loss under P.
type law struct {
	cells  []cell
	origin float64 // of the lattice
	// edge says that the loss cannot be below origin, and may crowd there.
	edge bool
	// symmetric says that (Q, P) has the same law. Then origin is 0, and below cells have
	// losses below 0.
	symmetric bool
	below     int
	// cutP and cutQ are the masses that P and Q have outside of all cells.
	cutP, cutQ float64
}

// The errors of rounding and quadrature in a cell: of its mass, relative to it, and
// of its loss, relative to the largest loss of the law (docs/accounting.md).
const (
	massError = 1e-12
	lossError = 1e-13
)

// reach is the largest absolute loss.
func (l *law) reach() float64 {
	if len(l.cells) == 0 {
		return 0
	}
	return math.Max(math.Abs(l.cells[0].loss), math.Abs(l.cells[len(l.cells)-1].loss))
}

// mirrored is the law of the pair (Q, P), whose loss is −ℓ and whose masses are Q's.
func (l *law) mirrored() *law {
	m := &law{cells: make([]cell, len(l.cells)), origin: -l.origin, cutP: l.cutQ, cutQ: l.cutP}
	for i, c := range l.cells {
		m.cells[len(l.cells)-1-i] = cell{mass: c.mass * math.Exp(-c.loss), loss: -c.loss, span: c.span}
	}
	return m
}

// pair is a dominating pair of distributions.
type pair interface {
	// law cuts the law of the loss into cells.
	law(resolution) *law
	// symmetric says that (Q, P) has the same law.
	symmetric() bool
	// most is the largest loss, of the mirrored law or of the law; it may be +Inf.
	most(mirrored bool) float64
	// renyi is the Rényi divergence of P from Q, where (P, Q) is the worse direction.
	renyi(order float64) float64
	// span is the distance between atoms of the law, 0 where there are none.
	span() float64
}

// resolution says how finely a law is cut.
type resolution struct {
	step float64 // of the lattice; +Inf: as coarse as may be
	tail float64 // P and Q may have so much mass outside of all cells
	focus
}

// focus says where a law has to be fine: δ falls near ε as e^{−slope·ε}, so that
// one loss ℓ moves it by a factor of e^{slope·ℓ}, or 1/δ at most.
type focus struct {
	slope, most float64
	// The law is that of (Q, P), or it is mirrored in halves.
	mirrored, both bool
}

// weight is how much a cell matters.
func (f focus) weight(c cell) float64 {
	weigh := func(mass, loss float64) float64 { return mass * math.Min(math.Exp(f.slope*loss), f.most) }
	mirror := func() float64 { return weigh(c.mass*math.Exp(-c.loss), -c.loss) }
	switch {
	case f.both:
		return math.Max(weigh(c.mass, c.loss), mirror())
	case f.mirrored:
		return mirror()
	}
	return weigh(c.mass, c.loss)
}

// widest is the largest number of steps at once at a loss: that over which e^{slope·ℓ}
// varies by little, or that is little beside a loss below 0, which matters little.
func (r resolution) widest(loss float64) int {
	if r.mirrored {
		loss = -loss
	}
	length := 1 / (1 + r.slope)
	if !r.both {
		length = math.Max(length, -loss)
	}
	return max(1, int(0.1*length/r.step))
}

const (
	// fineness is how many cells a step of the lattice has: what merging loses
	// within a cell is 1/fineness² of what it loses within a step.
	fineness = 4
	// spare is what wide steps may add to the spread, relative to narrow ones.
	spare = 0.05
)
