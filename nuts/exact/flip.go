package exact

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/nuts"
)

// flip negates one mean or one entry of D below its diagonal: the noisier linear
// statistics may leave a sign open that the quadratic ones tell nothing of, so
// that the posterior has mirrored modes which no trajectory joins. The negation
// is an involution of Jacobian 1, so Metropolis' test leaves the posterior
// invariant.
type flip struct {
	density  *density
	signs    []int
	proposed []float64
	grad     []float64
}

func newFlip(f *density) *flip {
	return &flip{f, signs(f.obs.Shape.M()), make([]float64, f.Dim()), make([]float64, f.Dim())}
}

// signs lists the coordinates to negate.
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
	psi, at := s.Position(), f.signs[rng.IntN(len(f.signs))]
	copy(f.proposed, psi)
	f.proposed[at] = -psi[at]
	after, err := f.density.value(f.proposed)
	if err == nil && rng.Float64() < math.Exp(after-s.LogDensity()) {
		f.density.slope(f.grad)
		s.MoveTo(f.proposed, after, f.grad)
	}
}
