package persons

import "math/bits"

// sums adds up values by key: words of a fixed number each. Entries stay in the order of their
// first key; a table of places finds them, by open addressing.
type sums struct {
	key, value  int      // words
	words       []int64  // of entries: key and values
	places      []uint32 // of entries, from 1; 0: free. A power of two, at least half of it free
	shift, used int
}

func newSums(key, value int) *sums { return &sums{key: key, value: value} }

// memory is what it has, in words of 64 bits.
func (s *sums) memory() int { return cap(s.words) + len(s.places)/2 }

// at gives the values of a key, zeros at first, until the next call.
func (s *sums) at(key []int64) []int64 {
	if 2*s.used >= len(s.places) {
		s.grow()
	}
	mask := len(s.places) - 1
	for i := int(scatter(key) >> s.shift); ; i = (i + 1) & mask {
		e := int(s.places[i])
		if e == 0 {
			s.used++
			s.places[i] = uint32(s.used)
			s.words = append(s.words, key...)
			for range s.value {
				s.words = append(s.words, 0)
			}
			return s.words[len(s.words)-s.value:]
		}
		if found, value := s.entry(e - 1); same(found, key) {
			return value
		}
	}
}

func same(a, b []int64) bool {
	for i, x := range b {
		if a[i] != x {
			return false
		}
	}
	return true
}

// scatter spreads keys, of which the first two words are random already, over 64 bits.
func scatter(key []int64) uint64 {
	hash := uint64(key[1])
	for _, x := range key[2:] {
		hash = bits.RotateLeft64((hash^uint64(x))*0xd6e8feb86659fd93, 29)
	}
	return (hash ^ uint64(key[0])) * 0x9e3779b97f4a7c15
}

func (s *sums) grow() {
	s.places = make([]uint32, max(64, 2*len(s.places)))
	s.shift = 64 - bits.TrailingZeros(uint(len(s.places)))
	mask := len(s.places) - 1
	for e := range s.used {
		key, _ := s.entry(e)
		i := int(scatter(key) >> s.shift)
		for s.places[i] != 0 {
			i = (i + 1) & mask
		}
		s.places[i] = uint32(e + 1)
	}
}

// entry is a key and its values.
func (s *sums) entry(e int) (key, value []int64) {
	words := s.words[e*(s.key+s.value) : (e+1)*(s.key+s.value)]
	return words[:s.key], words[s.key:]
}

// add adds all entries of another table.
func (s *sums) add(other *sums) {
	for e := range other.used {
		key, value := other.entry(e)
		s.to(key, value)
	}
}

// to adds values to those of a key.
func (s *sums) to(key, value []int64) {
	at := s.at(key)
	for i, x := range value {
		at[i] += x
	}
}

// clear forgets all entries and their memory.
func (s *sums) clear() { *s = *newSums(s.key, s.value) }
