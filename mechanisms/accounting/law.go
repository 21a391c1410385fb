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

// lattice is a discrete law of the loss: mass[i] at the loss origin + (first+i)·step.
type lattice struct {
	origin, step float64
	first        int
	mass         []float64
	// infinite is mass at an infinite loss, in P.
	infinite float64
	// rest is what merge could not place; its loss settle rounds down.
	rest cell
	// cutQ is infinite of the mirrored law.
	cutQ float64
}

func (l *lattice) loss(i int) float64 { return l.origin + float64(float64(l.first+i)*l.step) }

// add puts mass at the index-th point.
func (l *lattice) add(index int, mass float64) {
	if len(l.mass) == 0 {
		l.first = index
	}
	for index >= l.first+len(l.mass) {
		l.mass = append(l.mass, 0)
	}
	l.mass[index-l.first] += mass
}

// connect connects the dots (Doroshenko, Ghazi, Kamath, Kumar & Manurangsi, Connect
// the Dots: Tighter Discrete Approximations of Privacy Loss Distributions, PETS
// 2022): a cell between the points a and a + h is split over them such that its
// mass in P and in Q stay. As a hockey-stick curve is convex in e^ε, and that of
// the result is the straight line between its values at neighbouring points, the
// result dominates the law. With t = ℓ − a the share of a + h is
//
//	(1 − e^−t)/(1 − e^−h).
func connect(l *law, step float64) *lattice {
	d := &lattice{origin: l.origin, step: step, infinite: l.cutP, cutQ: l.cutQ}
	for _, c := range l.cells {
		size := float64(c.span) * step
		i := math.Floor((c.loss - l.origin) / size)
		share := math.Expm1(-(c.loss - l.origin - float64(i*size))) / math.Expm1(-size)
		share = math.Max(0, math.Min(1, share))
		d.add(int(i)*c.span, c.mass*(1-share))
		d.add(int(i+1)*c.span, c.mass*share)
	}
	return d
}

// merge makes a lattice that the law dominates. Where the law is symmetric and 0 on the
// lattice, the losses below 0 are gathered, and those above are their mirror image; what
// is left over on both sides together has a loss of 0.
func merge(l *law, step float64) *lattice {
	origin := l.origin
	if l.edge {
		origin = crowd(l, step)
	}
	if !l.symmetric {
		return gather(l.cells, origin, step, lossError*l.reach()/2)
	}
	low := gather(l.cells[:l.below], origin, step, lossError*l.reach()/2)
	middle := low.rest.mass * (1 + math.Exp(-low.rest.loss))
	low.rest = cell{}
	high := low.mirrored()
	low.add(0, middle)
	for i, p := range high.mass {
		low.add(high.first+i, p)
	}
	return low
}

// gather goes through the cells and gathers, for one point a of the lattice after the
// other, as many as together have P-mass e^a times their Q-mass; a cell at the end is
// divided. To forget which of the gathered outcomes occurred is post-processing, so the
// result is dominated by the law. A cell contributes
//
//	P − e^a Q = mass·(1 − e^{a − ℓ}),
//
// and the gathered ones balance where these sum to 0. What is left over at the end is
// kept as rest. A cell no further from a point than within stays there.
func gather(cells []cell, origin, step, within float64) *lattice {
	d := &lattice{origin: origin, step: step}
	if len(cells) == 0 {
		return d
	}
	index := int(math.Floor((cells[0].loss - origin + within) / step))
	point := origin + float64(float64(index)*step)
	mass, balance := 0., 0.
	for _, c := range cells {
		for {
			if math.Abs(c.loss-point) <= within {
				d.add(index, c.mass)
				break
			}
			gain := -c.mass * math.Expm1(point-c.loss)
			if balance+gain <= 0 {
				mass, balance = mass+c.mass, balance+gain
				break
			}
			part := -balance / gain * c.mass
			d.add(index, mass+part)
			c.mass -= part
			index++
			point = origin + float64(float64(index)*step)
			mass, balance = 0, 0
		}
	}
	if mass > 0 {
		d.rest = cell{mass: mass, loss: point - math.Log1p(-balance/mass)}
	}
	return d
}

// crowd is the loss of all cells within one step of the edge together.
func crowd(l *law, step float64) float64 {
	var p, q float64
	for _, c := range l.cells {
		if c.loss > l.origin+step {
			break
		}
		p, q = p+c.mass, q+float64(c.mass*math.Exp(-c.loss))
	}
	if p == 0 {
		return l.origin
	}
	return math.Log(p / q)
}

// mirrored is the lattice of (Q, P): both connect and merge keep P and Q apart.
func (l *lattice) mirrored() *lattice {
	n := len(l.mass)
	m := &lattice{origin: -l.origin, step: l.step, first: 1 - l.first - n, mass: make([]float64, n), infinite: l.cutQ, cutQ: l.infinite,
		rest: cell{mass: l.rest.mass * math.Exp(-l.rest.loss), loss: -l.rest.loss}}
	for i, p := range l.mass {
		if p > 0 {
			m.mass[n-1-i] = p * math.Exp(-l.loss(i))
		}
	}
	return m
}

// settle places what is left at the point below, with its mass in Q: less in P.
func (l *lattice) settle() {
	if l.rest.mass == 0 {
		return
	}
	i := int(math.Floor((l.rest.loss - l.origin) / l.step))
	down := l.origin + float64(float64(i)*l.step) - l.rest.loss
	if i >= l.first && i < l.first+len(l.mass) {
		l.mass[i-l.first] += l.rest.mass * math.Exp(down)
	}
	l.rest = cell{}
}
