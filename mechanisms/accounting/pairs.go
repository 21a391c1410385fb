package accounting

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// sampled is the dominating pair of one release with normal noise of standard
// deviation σ of a sum over a Poisson sample of rate q, where a record adds a
// vector of norm at most 1:
//
//	add-remove    P = (1−q) N(0, σ²) + q N(1, σ²),  Q = N(0, σ²),
//	replace-one   P as above,                       Q = (1−q) N(0, σ²) + q N(−1, σ²).
//
// With φ_m the density of N(m, σ²), ρ(x) = log φ₁/φ₀ = (x − ½)/σ² and
// s(ρ) = log(1 + q(e^ρ − 1)), the loss is s(ρ(x)), or s(ρ(x)) − s(ρ(−x)). Both
// increase in x. docs/accounting.md proves that they dominate in any dimension.
type sampled struct {
	sigma, q float64
	replace  bool
}

func (s sampled) symmetric() bool { return s.replace || s.q == 1 }
func (s sampled) span() float64   { return 0 }

// distance is how far the means of P and Q are apart without sampling.
func (s sampled) distance() float64 {
	if s.replace {
		return 2 * (1 / s.sigma)
	}
	return 1 / s.sigma
}

func (s sampled) most(mirrored bool) float64 {
	if mirrored && !s.replace {
		return -math.Log1p(-s.q)
	}
	return math.Inf(1)
}

// at is the outcome x where the loss is l, the inverse of ℓ; −Inf below its range.
func (s sampled) at(l float64) float64 {
	square := s.sigma * s.sigma
	if s.replace {
		// With w = e^{x/σ²} and k = q e^{−1/2σ²}/(1−q), e^ℓ = (1 + kw)/(1 + k/w) is
		// a quadratic equation for w.
		k := s.q * math.Exp(-1/(2*square)) / (1 - s.q)
		return square * (l/2 + math.Asinh(math.Sinh(l/2)/k))
	}
	return 0.5 + float64(square*s.inverse(l))
}

// inverse is the ρ with s(ρ) = l.
func (s sampled) inverse(l float64) float64 {
	switch {
	case s.q == 1:
		return l
	case l > 1:
		return l + math.Log1p(-(1-s.q)*math.Exp(-l)) - math.Log(s.q)
	case math.Expm1(l) <= -s.q:
		return math.Inf(-1)
	}
	return math.Log1p(math.Expm1(l) / s.q)
}

// shrink is s(ρ).
func (s sampled) shrink(rho float64) float64 {
	if s.q == 1 {
		return rho
	}
	if rho > 1 { // e^ρ may overflow
		return rho + math.Log(s.q+float64((1-s.q)*math.Exp(-rho)))
	}
	return math.Log1p(s.q * math.Expm1(rho))
}

// Gauss and Legendre's four points and weights on [−1, 1].
var (
	nodes   = [4]float64{-0.8611363115940526, -0.3399810435848563, 0.3399810435848563, 0.8611363115940526}
	weights = [4]float64{0.3478548451374538, 0.6521451548625461, 0.6521451548625461, 0.3478548451374538}
)

// cell integrates the densities over [low, high] by four points of Gauss, which is
// exact to a few units in the last place for cells no wider than panel. All is
// relative to the densities at the middle m, so that nothing cancels or overflows:
// φ₀(m + t) = φ₀(m) e^{−t(2m + t)/2σ²}, φ_{±1}(m + t)/φ₀(m + t) = e^{ρ(±m) ± t/σ²}.
func (s sampled) cell(low, high float64) cell {
	m, half := low/2+high/2, (high-low)/2
	square := s.sigma * s.sigma
	var zero, plus, minus float64
	for i, node := range nodes {
		t := half * node
		density := weights[i] * math.Exp(-t*(2*m+t)/(2*square))
		ratio := math.Exp(t / square)
		zero += density
		plus += density * ratio
		minus += density / ratio
	}
	up := s.shrink((m-0.5)/square + math.Log(plus/zero))
	logQ := math.Log(zero*half/(s.sigma*math.Sqrt(2*math.Pi))) - float64(m*m/(2*square))
	loss := up
	if s.replace {
		loss -= s.shrink((-m-0.5)/square + math.Log(minus/zero))
	}
	return cell{mass: math.Exp(logQ + up), loss: loss}
}

// panel is the largest width of a cell at x.
func (s sampled) panel(x float64) float64 {
	far := math.Max(math.Abs(x-1), math.Abs(x+1))
	return 0.25 * s.sigma / (far/s.sigma + 4)
}

// bounds are outcomes below and above which P and Q have at most tail each.
func (s sampled) bounds(tail float64) (low, high float64) {
	far := s.sigma * upperQuantile(tail/2)
	shifted := 1 + float64(s.sigma*upperQuantile(math.Min(tail/(2*s.q), 0.5)))
	high = math.Max(far, shifted)
	if s.replace {
		return -high, high
	}
	return -far, high
}

