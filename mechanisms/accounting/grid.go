package accounting

import (
	"math"

	"gonum.org/v1/gonum/dsp/fourier"
)

// grid is a circle of n points of a lattice, wide enough for a window.
type grid struct {
	window
	step float64
	n    int
}

// grid has the given step, or a smaller one that has atoms at ±span/2 on the lattice,
// or a larger one where memory would not do: there atoms lie beside it.
func (d *direction) grid(w window, step float64) grid {
	least := math.Max(2*w.distance/maxSize, d.widest/(maxSize/2))
	step = math.Max(step, least)
	if span := d.pair.span(); span > 0 {
		if aligned := span / 2 / math.Ceil(span/2/step); aligned >= least/2 {
			step = aligned
		}
	}
	return grid{w, step, smooth(2 * w.distance / step)}
}

// smooth is the next even number whose factors are small, out of several to a doubling.
func smooth(least float64) int {
	for n := 16; ; n *= 2 {
		for _, m := range []int{16, 18, 20, 24, 27, 30} {
			if float64(n*m) >= least {
				return n * m
			}
		}
	}
}

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

// curve bounds δ(ε) from above or from below: value at points of the lattice.
type curve struct {
	*profile
	value func(i int) float64
	shift float64 // of ε
}

// upper and lower compose the pessimistic and the optimistic lattices.
func (c *composer) upper() curve {
	p := c.compose(connect)
	return curve{p, p.upper, c.shift}
}

func (c *composer) lower() curve {
	p := c.compose(merge)
	return curve{p, p.lower, -c.shift}
}

func (c *composer) compose(discretise func(*law, float64) *lattice) *profile {
	l := discretise(c.law, c.step)
	if c.mirrored {
		l = l.mirrored()
	}
	l.settle()
	return compose(l, c.count, c.window, c.fft, c.rounding).profile()
}

// epsilon is the ε ≥ 0 where the curve falls to delta, looked for around near; +Inf where
// none is found.
func (c curve) epsilon(delta, near float64) float64 {
	epsilon, ok := c.crossing(c.value, delta, near)
	switch {
	case ok:
		return epsilon + c.shift
	case c.delta(0) <= delta:
		return 0
	}
	return math.Inf(1)
}

// delta is the curve's value at ε.
func (c curve) delta(epsilon float64) float64 { return c.at(c.value, epsilon-c.shift) }

// bend is how fast the logarithm of δ's slope falls at ε: over a few steps, and at
// most sharpest times over the circle, as at the end of a bounded loss, or an atom.
func (c curve) bend(epsilon float64) float64 {
	const sharpest = 1000
	w := 4 * c.step
	before, here, after := c.delta(epsilon-w), c.delta(epsilon), c.delta(epsilon+w)
	bend := math.Abs(math.Log((before - here) / (here - after)))
	if math.IsNaN(bend) {
		bend = math.Inf(1)
	}
	return math.Min(bend/w, sharpest/c.half())
}
