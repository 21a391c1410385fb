package vi

import (
	"math"

	"github.com/dpreg/dpreg/mechanisms"
)

// A summer adds up vectors c·x, each scaled down to a norm if its own is larger.
type summer interface {
	// Add adds c·x, where norm is |x|, both x and norm being the caller's. What is not
	// finite counts as 0.
	Add(c float64, x []float64, norm float64)
	// Release writes the sum, of length Dim, and starts anew.
	Release(dst []float64)
}

// Sum is the door through which records leave: Release gives
//
//	Σ clip(v) + N(0, (multiplier·clip)² I)
//
// on a lattice, whose step is 2⁻³² of the clipping norm. A vector is clipped, and its
// entries are rounded towards 0 to integers, so its norm in steps is at most 2³²,
// rounding errors of the clipping included (docs/vi.md). Integers add up exactly, and
// the noise is that of mechanisms.Stream: a continuous normal variate rounded to the
// lattice, exactly. So the guarantee of the continuous mechanism, with a sensitivity of
// clip and this multiplier, holds as it stands.
type Sum struct {
	clip, steps float64 // steps is how many of them clip is, less a margin
	noise       uint64  // standard deviation in steps
	stream      *mechanisms.Stream
	total       []int64
}

const (
	latticeBits = 32
	// margin is what keeps the norm below 2³² steps after at most maxDim·2⁻⁵³ of
	// relative error in norms and products.
	margin = 1 - 1./(1<<30)
	maxDim = 1 << 20
	// Within these limits no square that matters under- or overflows.
	minClip, maxClip = 1e-30, 1e30
	maxScalar        = 1e100
)

// NewSum panics unless 1 ≤ dim ≤ 2²⁰, 1e-30 ≤ clip ≤ 1e30 and 0 < multiplier ≤ 2²⁹.
func NewSum(dim int, clip, multiplier float64, stream *mechanisms.Stream) *Sum {
	if dim < 1 || dim > maxDim || !(clip >= minClip && clip <= maxClip) || !(multiplier > 0 && multiplier <= 1<<29) {
		panic("vi: a sum's size, clipping norm or noise multiplier is out of range")
	}
	const unit = 1 << latticeBits
	return &Sum{
		clip: clip, steps: unit * margin, stream: stream, total: make([]int64, dim),
		noise: uint64(math.Ceil(multiplier * unit)),
	}
}

// Add implements summer. len(x) may be smaller than the sum's.
func (s *Sum) Add(c float64, x []float64, norm float64) {
	size := math.Abs(c) * norm
	if !(size <= math.MaxFloat64 && math.Abs(c) <= maxScalar) {
		return
	}
	f := c * (s.steps / max(size, s.clip))
	total := s.total[:len(x)]
	for j, v := range x {
		total[j] += int64(f * v)
	}
}

// Release implements summer.
func (s *Sum) Release(dst []float64) {
	s.stream.AddGaussian(s.total, s.noise)
	unit := s.clip / s.steps
	for j, k := range s.total {
		dst[j] = float64(k) * unit
	}
	clear(s.total)
}

// plainSum is without lattice and noise, for what is not private; its clip may be +Inf.
type plainSum struct {
	clip  float64
	total []float64
}

func (s *plainSum) Add(c float64, x []float64, norm float64) {
	size := math.Abs(c) * norm
	if !(size <= math.MaxFloat64) {
		return
	}
	if size > s.clip {
		c *= s.clip / size
	}
	total := s.total[:len(x)]
	for j, v := range x {
		total[j] += c * v
	}
}

func (s *plainSum) Release(dst []float64) {
	copy(dst, s.total)
	clear(s.total)
}

// norm is |x|, or +Inf or NaN where x or its square is.
func norm(x []float64) float64 { return math.Sqrt(dot(x, x)) }

// dot is xᵀy in four sums, which go on side by side. y may be longer.
func dot(x, y []float64) float64 {
	y = y[:len(x)]
	var a, b, c, d float64
	for len(x) >= 4 && len(y) >= 4 {
		a += x[0] * y[0]
		b += x[1] * y[1]
		c += x[2] * y[2]
		d += x[3] * y[3]
		x, y = x[4:], y[4:]
	}
	for j, v := range x {
		a += v * y[j]
	}
	return (a + b) + (c + d)
}
