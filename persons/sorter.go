package persons

import (
	"math/bits"
	"slices"
)

// sorter puts the records of a part in order by person.
type sorter struct {
	width   int
	ends    []int   // of buckets
	records []int64 // by bucket
}

// aBucket is about how many records a bucket has.
const aBucket = 8

// byPerson takes records, and hands on those of each person. Numbers that stand for persons are random: some digits
// of the first, below those of the part, say in which bucket records go, where those of few persons meet.
func (s *sorter) byPerson(records [][]int64, person func(own []int64) error) error {
	words := 0
	for _, some := range records {
		words += len(some)
	}
	digits := bits.Len(uint(words / s.width / aBucket))
	bucket := func(first int64) int { return int(uint64(first) << 18 >> (64 - digits)) }
	s.ends = append(s.ends[:0], make([]int, 1<<digits)...)
	for _, some := range records {
		for at := 0; at < len(some); at += s.width {
			s.ends[bucket(some[at])] += s.width
		}
	}
	begin := 0
	for i, n := range s.ends {
		s.ends[i] = begin // until it is filled
		begin += n
	}
	s.records = slices.Grow(s.records[:0], words)[:words]
	for i, some := range records {
		for ; len(some) > 0; some = some[s.width:] {
			to := &s.ends[bucket(some[0])]
			for j := range s.width { // copy takes longer
				s.records[*to+j] = some[j]
			}
			*to += s.width
		}
		records[i] = nil // its memory is free
	}
	begin = 0
	for _, end := range s.ends {
		for begin < end {
			own := s.first(s.records[begin:end])
			if err := person(s.records[begin : begin+own]); err != nil {
				return err
			}
			begin += own
		}
	}
	return nil
}

// first moves the records of the person of the first one to the front, and tells how many words they are.
func (s *sorter) first(records []int64) (own int) {
	own = s.width
	for at := own; at < len(records); at += s.width {
		if records[at] != records[0] || records[at+1] != records[1] {
			continue
		}
		if at != own {
			for i := range s.width {
				records[own+i], records[at+i] = records[at+i], records[own+i]
			}
		}
		own += s.width
	}
	return own
}
