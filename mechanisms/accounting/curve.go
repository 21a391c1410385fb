package accounting

import (
	"math"
	"math/cmplx"
	"sort"

	"gonum.org/v1/gonum/dsp/fourier"
)

// composer composes on one grid.
type composer struct {
	*direction
	grid
	law *law
	fft *fourier.FFT
	// Bounds on errors: of log δ by those of masses and of K, of ε by those of losses.
	rounding, shift float64
}

func (d *direction) on(g grid, f focus) *composer {
	f.mirrored, f.both = d.mirrored, d.pair.symmetric()
	l := d.pair.law(resolution{step: g.step, tail: d.tail, focus: f})
	return &composer{direction: d, grid: g, law: l, fft: fourier.NewFFT(g.n), shift: d.count * lossError * l.reach(),
		rounding: d.count * (massError + unit*4*(g.lambda*l.reach()+4))}
}

// upper and lower compose the pessimistic and the optimistic lattices.
func (c *composer) upper() *curve {
	up := c.compose(connect)
	up.value = up.upper
	return up
}

func (c *composer) lower() *curve {
	down := c.compose(merge)
	down.value, down.shift = down.lower, -c.shift
	return down
}

// kernel is the transform of g_m = ρ^m − (ρκ)^m for 0 ≤ m < n/2, ρ = e^{−λh} and
// κ = e^{−h}:
//
//	Σ_m g_m w^m = ρw(1−κ)/((1−ρw)(1−ρκw)) − (ρw)^{n/2} [1/(1−ρw) − κ^{n/2}/(1−ρκw)],
//
// w = e^{2πik/n}. Its rounding error is below 64 units in the last place of size.
func (c *composer) kernel(k int) (value complex128, size float64) {
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

// curve bounds δ(ε) from above or from below: value at the points of a composed law's lattice.
// With z the tilted law and l_i = origin + ih,
//
//	δ(l_i) = Σ_{j≥i} P(L = l_j)(1 − e^{l_i − l_j}) = e^{K(λ) − λl_i} Σ_m z_{i+m} g_m,
//
// a convolution, whose transform is the product of two. The sum over m ends at half
// the circle, to keep out what is wrapped around: the tilted law beyond half a circle
// from l_i changes it by at most its mass times max g ≤ 1/(1 + λ).
type curve struct {
	*composer
	k        float64 // K(λ) of the lattice
	origin   float64 // the loss at index 0
	infinite float64 // bounds the mass at an infinite loss
	// The window's bounds on tails, of which only θ is taken, for the lattice.
	above, below chernoff
	product      []complex128 // transform of Σ_m z_{i+m} g_m
	fault        float64      // bound on its error
	value        func(i int) float64
	shift        float64 // of ε
}

func (c *composer) compose(discretise func(*law, float64) *lattice) *curve {
	l := discretise(c.law, c.step)
	if c.mirrored {
		l = l.mirrored()
	}
	l.settle()
	circle := make([]float64, c.n)
	log, middle := l.wrap(circle, c.lambda)
	to := &curve{composer: c, k: c.count * log, origin: c.count * l.loss(middle), infinite: c.count * l.infinite, shift: c.shift}
	tail := func(side chernoff) chernoff {
		return chernoff{side.theta, c.count*l.logMoment(c.lambda+side.theta) - to.k}
	}
	to.above, to.below = tail(c.above), tail(c.below)
	var fault float64
	to.product, fault = power(c.fft.Coefficients(nil, circle), c.count, c.n)
	rounding := (128 + float64(len(to.product))) * unit // of the kernel, the product and the sum
	for k, z := range to.product {
		g, size := c.kernel(k)
		to.product[k] = z * g
		to.fault += 2 * rounding * cmplx.Abs(z) * size / float64(c.n)
		if k == 0 {
			to.fault += fault * size // Σ_m g_m is not more
		}
	}
	return to
}

// hinge is Σ_m z_{i+m} g_m.
func (c *curve) hinge(i int) float64 {
	n := int64(c.n)
	at := (int64(i)%n + n) % n
	sum := 0.
	for k, z := range c.product {
		sin, cos := math.Sincos(2 * math.Pi * float64(int64(k)*at%n) / float64(n))
		term := real(z)*cos - imag(z)*sin
		if k > 0 && 2*k < c.n {
			term *= 2
		}
		sum += term
	}
	return sum / float64(c.n)
}

func (c *curve) loss(i int) float64 { return c.origin + float64(float64(i)*c.step) }

// upper and lower bound δ(l_i) from above and below.
func (c *curve) upper(i int) float64 {
	l := c.loss(i)
	delta := c.scale(l, 1)*(math.Max(0, c.hinge(i))+c.fault+c.beyond(c.above, l+c.half())) + c.infinite
	if !(delta < 1) { // far from the window the factors may be +Inf and 0
		return 1
	}
	return delta
}

func (c *curve) lower(i int) float64 {
	l := c.loss(i)
	wrapped := c.beyond(c.above, l+c.half()) + c.beyond(c.below, l-c.half())
	delta := c.scale(l, -1) * math.Max(0, c.hinge(i)-c.fault-wrapped)
	if !(delta > 0) {
		return 0
	}
	return delta
}

// beyond bounds what the tilted law beyond x contributes to hinge, or fails to.
func (c *curve) beyond(side chernoff, x float64) float64 {
	return math.Exp(side.log(x)+4*c.rounding) / (1 + c.lambda)
}

// half is half the length of the circle.
func (c *curve) half() float64 { return float64(c.n/2) * c.step }

// scale is e^{K(λ) − λl}, rounded up or down.
func (c *curve) scale(l, sign float64) float64 {
	exponent := c.k - float64(c.lambda*l)
	rounding := c.rounding + 4*unit*(math.Abs(c.k)+math.Abs(c.lambda*l)+8)
	return math.Exp(exponent + sign*rounding)
}

// epsilon is the ε ≥ 0 where the curve falls to delta: between the points of the lattice δ is
// linear in e^ε. It starts at near and goes up to a quarter of the circle away; +Inf where
// nothing is found there.
func (c *curve) epsilon(delta, near float64) float64 {
	start := int(math.Round((near - c.origin) / c.step))
	low, high := start, start // value(low) > delta ≥ value(high), once found
	down := c.value(start) > delta
	for stride := 1; (c.value(low) > delta) == down && (c.value(high) > delta) == down; stride *= 2 {
		switch {
		case stride <= c.n/4 && down:
			low, high = high, start+stride
		case stride <= c.n/4:
			low, high = start-stride, low
		case c.delta(0) <= delta:
			return 0
		default:
			return math.Inf(1)
		}
	}
	i := low + 1 + sort.Search(high-low-1, func(i int) bool { return c.value(low+1+i) <= delta })
	before, after := c.value(i-1), c.value(i)
	share := (before - delta) / (before - after)
	return c.loss(i-1) + math.Log1p(share*math.Expm1(c.step)) + c.shift
}

// delta is the curve's value at ε.
func (c *curve) delta(epsilon float64) float64 {
	epsilon -= c.shift
	i := int(math.Floor((epsilon - c.origin) / c.step))
	share := math.Expm1(epsilon-c.loss(i)) / math.Expm1(c.step)
	return c.value(i) + float64(share*(c.value(i+1)-c.value(i)))
}

// bend is how fast the logarithm of δ's slope falls at ε: over a few steps, and at
// most sharpest times over the circle, as at the end of a bounded loss, or an atom.
func (c *curve) bend(epsilon float64) float64 {
	const sharpest = 1000
	w := 4 * c.step
	before, here, after := c.delta(epsilon-w), c.delta(epsilon), c.delta(epsilon+w)
	bend := math.Abs(math.Log((before - here) / (here - after)))
	if math.IsNaN(bend) {
		bend = math.Inf(1)
	}
	return math.Min(bend/w, sharpest/c.half())
}

const (
	unit       = 0x1p-53
	negligible = -90
)

// fftError bounds the error of each coefficient of a transform of n points, relative
// to the sum of the points' absolute values: of log₂ n levels each adds a few
// rounding errors to what it sums (docs/accounting.md).
func fftError(n int) float64 { return 32 * unit * (math.Log2(float64(n)) + 1) }

// power is the law of the sum L of count losses, tilted by e^{λℓ} and wrapped around a circle
// of n points, as its discrete Fourier transform:
//
//	ẑ_k = ŷ_k^count,  y the tilted law of a step, summing to 1,
//
// for 0 ≤ k < len(transform); what is beyond is below e^negligible altogether. fault bounds
// the error of each point of the wrapped law. It overwrites ŷ.
func power(transform []complex128, count float64, n int) (_ []complex128, fault float64) {
	rounding := 16 * unit * count // of the exponents
	e := fftError(n)
	least := math.Max(0, math.Exp(negligible/count)-e) // whose power is negligible
	length, total := 0, 0.
	for k, y := range transform {
		transform[k] = 0
		if real(y)*real(y)+imag(y)*imag(y) < least*least {
			fault += math.Exp(negligible + 1)
			continue
		}
		size := math.Hypot(real(y), imag(y))
		bound := count * math.Log(size+e)
		if bound < negligible {
			fault += math.Exp(negligible + 1)
			continue
		}
		sin, cos := math.Sincos(count * math.Atan2(imag(y), real(y)))
		modulus := math.Exp(count * math.Log(size))
		fault += math.Exp(bound+rounding) - modulus
		total += modulus
		transform[k] = complex(modulus*cos, modulus*sin)
		length = k + 1
	}
	// Coefficients k and n − k are conjugate, and each but the first counts twice.
	return transform[:max(1, length)], 2 * (fault + 32*unit*total) / float64(n)
}

// wrap writes the law tilted by e^{λℓ} and divided by its sum, whose logarithm it
// returns, around a circle that begins at its middle: near the mean, so that the
// transform turns slowly.
func (l *lattice) wrap(circle []float64, lambda float64) (log float64, middle int) {
	top := math.Inf(-1)
	for i, p := range l.mass {
		if p > 0 {
			top = math.Max(top, math.Log(p)+float64(lambda*l.loss(i)))
		}
	}
	weights := make([]float64, len(l.mass))
	var sum, mean float64
	for i, p := range l.mass {
		if p == 0 {
			continue
		}
		weights[i] = p * math.Exp(lambda*l.loss(i)-top)
		sum += weights[i]
		mean += weights[i] * float64(i)
	}
	middle = int(math.Round(mean / sum))
	clear(circle)
	n := len(circle)
	for i, w := range weights {
		at := (i - middle) % n
		if at < 0 {
			at += n
		}
		circle[at] += w / sum
	}
	return top + math.Log(sum), middle
}

// logMoment is log Σ mass·e^{λℓ}.
func (l *lattice) logMoment(lambda float64) float64 {
	return logMoment(lambda, len(l.mass), func(i int) (mass, loss float64) { return l.mass[i], l.loss(i) })
}
