package accounting

import (
	"math"
	"math/cmplx"
	"sort"
)

// kernel is the transform of g_m = ρ^m − (ρκ)^m for 0 ≤ m < n/2, ρ = e^{−λh} and
// κ = e^{−h}:
//
//	Σ_m g_m w^m = ρw(1−κ)/((1−ρw)(1−ρκw)) − (ρw)^{n/2} [1/(1−ρw) − κ^{n/2}/(1−ρκw)],
//
// w = e^{2πik/n}. Its rounding error is below 64 units in the last place of size.
func (c *composed) kernel(k int) (value complex128, size float64) {
	sin, cos := math.Sincos(math.Pi * float64(k) / float64(c.n))
	// 1 − e^{−a}w without cancellation.
	less := func(a float64) complex128 {
		return complex(-math.Expm1(-a)+2*math.Exp(-a)*sin*sin, -math.Exp(-a)*2*sin*cos)
	}
	rho, half := c.lambda*c.step, float64(c.n/2)
	one, two := 1/less(rho), 1/less(rho+c.step)
	w := cmplx.Rect(math.Exp(-rho), 2*math.Pi*float64(k)/float64(c.n))
	whole := w * complex(-math.Expm1(-c.step), 0) * one * two
	sign := 1.
	if k%2 == 1 {
		sign = -1
	}
	end := complex(sign*math.Exp(-rho*half), 0) * (one - complex(math.Exp(-c.step*half), 0)*two)
	return whole - end, cmplx.Abs(whole) + math.Exp(-rho*half)*(cmplx.Abs(one)+cmplx.Abs(two))
}

// profile evaluates δ of a composed law at the points of its lattice. With z the
// tilted law and l_i = origin + ih,
//
//	δ(l_i) = Σ_{j≥i} P(L = l_j)(1 − e^{l_i − l_j}) = e^{K(λ) − λl_i} Σ_m z_{i+m} g_m,
//
// a convolution, whose transform is the product of two. The sum over m ends at half
// the circle, to keep out what is wrapped around: the tilted law beyond half a circle
// from l_i changes it by at most its mass times max g ≤ 1/(1 + λ).
type profile struct {
	*composed
	product []complex128 // transform of Σ_m z_{i+m} g_m
	fault   float64      // bound on its error
}

func (c *composed) profile() *profile {
	p := &profile{composed: c, product: make([]complex128, len(c.transform))}
	rounding := (128 + float64(len(c.transform))) * unit // of the kernel, the product and the sum
	for k, z := range c.transform {
		g, size := c.kernel(k)
		p.product[k] = z * g
		p.fault += 2 * rounding * cmplx.Abs(z) * size / float64(c.n)
		if k == 0 {
			p.fault += c.fault * size // Σ_m g_m is not more
		}
	}
	return p
}

// hinge is Σ_m z_{i+m} g_m.
func (p *profile) hinge(i int) float64 {
	n := int64(p.n)
	at := (int64(i)%n + n) % n
	sum := 0.
	for k, z := range p.product {
		sin, cos := math.Sincos(2 * math.Pi * float64(int64(k)*at%n) / float64(n))
		term := real(z)*cos - imag(z)*sin
		if k > 0 && 2*k < p.n {
			term *= 2
		}
		sum += term
	}
	return sum / float64(p.n)
}

func (p *profile) loss(i int) float64 { return p.origin + float64(float64(i)*p.step) }

// upper and lower bound δ(l_i) from above and below.
func (p *profile) upper(i int) float64 {
	l := p.loss(i)
	delta := p.scale(l, 1)*(math.Max(0, p.hinge(i))+p.fault+p.beyond(p.above, l+p.half())) + p.infinite
	if !(delta < 1) { // far from the window the factors may be +Inf and 0
		return 1
	}
	return delta
}

func (p *profile) lower(i int) float64 {
	l := p.loss(i)
	wrapped := p.beyond(p.above, l+p.half()) + p.beyond(p.below, l-p.half())
	delta := p.scale(l, -1) * math.Max(0, p.hinge(i)-p.fault-wrapped)
	if !(delta > 0) {
		return 0
	}
	return delta
}

// beyond bounds what the tilted law beyond x contributes to hinge, or fails to.
func (p *profile) beyond(side chernoff, x float64) float64 {
	return math.Exp(side.log(x)+4*p.rounding) / (1 + p.lambda)
}

// half is half the length of the circle.
func (p *profile) half() float64 { return float64(p.n/2) * p.step }

// scale is e^{K(λ) − λl}, rounded up or down.
func (p *profile) scale(l, sign float64) float64 {
	exponent := p.k - float64(p.lambda*l)
	rounding := p.rounding + 4*unit*(math.Abs(p.k)+math.Abs(p.lambda*l)+8)
	return math.Exp(exponent + sign*rounding)
}

// crossing returns the ε where a curve, bounding δ, falls to delta: between the
// points of the lattice δ is linear in e^ε. It starts at near and goes up to a
// quarter of the circle away; ok says whether it found it there.
func (p *profile) crossing(curve func(int) float64, delta, near float64) (epsilon float64, ok bool) {
	start := int(math.Round((near - p.origin) / p.step))
	low, high := start, start // curve(low) > delta ≥ curve(high), once found
	down := curve(start) > delta
	for stride := 1; (curve(low) > delta) == down && (curve(high) > delta) == down; stride *= 2 {
		if stride > p.n/4 {
			return p.loss(start), false
		}
		if down {
			low, high = high, start+stride
		} else {
			low, high = start-stride, low
		}
	}
	i := low + 1 + sort.Search(high-low-1, func(i int) bool { return curve(low+1+i) <= delta })
	before, after := curve(i-1), curve(i)
	share := (before - delta) / (before - after)
	return p.loss(i-1) + math.Log1p(share*math.Expm1(p.step)), true
}

// at returns what a curve, bounding δ, says at ε.
func (p *profile) at(curve func(int) float64, epsilon float64) float64 {
	i := int(math.Floor((epsilon - p.origin) / p.step))
	share := math.Expm1(epsilon-p.loss(i)) / math.Expm1(p.step)
	return curve(i) + float64(share*(curve(i+1)-curve(i)))
}
