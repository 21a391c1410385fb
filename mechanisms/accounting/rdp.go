package accounting

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/integrate/quad"
)

// RDP returns the Rényi divergence of this order (> 1) that bounds the composition,
// for either direction of neighbours: that of its dominating pairs, which adds up
// (Mironov, Rényi Differential Privacy, CSF 2017). Of the two directions of Poisson
// sampling removal is the larger (Mironov, Talwar & Zhang, Rényi Differential Privacy
// of the Sampled Gaussian Mechanism, 2019, Theorem 5). It is rounded up. Panics: an
// order that is not a finite number above 1.
func (c *Composition) RDP(order float64) float64 {
	if !(order > 1) || math.IsInf(order, 1) {
		panic("accounting: a Rényi divergence needs a finite order above 1")
	}
	total := 0.
	for j, p := range c.pairs {
		total += c.counts[j] * p.renyi(order)
	}
	return total * (1 + 1e-11)
}

// RDPEpsilon returns the ε for δ that follows from a Rényi divergence of rdp at an
// order α > 1,
//
//	ε = rdp + log(1 − 1/α) − (log δ + log α)/(α − 1)
//
// or 0 where that is negative: Canonne, Kamath & Steinke (The Discrete Gaussian for
// Differential Privacy, NeurIPS 2020), Proposition 12.
func RDPEpsilon(order, rdp, delta float64) float64 {
	return math.Max(0, rdp+math.Log1p(-1/order)-(math.Log(delta)+math.Log(order))/(order-1))
}

// renyi is a composition's Rényi divergences at increasing orders, as far as they
// were asked for.
type renyi struct {
	*Composition
	orders, divergences []float64
}

// at returns the i-th order and its divergence: steps of 5 % of α − 1 cost about a
// relative 1e-4 of ε.
func (r *renyi) at(i int) (order, rdp float64) {
	for len(r.orders) <= i {
		order := 1 + 0.02*math.Pow(1.05, float64(len(r.orders)))
		r.orders, r.divergences = append(r.orders, order), append(r.divergences, r.RDP(order))
	}
	return r.orders[i], r.divergences[i]
}

// epsilon is the smallest ε that an order gives. Orders end where the divergence,
// which grows, is above it, or ε has long been growing.
func (r *renyi) epsilon(delta float64) float64 {
	best := math.Inf(1)
	for i := 0; ; i++ {
		order, rdp := r.at(i)
		epsilon := RDPEpsilon(order, rdp, delta)
		best = math.Min(best, epsilon)
		if rdp > best || epsilon > 3*best || order > 1e6 {
			return best
		}
	}
}

// delta is the smallest δ that an order gives, by the bound that RDPEpsilon solves for ε.
func (r *renyi) delta(epsilon float64) float64 {
	best := 0.
	for i := 0; ; i++ {
		order, rdp := r.at(i)
		best = math.Min(best, (order-1)*(rdp-epsilon)+hinge(order-1))
		if rdp > epsilon || order > 1e6 {
			return math.Exp(best)
		}
	}
}

// logMoment is log ∫_low^∞ φ₀(x) s(ρ(x))^order dx, or with s(ρ(−x))^{1−order} as
// another factor for replace-one: the order-th moment of dP/dQ under Q. Its error is
// below 1e-12 (docs/accounting.md).
func (s sampled) logMoment(order, low float64) float64 {
	m := moment{sampled: s, order: order, top: math.Inf(-1)}
	far := s.sigma * math.Sqrt(2*(40+float64(2*math.Abs(order)*math.Ln2)))
	low, high := math.Max(low, -1-far), math.Max(order, 1)+far
	if s.replace {
		high += math.Max(order, 1)
	}
	square := s.sigma * s.sigma
	width := math.Min(s.sigma, square*math.Min(math.Pi/2, 2/math.Sqrt(math.Abs(order))))
	panels := math.Ceil((high - low) / width)
	ends := make([]float64, int(panels)+1)
	for i := range ends {
		ends[i] = m.log(low + float64(float64(i)*(high-low)/panels))
		m.top = math.Max(m.top, ends[i])
	}
	for i := range int(panels) {
		m.add(low+float64(float64(i)*(high-low)/panels), (high-low)/panels, ends[i], ends[i+1])
	}
	return m.top + math.Log(m.sum/(s.sigma*math.Sqrt(2*math.Pi)))
}

// moment sums an integrand over panels, relative to e^top.
type moment struct {
	sampled
	order, sum, top float64
}

// log is the logarithm of the integrand, but for the density's constant.
func (m *moment) log(x float64) float64 {
	square := m.sigma * m.sigma
	log := float64(m.order*m.shrink((x-0.5)/square)) - float64(x*x/(2*square))
	if m.replace {
		log += (1 - m.order) * m.shrink((-x-0.5)/square)
	}
	return log
}

