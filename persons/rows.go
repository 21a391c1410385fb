package persons

import (
	"cmp"
	"crypto/aes"
	"encoding/binary"
	"slices"
)

// rowsEmitter hands on rows, by Mean or Rows.
type rowsEmitter struct {
	group  *Group
	sink   func(rows []float64) error
	rows   []float64
	values []int64 // of a row

	of      []uint32 // of each entry of a part the number of its person
	entries []int64  // of a part, by person
	ranked  []ranked // of a person
	best    []ranked
	cipher  [aes.BlockSize]byte
}

func (e *rowsEmitter) flush() error {
	rows := e.rows
	if e.rows = rows[:0]; len(rows) == 0 {
		return nil
	}
	return e.sink(rows)
}

// record hands on the values of a record.
func (e *rowsEmitter) record(r []int64) error {
	values(r, e.values)
	return e.row(e.values)
}

func (e *rowsEmitter) row(values []int64) error {
	for _, k := range values {
		e.rows = append(e.rows, float64(k)/unit)
	}
	if len(e.rows) == cap(e.rows) {
		return e.flush()
	}
	return nil
}

func (e *rowsEmitter) emit(p *part, told *Told) error {
	if e.group.rule.Kind == Rows {
		return e.chosen(p, told)
	}
	told.Persons += int64(p.sums.used)
	for i := range p.sums.used {
		_, s := p.sums.entry(i)
		for j := range e.values {
			e.values[j] = floorDiv(2*s[1+j]+s[0], 2*s[0]) // rounded, and so in the box as all rows are
		}
		if err := e.row(e.values); err != nil {
			return err
		}
	}
	return nil
}

// floorDiv is ⌊a/b⌋, b > 0.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// chosen hands on the rows of each person of which the hash is smallest: the k-th of a person's
// rows with equal values has a hash of its own, so that each row has the same chance.
func (e *rowsEmitter) chosen(p *part, told *Told) error {
	ends, entries := e.byPerson(p)
	told.Persons += int64(len(ends))
	begin := 0
	for _, end := range ends {
		more, err := e.person(entries[begin:end])
		if err != nil {
			return err
		}
		if more {
			told.More++
		}
		begin = end
	}
	return nil
}

// byPerson are the entries of a part, those of a person one after another, and where each person's end.
func (e *rowsEmitter) byPerson(p *part) (ends []int, entries []int64) {
	width, all := p.sums.width(), newSums(2, 1)
	of := e.of[:0]
	for _, some := range p.entries() {
		for r := range slices.Chunk(some, ahead*width) {
			for all.fetch(r, width); len(r) > 0; r = r[width:] {
				i := all.find(r[:2])
				all.words[3*i+2]++
				of = append(of, uint32(i))
			}
		}
	}
	e.of = of
	ends, total := make([]int, all.used), 0
	for i := range ends {
		ends[i] = total // where it begins, until it is filled
		total += width * int(all.words[3*i+2])
	}
	e.entries = slices.Grow(e.entries[:0], total)[:total]
	for _, some := range p.entries() {
		for ; len(some) > 0; some = some[width:] {
			copy(e.entries[ends[of[0]]:], some[:width])
			ends[of[0]] += width
			of = of[1:]
		}
	}
	return ends, e.entries
}

// person hands on what is chosen of a person's entries, and tells whether there is more.
func (e *rowsEmitter) person(entries []int64) (more bool, err error) {
	width, most, n := e.group.record(), int64(e.group.rule.Most), int64(0)
	for at := 0; at < len(entries); at += width {
		n += entries[at+width-1]
	}
	if n <= most {
		for r := range slices.Chunk(entries, width) {
			for range r[width-1] {
				if err := e.record(r); err != nil {
					return false, err
				}
			}
		}
		return false, nil
	}
	e.ranked = e.ranked[:0]
	first := e.begin(entries[0], 0)
	for at := 0; at < len(entries); at += width {
		e.ranked = append(e.ranked, ranked{e.rank(first, entries[at+1:at+width-1]), at})
	}
	key := func(r ranked) []int64 { return entries[r.at : r.at+width-1] }
	slices.SortFunc(e.ranked, func(a, b ranked) int { // equal ones come one after another
		if a.rank == b.rank {
			return slices.Compare(key(a), key(b))
		}
		return cmp.Compare(a.rank, b.rank)
	})
	e.best = e.best[:0]
	copied := int64(0)
	for i, r := range e.ranked {
		if i > 0 && !same(key(e.ranked[i-1]), key(r)) {
			copied = 0
		}
		for range entries[r.at+width-1] {
			if copied > 0 {
				r.rank = e.rank(e.begin(entries[0], copied), key(r)[1:])
			}
			e.keep(r)
			copied++
		}
	}
	for _, r := range e.best {
		if err := e.record(key(r)); err != nil {
			return false, err
		}
	}
	return true, nil
}

// ranked is the hash of an entry, and where that is.
type ranked struct {
	rank int64
	at   int
}

// keep puts a row among those of the smallest hashes.
func (e *rowsEmitter) keep(r ranked) {
	most := e.group.rule.Most
	at := len(e.best)
	for ; at > 0 && e.best[at-1].rank > r.rank; at-- {
	}
	if at < most {
		e.best = slices.Insert(e.best[:min(len(e.best), most-1)], at, r)
	}
}

// A rank is the hash of the copied-th row of a person that has these values: CBC-MAC by AES, of words
// of a number that is always the same, of which the first two are copied and the person's first.

// begin is the state after these two.
func (e *rowsEmitter) begin(person, copied int64) [2]uint64 {
	return e.encrypt([2]uint64{uint64(copied), uint64(person)})
}

// rank goes on with the other words.
func (e *rowsEmitter) rank(state [2]uint64, words []int64) int64 {
	for ; len(words) > 1; words = words[2:] {
		state = e.encrypt([2]uint64{state[0] ^ uint64(words[0]), state[1] ^ uint64(words[1])})
	}
	if len(words) > 0 {
		state[0] ^= uint64(words[0])
	}
	return int64(e.encrypt(state)[0] >> 1)
}

func (e *rowsEmitter) encrypt(state [2]uint64) [2]uint64 {
	low, high := e.cipher[:8], e.cipher[8:]
	binary.LittleEndian.PutUint64(low, state[0])
	binary.LittleEndian.PutUint64(high, state[1])
	e.group.block.Encrypt(e.cipher[:], e.cipher[:])
	return [2]uint64{binary.LittleEndian.Uint64(low), binary.LittleEndian.Uint64(high)}
}
