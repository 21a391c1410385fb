package model

import "math/rand/v2"

// sliceSteps bounds an interval: from far out in a tail it would grow without end.
const sliceSteps = 60

// slice moves *x by slice sampling, stepping out and shrinking (Neal 2003, "Slice
// Sampling", Annals of Statistics 31), which leaves the law of log density f, up to a
// constant, invariant. f reads *x; present is its value there, finite, and that at the new
// point is returned. A point where f is NaN has density 0. The interval has at most so many
// steps in all, a random part of them to the left, which leaves the law invariant too.
func slice(f func() float64, x *float64, present, width float64, rng *rand.Rand) float64 {
	at, level := *x, present-rng.ExpFloat64()
	value := func(v float64) float64 {
		*x = v
		return f()
	}
	left := at - width*rng.Float64()
	right, before := left+width, rng.IntN(sliceSteps)
	for k := before; k > 0 && value(left) >= level; k-- {
		left -= width
	}
	for k := sliceSteps - 1 - before; k > 0 && value(right) >= level; k-- {
		right += width
	}
	for {
		v := left + (right-left)*rng.Float64()
		if after := value(v); after >= level {
			return after
		}
		if v < at {
			left = v
		} else {
			right = v
		}
	}
}
