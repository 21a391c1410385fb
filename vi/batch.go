package vi

import (
	"math"

	"github.com/dpreg/dpreg/mechanisms"
)

// Batches draws batches of records.
type Batches interface {
	// Next returns the records of the next batch, valid until it is called again.
	Next() []int
}

// poisson takes every record with probability threshold/2⁶⁴, independently and exactly:
// a uniform variate is compared with it, 8 bits at first, which almost always decide,
// of eight records at a time.
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
	if p.all {
		for i := range p.n {
			p.batch = append(p.batch, i)
		}
		return p.batch
	}
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	first := p.threshold >> 56
	small := first < 128 // else the test of eight at once does not hold
	for i := 0; i < p.n; i += 8 {
		bytes := p.stream.Uint64()
		// A byte up to first leaves its top bit here; a larger one may, after it.
		if small && (bytes-(first+1)*ones)&^bytes&tops == 0 {
			continue
		}
		for j := i; j < min(i+8, p.n); j++ {
			if p.takes(bytes & 255) {
				p.batch = append(p.batch, j)
			}
			bytes >>= 8
		}
	}
	return p.batch
}

// takes decides on a record by the first 8 bits of its variate, and by 56 more where
// they are those of the threshold.
func (p *poisson) takes(bits uint64) bool {
	if first := p.threshold >> 56; bits != first {
		return bits < first
	}
	return p.stream.Uint64()>>8 < p.threshold&(1<<56-1)
}

// fixedSize draws batches of one size without replacement: the first steps of Fisher and
// Yates's shuffle, which makes a uniform one of any permutation.
type fixedSize struct {
	order  []int
	size   int
	stream *mechanisms.Stream
}

// FixedSize returns batches of size records of n. It panics unless 1 ≤ size ≤ n.
func FixedSize(n, size int, stream *mechanisms.Stream) Batches {
	if size < 1 || size > n {
		panic("vi: a batch must have a record, and no more than there are")
	}
	f := &fixedSize{order: make([]int, n), size: size, stream: stream}
	for i := range f.order {
		f.order[i] = i
	}
	return f
}

func (f *fixedSize) Next() []int {
	for i := range f.size {
		j := i + int(f.stream.Below(uint64(len(f.order)-i)))
		f.order[i], f.order[j] = f.order[j], f.order[i]
	}
	return f.order[:f.size]
}
