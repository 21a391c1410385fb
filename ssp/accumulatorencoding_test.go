package ssp

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

func encoded(t testing.TB, a *Accumulator) []byte {
	t.Helper()
	return must.Get(a.MarshalBinary())(t)
}

// Rows that were summed elsewhere, encoded and merged, are the rows summed here.
func TestEncodingIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for m := 1; m <= 7; m++ {
		rows := randomRows(rng, 900, m)
		want := reference(rows, m)
		sum := NewAccumulator(m)
		for len(rows) > 0 {
			n := min(len(rows), rng.IntN(400))
			part, copied := NewAccumulator(m), NewAccumulator(1)
			mustAdd(t, part, rows[:n]...)
			must.Do(t, copied.UnmarshalBinary(encoded(t, part)))
			must.Do(t, sum.Merge(copied))
			mustAdd(t, part, rows[:n]...) // it goes on where it was
			mustAdd(t, copied, rows[:n]...)
			if !bytes.Equal(encoded(t, part), encoded(t, copied)) {
				t.Fatal("the copy sums otherwise")
			}
			rows = rows[n:]
		}
		if got := sum.Statistics(); got.N != 900 || !equalInts(got.BigInts(), want) {
			t.Errorf("m = %d: sums of %d rows differ", m, got.N)
		}
	}
}

// Sums beyond 64 bits, of both signs.
func TestEncodingOfLargeSums(t *testing.T) {
	a := NewAccumulator(2)
	mustAdd(t, a, []float64{1, -1})
	for a.n <= MaxRows/2 {
		must.Do(t, a.Merge(a))
	}
	b := NewAccumulator(2)
	if err := b.UnmarshalBinary(encoded(t, a)); err != nil || b.n != a.n || !equalInts(a.Statistics().BigInts(), b.Statistics().BigInts()) {
		t.Errorf("%d rows became %d, error %v", a.n, b.n, err)
	}
}

func TestUnmarshalRefuses(t *testing.T) {
	a := NewAccumulator(2)
	mustAdd(t, a, []float64{0.5, -0.25}, []float64{1, 1})
	good := encoded(t, a)
	number := func(at int, v uint64) []byte {
		data := bytes.Clone(good)
		binary.BigEndian.PutUint64(data[at:], v)
		return data
	}
	minusOne := bytes.Repeat([]byte{0xff}, encodedSum)
	sum := func(i int) int { return encodingHeader + encodedSum*i }
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"nothing":         {nil, "not the encoded sums"},
		"other version":   {append([]byte("dpregac2"), good[8:]...), "not the encoded sums"},
		"a part":          {good[:len(good)-1], "bytes"},
		"more":            {append(bytes.Clone(good), 0), "bytes"},
		"no column":       {number(8, 0), "columns"},
		"many columns":    {number(8, 1<<40), "columns"},
		"many rows":       {number(16, MaxRows+1), "too many rows"},
		"fewer rows":      {number(16, 1), "damaged"},
		"large sum":       {number(sum(0), 1), "sum 1 is none"},
		"negative square": {append(bytes.Clone(good[:sum(2)]), slices.Concat(minusOne, good[sum(3):])...), "sum 3 is none"},
		"the other":       {append(bytes.Clone(good[:sum(4)]), minusOne...), "sum 5 is none"},
	} {
		b := NewAccumulator(3)
		err := b.UnmarshalBinary(c.data)
		must.Fail(t, err, c.want)
		if b.m != 3 || b.n != 0 {
			t.Errorf("%s: the accumulator was changed", name)
		}
	}
}

// What is taken is an encoding, bit for bit, and can be merged.
func FuzzUnmarshal(f *testing.F) {
	a := NewAccumulator(1)
	f.Add(encoded(f, a))
	mustAdd(f, a, []float64{-0.5}, []float64{1})
	f.Add(encoded(f, a))
	f.Fuzz(func(t *testing.T, data []byte) {
		var b Accumulator
		if b.UnmarshalBinary(data) != nil {
			return
		}
		if !bytes.Equal(encoded(t, &b), data) {
			t.Error("another encoding")
		}
		if err := b.Merge(NewAccumulator(b.m)); err != nil {
			t.Error(err)
		}
	})
}

// What persons add, of whom each counts as one, is encoded as rows are.
func TestEncodedPersons(t *testing.T) {
	a, b := NewAccumulator(1), NewAccumulator(1)
	must.Do(t, a.AddPerson([]int64{-12345, 67}))
	if err := b.UnmarshalBinary(encoded(t, a)); err != nil || b.n != 1 || !equalInts(a.Statistics().BigInts(), b.Statistics().BigInts()) {
		t.Errorf("%v, %v", b.Statistics().BigInts(), err)
	}
}
