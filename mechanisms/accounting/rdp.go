package accounting

import (
	"cmp"
	"math"

	"gonum.org/v1/gonum/integrate/quad"
)

// divergence is the Rényi divergence of an order above 1 that bounds the composition,
// for either direction of neighbours: that of its dominating pairs, which adds up
// (Mironov, Rényi Differential Privacy, CSF 2017). Of the two directions of Poisson
// sampling removal is the larger (Mironov, Talwar & Zhang, Rényi Differential Privacy
// of the Sampled Gaussian Mechanism, 2019, Theorem 5). It is rounded up.
func (c composition) divergence(order float64) float64 {
	return c.count * c.pair.renyi(order) * (1 + 1e-11)
}

// fromRDP is the ε for δ that follows from a Rényi divergence of rdp at an
// order α > 1,
//
//	ε = rdp + log(1 − 1/α) − (log δ + log α)/(α − 1)
//
// or 0 where that is negative: Canonne, Kamath & Steinke (The Discrete Gaussian for
// Differential Privacy, NeurIPS 2020), Proposition 12.
func fromRDP(order, rdp, delta float64) float64 {
	return math.Max(0, rdp+math.Log1p(-1/order)-(math.Log(delta)+math.Log(order))/(order-1))
}

// renyi is a composition's Rényi divergences at increasing orders, as far as they
// were asked for.
type renyi struct {
	composition
	orders, divergences []float64
}

// at returns the i-th order and its divergence: steps of 5 % of α − 1 cost about a
// relative 1e-4 of ε.
func (r *renyi) at(i int) (order, rdp float64) {
	for len(r.orders) <= i {
		order := 1 + 0.02*math.Pow(1.05, float64(len(r.orders)))
		r.orders, r.divergences = append(r.orders, order), append(r.divergences, r.divergence(order))
	}
	return r.orders[i], r.divergences[i]
}

// epsilon is the smallest ε that an order gives. Orders end where the divergence,
// which grows, is above it, or ε has long been growing.
func (r *renyi) epsilon(delta float64) float64 {
	best := math.Inf(1)
	for i := 0; ; i++ {
		order, rdp := r.at(i)
		epsilon := fromRDP(order, rdp, delta)
		best = math.Min(best, epsilon)
		if rdp > best || epsilon > 3*best || order > 1e6 {
			return best
		}
	}
}

// delta is the smallest δ that an order gives, by the bound that fromRDP solves for ε.
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

// logMoment is log ∫ φ₀(x) s(ρ(x))^order dx, or with s(ρ(−x))^{1−order} as
// another factor for replace-one: the order-th moment of dP/dQ under Q. Its error is
// below 1e-12 (docs/accounting.md).
func (s sampled) logMoment(order float64) float64 {
	m := moment{sampled: s, order: order, top: math.Inf(-1)}
	far := s.sigma * math.Sqrt(2*(40+float64(2*order*math.Ln2)))
	low, high := -1-far, order+far
	if s.replace {
		high += order
	}
	square := s.sigma * s.sigma
	width := math.Min(s.sigma, square*math.Min(math.Pi/2, 2/math.Sqrt(order)))
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
	if math.Max(atLeft, atRight) < m.top-60-0.1*m.order {
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
		return order * s.distance() * s.distance() / 2
	}
	return (math.Max(0, s.logMoment(order)) + momentError) / (order - 1)
}

// ZCDPEpsilon returns an ε for which a ρ-zCDP mechanism (Bun & Steinke, TCC 2016) is (ε,
// delta)-differentially private. Its Rényi divergences are at most ρα, so that with any order
// α > 1 fromRDP has one: the smallest over orders, rounded up. Errors: rho not positive and
// finite, delta not in [MinDelta, 1).
func ZCDPEpsilon(rho, delta float64) (float64, error) {
	if err := cmp.Or(positive("rho", rho), inRange(delta, MinDelta)); err != nil {
		return 0, err
	}
	// In x = log(α − 1) it falls and then rises. Whatever is found, it is a bound.
	at := func(x float64) float64 {
		order := 1 + math.Exp(x)
		return fromRDP(order, rho*order, delta)
	}
	low, high := -20., 40.
	for range 200 {
		a, b := low+(high-low)/3, high-(high-low)/3
		if at(a) <= at(b) {
			high = b
		} else {
			low = a
		}
	}
	return at((low+high)/2) * (1 + 1e-9), nil
}
