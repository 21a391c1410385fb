package vi

import (
	"math"
	"math/bits"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/mechanisms"
)

// Batches draws batches of records.
type Batches interface {
	// Next returns the records of the next batch, valid until it is called again.
	Next() []int
}

// poisson takes every record with probability threshold/2⁶⁴, independently and exactly:
// a uniform variate of 64 bits is compared with it, bit by bit and 64 records at a time,
// which takes some seven words.
type poisson struct {
	n         int
	threshold uint64
	all       bool
	stream    *mechanisms.Stream
	batch     []int
}

// Poisson returns batches in which each of n records is with probability rate, rounded
// down to a multiple of 2⁻⁶⁴. It panics unless 0 < rate ≤ 1.
func Poisson(n int, rate float64, stream *mechanisms.Stream) Batches {
	if !(rate > 0 && rate <= 1) {
		panic("vi: a rate of sampling must be above 0 and at most 1")
	}
	p := &poisson{n: n, stream: stream, all: rate == 1}
	if !p.all {
		p.threshold = uint64(math.Ldexp(rate, 64))
	}
	return p
}

func (p *poisson) Next() []int {
	p.batch = p.batch[:0]
	for i := 0; i < p.n; i += 64 {
		for taken := p.take(min(64, p.n-i)); taken != 0; taken &= taken - 1 {
			p.batch = append(p.batch, i+bits.TrailingZeros64(taken))
		}
	}
	return p.batch
}

// take decides on so many records, up to 64, and returns those taken, a bit each. Of every
// word a record has one bit; it is open while its bits are those of the threshold.
func (p *poisson) take(records int) (taken uint64) {
	open := ^uint64(0) >> (64 - records)
	if p.all {
		return open
	}
	for rest := p.threshold; rest != 0 && open != 0; rest <<= 1 {
		word := p.stream.Uint64()
		if rest>>63 == 1 {
			taken |= open &^ word
			open &= word
		} else {
			open &^= word
		}
	}
	return taken // what is open yet is no less than the threshold
}

// A Summer adds up vectors c·x, each scaled down to a norm if its own is larger.
type Summer interface {
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
		clip: clip, stream: stream, total: make([]int64, dim),
		noise: uint64(math.Ceil(multiplier * (1 << latticeBits))),
	}
}

// Add implements Summer. len(x) may be smaller than the sum's.
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

// Release implements Summer.
func (s *Sum) Release(dst []float64) {
	s.stream.AddGaussian(s.total, s.noise)
	unit := s.clip / limit
	for j, k := range s.total {
		dst[j] = float64(k) * unit
	}
	clear(s.total)
}

// plain is without lattice and noise.
type plain struct {
	clip  float64
	total []float64
}

// Plain returns a sum of vectors of length dim for what is not private, exact but for
// rounding; a clip of 0 stands for none.
func Plain(dim int, clip float64) Summer {
	if clip == 0 {
		clip = math.Inf(1)
	}
	return &plain{clip, make([]float64, dim)}
}

// Add implements Summer.
func (s *plain) Add(c float64, x []float64, norm float64) {
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

// Release implements Summer.
func (s *plain) Release(dst []float64) {
	copy(dst, s.total)
	clear(s.total)
}

// norm is |x|, or +Inf or NaN where x or its square is.
func norm(x []float64) float64 { return math.Sqrt(floats.Dot(x, x)) }

// coded adds up multiples c·x_i of rows that stay the same, as Sum does, without a
// conversion for each entry. Each row is coded once, in integers k of up to 20 bits,
//
//	x_i = scale_i·k_i,  scale_i = 2^e/2²⁰,  2^e ≥ |x_i|,
//
// rounded towards 0, so that |k_i| ≤ 2²⁰; what is added is a·k_i with an integer a, of
// a norm of at most 2⁴⁰ steps. Products and up to blockRows of their sums are integers
// below 2⁵³: in float64 they are exact, in any order. A row is read as it is coded; the
// difference is at most 2⁻²⁰ of its norm an entry.
//
// A batch is gathered from memory in tiles, which both products with it find in the cache.
type coded struct {
	*Sum
	p         int
	k         []float64 // n × p
	scale     []float64
	norm      []float64 // of k
	tile      []float64 // tileRows × p
	eta, a    []float64 // of its rows
	block     []float64
	blockSize int // in rows
}

const (
	codeBits  = 20
	blockRows = 1 << (52 - latticeBits)
	tileRows  = 16
)

// newCoded codes the rows of a model. A row with an entry that is not finite is 0.
func newCoded(l Linear, sum *Sum) *coded {
	p := len(sum.total)
	c := &coded{
		Sum: sum, p: p, k: make([]float64, l.Len()*p), scale: make([]float64, l.Len()), norm: make([]float64, l.Len()),
		tile: make([]float64, tileRows*p), eta: make([]float64, tileRows), a: make([]float64, tileRows), block: make([]float64, p),
	}
	for i := range l.Len() {
		x, k := l.Covariates(i), c.row(i)
		size := norm(x)
		if !(size > minSquared && size <= math.MaxFloat64) {
			continue
		}
		_, e := math.Frexp(size * (1 + 1e-9))
		c.scale[i] = math.Ldexp(1, e-codeBits)
		for j, v := range x {
			k[j] = math.Trunc(v / c.scale[i])
		}
		c.norm[i] = norm(k)
	}
	return c
}

// minSquared is the least norm of which the square does not underflow.
const minSquared = 1e-140

func (c *coded) row(i int) []float64 { return c.k[i*c.p : (i+1)*c.p : (i+1)*c.p] }

// add adds slope(i, x_iᵀθ)·x_i, clipped, for every record i of a batch.
func (c *coded) add(batch []int, theta []float64, slope func(i int, eta float64) float64) {
	for len(batch) > 0 {
		rows := batch[:min(tileRows, len(batch))]
		for t, i := range rows {
			copy(c.tile[t*c.p:(t+1)*c.p], c.row(i))
		}
		for t := range rows {
			c.eta[t] = floats.Dot(c.tile[t*c.p:(t+1)*c.p], theta)
		}
		tile := blas64.General{Rows: len(rows), Cols: c.p, Stride: c.p, Data: c.tile}
		for t, i := range rows {
			c.a[t] = c.steps(i, slope(i, c.scale[i]*c.eta[t]))
		}
		if c.blockSize+len(rows) > blockRows {
			c.flush()
		}
		blas64.Gemv(blas.Trans, 1, tile, vector(c.a[:len(rows)]), 1, vector(c.block))
		c.blockSize += len(rows)
		batch = batch[len(rows):]
	}
}

func vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }

// steps is the integer a for which a·k_i is slope·x_i, clipped, in steps of the lattice:
// slope·scale·2⁴⁰/clip, or as much as |a·k| ≤ 2⁴⁰ allows, rounded towards 0.
func (c *coded) steps(i int, slope float64) float64 {
	size := math.Abs(slope) * c.scale[i] * c.norm[i]
	if !(size <= math.MaxFloat64 && size > 0 && math.Abs(slope) <= maxScalar) {
		return 0
	}
	return math.Trunc(slope * c.scale[i] * (limit / max(size, c.clip)))
}

func (c *coded) flush() {
	for j, v := range c.block {
		c.total[j] += int64(v)
	}
	clear(c.block)
	c.blockSize = 0
}

// Release implements Summer.
func (c *coded) Release(dst []float64) {
	c.flush()
	c.Sum.Release(dst)
}
