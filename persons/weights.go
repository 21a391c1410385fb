package persons

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
