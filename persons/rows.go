package persons

import (
	"cmp"
	"crypto/aes"
	"encoding/binary"
	"math/bits"
	"slices"
)

// toRows hands on rows, by Mean or Rows.
type toRows struct {
	group  *Group
	sink   func(rows []float64) error
	rows   []float64
	values []int64 // of a row
	sums   []int64 // of a person's rows

	order  []place // of a person's records
	chosen []int
	cipher [aes.BlockSize]byte
}

func (t *toRows) end() error {
	rows := t.rows
	if t.rows = rows[:0]; len(rows) == 0 {
		return nil
	}
	return t.sink(rows)
}

func (t *toRows) person(records []int64) error {
	if t.group.rule.Kind == Mean {
		return t.mean(records)
	}
	return t.some(records)
}

func (t *toRows) row(values []int64) error {
	for _, k := range values {
		t.rows = append(t.rows, float64(k)/unit)
	}
	if len(t.rows) == cap(t.rows) {
		return t.end()
	}
	return nil
}

// mean hands on that of a person's rows.
func (t *toRows) mean(records []int64) error {
	width := t.group.width()
	n := int64(len(records) / width)
	t.sums = append(t.sums[:0], make([]int64, t.group.m)...)
	for ; len(records) > 0; records = records[width:] {
		values(records, t.values)
		for j, k := range t.values {
			t.sums[j] += k
		}
	}
	for j, sum := range t.sums {
		t.values[j] = floorDiv(2*sum+n, 2*n) // rounded, and so in the box as all rows are
	}
	return t.row(t.values)
}

// floorDiv is ⌊a/b⌋, b > 0.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// some hands on as many of a person's rows as are taken: those at places, in the order of their values,
// that are drawn by a hash of the person and of how many rows it has. So they are the same in whatever
// order the rows came and whoever else is there, and each set of them has the same chance.
func (t *toRows) some(records []int64) error {
	width := t.group.width()
	if n := len(records) / width; n > t.group.rule.Most {
		t.sort(records, width)
		t.draw(records[0], records[1], n)
		for _, i := range t.chosen {
			if err := t.record(records[t.order[i].at:]); err != nil {
				return err
			}
		}
		return nil
	}
	for ; len(records) > 0; records = records[width:] {
		if err := t.record(records); err != nil {
			return err
		}
	}
	return nil
}

// record hands on the values of a record.
func (t *toRows) record(record []int64) error {
	values(record, t.values)
	return t.row(t.values)
}

// place is where a record is, and its first values.
type place struct {
	first int64
	at    int
}

// sort puts records in the order of their values; equal ones are alike.
func (t *toRows) sort(records []int64, width int) {
	t.order = slices.Grow(t.order[:0], len(records)/width)
	for at := 0; at < len(records); at += width {
		t.order = append(t.order, place{records[at+2], at})
	}
	slices.SortFunc(t.order, func(a, b place) int {
		if a.first != b.first {
			return cmp.Compare(a.first, b.first)
		}
		return slices.Compare(records[a.at+3:a.at+width], records[b.at+3:b.at+width])
	})
}

// draw draws as many of n places as are taken, n more: each set of them has the same chance, but for 2⁻³³
// of it (Floyd's algorithm: Bentley & Floyd, CACM 1987). What is random is AES, by the key that chooses rows,
// of the person and a counter.
func (t *toRows) draw(first, second int64, n int) {
	t.chosen = t.chosen[:0]
	for i := range t.group.rule.Most {
		if i%2 == 0 { // each block has two numbers
			binary.LittleEndian.PutUint64(t.cipher[:], uint64(first))
			binary.LittleEndian.PutUint64(t.cipher[8:], uint64(second)|uint64(i/2)<<52) // i/2 < MaxRows < 2¹²
			t.group.block.Encrypt(t.cipher[:], t.cipher[:])
		}
		last := n - t.group.rule.Most + i
		high, _ := bits.Mul64(binary.LittleEndian.Uint64(t.cipher[8*(i%2):]), uint64(last+1))
		drawn := int(high)
		at, is := slices.BinarySearch(t.chosen, drawn)
		if is {
			drawn, at = last, len(t.chosen)
		}
		t.chosen = slices.Insert(t.chosen, at, drawn)
	}
}

// toSums hands on what persons add to sums, by Weight.
type toSums struct {
	group  *Group
	add    func(sums []int64) error
	sums   []int64
	values []int64    // of a row, after that of 1
	square [][2]int64 // sums of their products: 2³² times the first word, and the second
}

func newToSums(g *Group, add func(sums []int64) error) *toSums {
	entries := (g.m + 1) * (g.m + 2) / 2
	t := &toSums{g, add, make([]int64, entries-1), make([]int64, 1+g.m), make([][2]int64, entries)}
	t.values[0] = unit
	return t
}

func (t *toSums) end() error { return nil }

// mostRows is how many rows of a person have a part; more have none. Sums stay below 2⁶³.
const mostRows = 1 << 30

func (t *toSums) person(records []int64) error {
	width := t.group.width()
	n := min(int64(len(records)/width), mostRows)
	clear(t.square)
	for range n {
		values(records, t.values[1:])
		products(t.square, t.values)
		records = records[width:]
	}
	for i, s := range t.square[1:] { // the first is of 1
		t.sums[i] = shrunk(s[0], s[1], n)
	}
	return t.add(t.sums)
}

// products adds those of a row's values.
func products(to [][2]int64, row []int64) {
	for j, a := range row {
		for k, b := range row[j:] {
			product := a * b
			to[k][0] += product >> 32
			to[k][1] += product & (1<<32 - 1)
		}
		to = to[len(row)-j:]
	}
}

// shrunk is ⌊(1 − 2⁻⁴⁰)S/n⌋, S = 2³²a + b, 0 ≤ b, n ≤ mostRows, |S| ≤ 2⁴⁰n. Rounding moves an
// entry by less than 1, which the factor makes up for: docs/persons.md.
func shrunk(a, b, n int64) int64 {
	const low = 1<<32 - 1
	a, b = a+b>>32, b&low
	ceil := a >> 8 // of S/2⁴⁰
	if a&(1<<8-1) != 0 || b != 0 {
		ceil++
	}
	b -= ceil // S − ⌈S/2⁴⁰⌉ = ⌊(1 − 2⁻⁴⁰)S⌋
	a, b = a+b>>32, b&low
	q := floorDiv(a, n)
	return q<<32 + ((a-q*n)<<32+b)/n
}