// beyond are the masses that P and Q have outside of [low, high].
func (s sampled) beyond(low, high float64) (cutP, cutQ float64) {
	outside := func(mean float64) float64 {
		return upperTail((high-mean)/s.sigma) + upperTail((mean-low)/s.sigma)
	}
	mixed := func(mean float64) float64 { return (1-s.q)*outside(0) + float64(s.q*outside(mean)) }
	if s.replace {
		return mixed(1), mixed(-1)
	}
	return mixed(1), outside(0)
}

func (s sampled) law(r resolution) *law {
	l := &law{symmetric: s.symmetric()}
	if !l.symmetric {
		l.origin, l.edge = math.Log1p(-s.q), true
	}
	low, high := s.bounds(r.tail)
	l.cutP, l.cutQ = s.beyond(low, high)
	if math.IsInf(r.step, 1) {
		l.cells = s.between(nil, low, high, 1)
		return l
	}
	s.cut(l, r, low, high)
	return l
}

// between appends the cells of [low, high], none wider than a panel.
func (s sampled) between(cells []cell, low, high float64, span int) []cell {
	for x := low; x < high; {
		next := math.Min(high, x+s.panel(x))
		c := s.cell(x, next)
		c.span = span
		cells = append(cells, c)
		x = next
	}
	return cells
}

// cut cuts [low, high] where the loss is on the lattice, and between its points
// into fineness parts. Where there is little mass it takes 2, 4, … steps at once:
// s steps that hold a mass of w make connect spread the loss by w(s·step)²/6 at
// most, and ws ≤ spare/(number of steps) keeps the sum of all below spare·step²/6.
func (s sampled) cut(l *law, r resolution, low, high float64) {
	index := func(x float64) int {
		return int(math.Floor((s.cell(x, x+s.panel(x)).loss - l.origin) / r.step))
	}
	first, last := index(low), index(high)
	limit := spare / float64(last-first+1)
	span, x := 1, low
	for i := first; x < high; {
		start, size := len(l.cells), float64(span)*r.step
		from := x
		for f := 1; f <= fineness && x < high; f++ {
			at := s.at(l.origin + float64(float64(i)*r.step) + float64(size*float64(f)/fineness))
			if to := math.Min(high, at); to > x {
				l.cells = s.between(l.cells, x, to, span)
				x = to
			}
		}
		if i < 0 { // then the chord ends at 0 or below
			l.below = len(l.cells)
		}
		weight := 0.
		for _, c := range l.cells[start:] {
			weight += r.weight(c)
		}
		weight *= float64(span)
		if span > 1 && weight > limit {
			l.cells, x = l.cells[:start], from
			span /= 2
			continue
		}
		i += span
		if weight*8 < limit && i%(2*span) == 0 && 2*span <= r.widest(l.origin+float64(float64(i)*r.step)) {
			span *= 2
		}
	}
}

// upperTail is Q(z), the probability that a standard normal variate exceeds z.
func upperTail(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }

// upperQuantile is the z with Q(z) = tail, for tail from 1e-300 to ½.
func upperQuantile(tail float64) float64 {
	return -mathext.NormalQuantile(tail)
}

// laplace is the dominating pair of noise of scale b on a number that neighbours
// move by at most 1: P the law of density e^{−|x|/b}/2b, Q that law moved by 1. The
// loss is (|x − 1| − |x|)/b: 1/b for x ≤ 0, −1/b for x ≥ 1, and (1 − 2x)/b between.
// The same pair dominates noise on a vector that neighbours move by at most 1 in L1
// (docs/accounting.md).
type laplace struct{ scale float64 }

func (l laplace) symmetric() bool   { return true }
func (l laplace) most(bool) float64 { return 1 / l.scale }
func (l laplace) span() float64     { return 2 / l.scale }

// law has atoms of P-mass e^{−1/b}/2 and ½ at −1/b and 1/b, and between them the
// density e^{(ℓ−1/b)/2}/4. In a cell, log(P/Q) is the loss in its middle.
func (l laplace) law(r resolution) *law {
	reach := 1 / l.scale
	width := r.step / fineness
	if math.IsInf(r.step, 1) {
		width = reach / 32
	}
	cells := []cell{{mass: math.Exp(-reach) / 2, loss: -reach, span: 1}}
	low, below := -reach, 0
	for i := math.Floor(-reach/width) + 1; low < reach; i++ {
		high := math.Min(reach, float64(i*width))
		cells = append(cells, cell{mass: math.Exp((low-reach)/2) * math.Expm1((high-low)/2) / 2, loss: low/2 + high/2, span: 1})
		low = high
		if i <= 0 {
			below = len(cells)
		}
	}
	return &law{symmetric: true, below: below, cells: append(cells, cell{mass: 0.5, loss: reach, span: 1})}
}

// renyi is Mironov (2017), Proposition 6.
func (l laplace) renyi(order float64) float64 {
	a := math.Log(order/(2*order-1)) + (order-1)/l.scale
	b := math.Log((order-1)/(2*order-1)) - order/l.scale
	return logSum(a, b) / (order - 1)
}

// logSum is log(e^a + e^b).
func logSum(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	return a + math.Log1p(math.Exp(b-a))
}
