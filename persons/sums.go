package persons

import "math/bits"

// sums adds up values by key: words of a fixed number each. Entries stay in the order of their
// first key; a table of places finds them, by open addressing.
type sums struct {
	key, value  int      // words
	words       []int64  // of entries: key and values
	places      []uint64 // of entries, from 1, below 32 bits of their keys' hashes; 0: free. A power of two, at least half of it free
	shift, used int
	fetched     int64 // so that loads are not left out
}

func newSums(key, value int) *sums { return &sums{key: key, value: value} }

// memory is what it has, in words of 64 bits.
func (s *sums) memory() int { return cap(s.words) + len(s.places) }

// width of an entry.
func (s *sums) width() int { return s.key + s.value }

// at gives the values of a key, zeros at first, until the next call.
func (s *sums) at(key []int64) []int64 {
	_, value := s.entry(s.find(key))
	return value
}

// find gives the entry of a key, a new one if there is none.
func (s *sums) find(key []int64) int {
	if 2*s.used >= len(s.places) {
		s.grow()
	}
	hash, mask := scatter(key), len(s.places)-1
	for i := int(hash >> s.shift); ; i = (i + 1) & mask {
		switch place := s.places[i]; {
		case place == 0:
			s.used++
			s.places[i] = placed(hash, s.used)
			s.words = append(s.words, key...)
			s.words = append(s.words, make([]int64, s.value)...)
			return s.used - 1
		case tag(place) == tag(hash<<32):
			if e := int(uint32(place)) - 1; same(s.words[e*s.width():], key) {
				return e
			}
		}
	}
}

// placed is the place of an entry of which the key has this hash, and tag what it has of that.
func placed(hash uint64, entry int) uint64 { return hash<<32 | uint64(entry) }

func tag(place uint64) uint32 { return uint32(place >> 32) }

// ahead is how many keys are fetched at once.
const ahead = 32

// fetch has up to ahead keys at hand for find, which begin so many words apart: tables are larger
// than caches, and memory that many loads wait for together takes as long as that of one.
func (s *sums) fetch(keys []int64, apart int) {
	if s.used == 0 {
		return
	}
	var hashes [ahead]uint64
	n, mask := 0, len(s.places)-1
	for ; len(keys) > 0; keys = keys[apart:] {
		hashes[n] = scatter(keys[:s.key])
		s.fetched ^= int64(s.places[hashes[n]>>s.shift])
		n++
	}
	for _, hash := range hashes[:n] {
		i := int(hash >> s.shift)
		for s.places[i] != 0 && tag(s.places[i]) != tag(hash<<32) {
			i = (i + 1) & mask
		}
		s.fetched ^= s.words[max(int(uint32(s.places[i]))-1, 0)*s.width()]
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
	s.places = make([]uint64, max(64, 2*len(s.places)))
	s.shift = 64 - bits.TrailingZeros(uint(len(s.places)))
	mask := len(s.places) - 1
	for e := range s.used {
		key, _ := s.entry(e)
		hash := scatter(key)
		i := int(hash >> s.shift)
		for s.places[i] != 0 {
			i = (i + 1) & mask
		}
		s.places[i] = placed(hash, e+1)
	}
}

// entry is a key and its values.
func (s *sums) entry(e int) (key, value []int64) {
	words := s.words[e*(s.key+s.value) : (e+1)*(s.key+s.value)]
	return words[:s.key], words[s.key:]
}

// to adds the values of an entry to those of its key.
func (s *sums) to(entry []int64) {
	at := s.at(entry[:s.key])
	for i, x := range entry[s.key:] {
		at[i] += x
	}
}
