package persons

import (
	"crypto/aes"
	"encoding/binary"
)

// rowsEmitter hands on rows, by Mean or Rows.
type rowsEmitter struct {
	group *Group
	sink  func(rows []float64) error
	rows  []float64
}

func (e *rowsEmitter) flush() error {
	rows := e.rows
	if e.rows = rows[:0]; len(rows) == 0 {
		return nil
	}
	return e.sink(rows)
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

func (e *rowsEmitter) emit(t *sums, told *Told) error {
	if e.group.rule.Kind == Rows {
		return e.chosen(t, told)
	}
	told.Persons += int64(t.used)
	mean := make([]int64, e.group.m)
	for i := range t.used {
		_, s := t.entry(i)
		for j := range mean {
			mean[j] = floorDiv(2*s[1+j]+s[0], 2*s[0]) // rounded, and so in the box as all rows are
		}
		if err := e.row(mean); err != nil {
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
func (e *rowsEmitter) chosen(t *sums, told *Told) error {
	most := e.group.rule.Most
	best := newSums(2, 2+2*most) // of each person the number of rows, of those kept, and for these the hash and the entry
	for i := range t.used {
		key, n := t.entry(i)
		b := best.at(key[:2])
		b[0] += n[0]
		for copied := range n[0] {
			keep(b, most, e.group.rank(key, copied), int64(i))
		}
	}
	told.Persons += int64(best.used)
	for i := range best.used {
		_, b := best.entry(i)
		if b[0] > int64(most) {
			told.More++
		}
		for r := range b[1] {
			key, _ := t.entry(int(b[2+2*r+1]))
			if err := e.row(key[2:]); err != nil {
				return err
			}
		}
	}
	return nil
}

// keep puts a row among those of the smallest hashes.
func keep(b []int64, most int, rank, entry int64) {
	n := int(b[1])
	if n < most {
		b[1]++
	} else {
		if rank >= b[2+2*(most-1)] {
			return
		}
		n = most - 1
	}
	at := n
	for ; at > 0 && b[2+2*(at-1)] > rank; at-- {
		copy(b[2+2*at:4+2*at], b[2*at:2+2*at])
	}
	b[2+2*at], b[3+2*at] = rank, entry
}

// rank is the hash of the copy-th row of a person that has these values: CBC-MAC by AES, of words
// of a number that is always the same.
func (g *Group) rank(key []int64, copied int64) int64 {
	var state [aes.BlockSize]byte
	binary.LittleEndian.PutUint64(state[:], uint64(copied))
	half := 1
	mix := func(x int64) {
		at := state[8*half:]
		binary.LittleEndian.PutUint64(at, binary.LittleEndian.Uint64(at)^uint64(x))
		if half = 1 - half; half == 0 {
			g.block.Encrypt(state[:], state[:])
		}
	}
	for _, x := range key[:2] {
		mix(x)
	}
	for j := 2; j < len(key); j += 2 { // values have 22 bits
		x := key[j] & (1<<32 - 1)
		if j+1 < len(key) {
			x |= key[j+1] << 32
		}
		mix(x)
	}
	g.block.Encrypt(state[:], state[:])
	return int64(binary.LittleEndian.Uint64(state[:]) >> 1)
}
