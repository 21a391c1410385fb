package vi

import (
	"math"
	"math/bits"

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
	return &poisson{n: n, stream: stream, all: rate == 1, threshold: uint64(math.Ldexp(min(rate, 1-0x1p-53), 64))}
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

// uniform takes one of all batches of a size, each as likely as any other, without a list of the
// records: Floyd's algorithm (Bentley & Floyd, A Sample of Brilliance, CACM 30(9), 1987). For
// j = n − size, …, n − 1 it takes one of 0, …, j or, where that is taken, j. A permutation by
// Feistel's rounds, as d3p's, needs as little memory, but is only about uniform where n is small.
type uniform struct {
	n, size int
	stream  *mechanisms.Stream
	taken   map[int]struct{}
	batch   []int
}

// Uniform returns batches of so many of n records, without replacement. It panics unless
// 0 < size ≤ n.
func Uniform(n, size int, stream *mechanisms.Stream) Batches {
	if size < 1 || size > n {
		panic("vi: a batch has one record or more, and no more than there are")
	}
	return &uniform{n: n, size: size, stream: stream, taken: make(map[int]struct{}, size), batch: make([]int, size)}
}

func (u *uniform) Next() []int {
	clear(u.taken)
	for k := range u.batch {
		last := u.n - u.size + k
		i := int(u.stream.Below(uint64(last) + 1))
		if _, ok := u.taken[i]; ok {
			i = last
		}
		u.taken[i], u.batch[k] = struct{}{}, i
	}
	return u.batch
}