// add integrates by 16 points of Gauss, or halves of a panel across which the integrand
// changes by more than e^steep; it leaves out what cannot matter.
func (m *moment) add(left, width, atLeft, atRight float64) {
	const steep = 8
	if math.Max(atLeft, atRight) < m.top-60-0.1*math.Abs(m.order) {
		return
	}
	if math.Abs(atLeft-atRight) > steep {
		middle := m.log(left + width/2)
		m.add(left, width/2, atLeft, middle)
		m.add(left+width/2, width/2, middle, atRight)
		return
	}
	m.sum += quad.Fixed(func(x float64) float64 { return math.Exp(m.log(x) - m.top) }, left, left+width, 16, quad.Legendre{}, 0)
}

// momentError bounds what rounding does to a moment that is near 1, and is added to its
// logarithm.
const momentError = 5e-14

func (s sampled) renyi(order float64) float64 {
	if s.q == 1 {
		distance := 1 / s.sigma
		if s.replace {
			distance *= 2
		}
		return order * distance * distance / 2
	}
	return (math.Max(0, s.logMoment(order, math.Inf(-1))) + momentError) / (order - 1)
}

// renyi integrates over the law of the loss: where it is positive, 0 and negative.
func (f fixed) renyi(order float64) float64 {
	p := f.poisson()
	const middle = 0.5 // where the loss is 0
	atom := (1 - f.rate) * math.Erf(1/(math.Sqrt2*f.sigma))
	above := math.Exp(p.logMoment(order, middle))
	below := math.Exp(p.logMoment(1-order, middle))
	return (math.Max(0, math.Log(above+atom+below)) + momentError) / (order - 1)
}

// renyi is Mironov (2017), Proposition 6.
func (l laplace) renyi(order float64) float64 {
	a := math.Log(order/(2*order-1)) + (order-1)/l.scale
	b := math.Log((order-1)/(2*order-1)) - order/l.scale
	return logSum(a, b) / (order - 1)
}

func (p pure) renyi(order float64) float64 {
	heads := -math.Log1p(math.Exp(-p.epsilon))
	return logSum(heads+(order-1)*p.epsilon, heads-p.epsilon-(order-1)*p.epsilon) / (order - 1)
}

// logSum is log(e^a + e^b).
func logSum(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	return a + math.Log1p(math.Exp(b-a))
}

// ZCDP returns the ρ for which the composition is ρ-zero-concentrated differentially
// private: Rényi divergences of all orders α are at most ρα (Bun & Steinke,
// Concentrated Differential Privacy, TCC 2016). Noise that is (ε, 0)-differentially
// private has ρ = ε²/2. ok is false where there is none: with sampling.
func (c *Composition) ZCDP() (rho float64, ok bool) {
	for j, p := range c.pairs {
		switch p := p.(type) {
		case laplace:
			rho += c.counts[j] / (2 * p.scale * p.scale)
		case pure:
			rho += c.counts[j] * p.epsilon * p.epsilon / 2
		case sampled:
			if p.q < 1 {
				return 0, false
			}
			rho += c.counts[j] * p.renyi(1)
		default:
			return 0, false
		}
	}
	return rho * (1 + 1e-14*float64(len(c.pairs)+4)), true
}

// ZCDPEpsilon returns an ε for δ that follows from ρ: RDPEpsilon of ρα at the best of
// many orders α. It is not above ρ + 2√(ρ log(1/δ)). Errors: rho negative or not
// finite, delta not in [MinDelta, 1).
func ZCDPEpsilon(rho, delta float64) (float64, error) {
	if err := check(nonNegative("rho", rho), inRange(delta)); err != nil {
		return 0, err
	}
	// At the order 1 + √(log(1/δ)/ρ) the bound is the one above less a bit.
	best := math.Inf(1)
	start := math.Sqrt(-math.Log(delta) / math.Max(rho, 1e-300))
	for factor := 0.1; factor < 10; factor *= 1.001 {
		order := 1 + factor*start
		best = math.Min(best, RDPEpsilon(order, rho*order, delta))
	}
	return best, nil
}

// DefaultMoments is how many moments Abadi et al. (2016) take.
const DefaultMoments = 32

// Moments returns the ε of the moments accountant for δ: with α(λ) the log moment
// log E_P e^{λℓ} of all steps,
//
//	ε = min over λ = 1, …, most of (α(λ) + log(1/δ))/λ
//
// (Abadi et al., Deep Learning with Differential Privacy, CCS 2016, Theorem 2). α(λ) is
// λ times the Rényi divergence of order λ + 1. Errors: delta not in [MinDelta, 1), most
// below 1, nothing composed.
func (c *Composition) Moments(delta float64, most int) (float64, error) {
	if err := inRange(delta); err != nil {
		return 0, err
	}
	switch {
	case most < 1:
		return 0, fmt.Errorf("the moments accountant needs at least 1 moment, not %d", most)
	case len(c.pairs) == 0:
		return 0, errEmpty
	}
	return momentsEpsilon(c.moments(most), delta), nil
}

// moments are α(λ)/λ.
func (c *Composition) moments(most int) []float64 {
	all := make([]float64, most)
	for i := range all {
		all[i] = c.RDP(float64(i + 2))
	}
	return all
}

func momentsEpsilon(moments []float64, delta float64) float64 {
	best := math.Inf(1)
	for i, m := range moments {
		best = math.Min(best, m-math.Log(delta)/float64(i+1))
	}
	return best
}
