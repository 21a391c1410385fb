package exact

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/nuts"
)

// flip negates one mean or one entry of D below its diagonal: the noisier linear
// statistics may leave a sign open that the quadratic ones tell nothing of, so
// that the posterior has mirrored modes which no trajectory joins. The negation
// is an involution of Jacobian 1 in (v̄, D), so Metropolis' test by the density there leaves
// the posterior invariant.
type flip struct {
	density *density
	x, grad []float64
}

func newFlip(f *density) *flip {
	return &flip{f, make([]float64, f.Dim()), make([]float64, f.Dim())}
}

// signs lists the coordinates to negate: of m means, and of a lower triangle behind them
// the entries below the diagonal.
func signs(m int) []int {
	var at []int
	for i := range m {
		at = append(at, i)
		for j := range i {
			at = append(at, diagonal(m, i)-i+j)
		}
	}
	return at
}

// step moves the sampler's position.
func (f *flip) step(s *nuts.Sampler, rng *rand.Rand) {
	d := f.density
	t := d.statistics
	copy(f.x, s.Position())
	logJ, _ := d.set(f.x)
	before := s.LogDensity() - logJ
	i, j := rng.IntN(t.m), 0
	if i > 0 {
		j = rng.IntN(i + 1)
	}
	if j == i {
		t.mean[i] = -t.mean[i]
	} else {
		t.d[i*t.m+j] = -t.d[i*t.m+j]
	}
	if !d.coordinates.place(f.x, t) {
		return
	}
	after, err := d.value(f.x)
	if err == nil && rng.Float64() < math.Exp(after-d.logJ-before) {
		d.slope(f.grad, f.x)
		s.MoveTo(f.x, after, f.grad)
	}
}
