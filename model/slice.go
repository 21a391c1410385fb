package model

import "math/rand/v2"

// slice moves *x by slice sampling, stepping out and shrinking (Neal 2003, "Slice
// Sampling", Annals of Statistics 31), which leaves the law of log density f, up to a
// constant, invariant. f reads *x; present is its value there, finite, and that at the new
// point is returned. A point where f is NaN has density 0.
func slice(f func() float64, x *float64, present, width float64, rng *rand.Rand) float64 {
	at, level := *x, present-rng.ExpFloat64()
	value := func(v float64) float64 {
		*x = v
		return f()
	}
	left := at - width*rng.Float64()
	right := left + width
	for value(left) >= level {
		left -= width
	}
	for value(right) >= level {
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
