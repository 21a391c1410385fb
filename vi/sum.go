package vi

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/mechanisms"
)

// Sum adds up vectors, each clipped to a norm: Release gives
//
//	Σ clip(v) + N(0, (multiplier·clip)² I)
//
// on a lattice, whose step is 2⁻⁴⁰ of the clipping norm. A vector is clipped, and its
// entries are rounded towards 0 to integers, so its norm in steps is at most 2⁴⁰,
// rounding errors of the clipping included (docs/vi.md). Integers add up exactly, and
// the noise is that of mechanisms.Stream: a continuous normal variate rounded to the
// lattice, exactly. So the guarantee of the continuous mechanism, with a sensitivity of
// clip and this multiplier, holds as it stands.
type Sum struct {
	clip   float64
	noise  uint64 // standard deviation in steps
	stream *mechanisms.Stream
	total  []int64
	noisy  [][2]int // ranges of entries that get noise; the rest is 0
}

const (
	latticeBits = 40
	// limit is the largest norm in steps, less a margin for at most maxDim·2⁻⁵³ of
	// relative error in norms and products.
	limit  = (1 << latticeBits) * (1 - 1./(1<<30))
	maxDim = 1 << 20
	// Within these limits no square that matters under- or overflows.
	minClip, maxClip = 1e-30, 1e30
	maxScalar        = 1e100
	maxNoise         = 1 << 20
)

// NewSum panics unless 1 ≤ dim ≤ 2²⁰, 1e-30 ≤ clip ≤ 1e30 and 0 < multiplier ≤ 2²⁰.
func NewSum(dim int, clip, multiplier float64, stream *mechanisms.Stream) *Sum {
	if dim < 1 || dim > maxDim || !(clip >= minClip && clip <= maxClip) || !(multiplier > 0 && multiplier <= maxNoise) {
		panic("vi: a sum's size, clipping norm or noise multiplier is out of range")
	}
	return &Sum{
		clip: clip, stream: stream, total: make([]int64, dim), noisy: [][2]int{{0, dim}},
		noise: uint64(math.Ceil(multiplier * (1 << latticeBits))),
	}
}

// Add adds c·x, where norm is |x|, both x and norm being the caller's; len(x) may be smaller than
// the sum's. What is not finite counts as 0.
func (s *Sum) Add(c float64, x []float64, norm float64) {
	size := math.Abs(c) * norm
	if !(size <= math.MaxFloat64 && math.Abs(c) <= maxScalar) {
		return
	}
	f := c * (limit / max(size, s.clip))
	total := s.total[:len(x)]
	for j, v := range x {
		total[j] += int64(f * v)
	}
}

// Release writes the sum, with noise, and starts anew.
func (s *Sum) Release(dst []float64) {
	for _, r := range s.noisy {
		s.stream.AddGaussian(s.total[r[0]:r[1]], s.noise)
	}
	unit := s.clip / limit
	for j, k := range s.total {
		dst[j] = float64(k) * unit
	}
	clear(s.total)
}

// norm is |x|, or +Inf or NaN where x or its square is.
func norm(x []float64) float64 {
	if len(x) == 1 {
		return math.Abs(x[0])
	}
	return math.Sqrt(floats.Dot(x, x))
}
