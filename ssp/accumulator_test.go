package ssp

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

func TestSumsAreExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for m := 1; m <= 8; m++ {
		rows := randomRows(rng, 300, m)
		a := NewAccumulator(m)
		mustAdd(t, a, rows...)
		s := a.Statistics()
		if s.N != 300 || s.Dim() != m || a.n != 300 {
			t.Errorf("m = %d: N = %d, Dim = %d", m, s.N, s.Dim())
		}
		want := reference(rows, m)
		if !equalInts(s.BigInts(), want) {
			t.Errorf("m = %d: sums differ", m)
		}
		for i, v := range s.Vector() {
			if r, _ := new(big.Rat).SetFrac(want[i], big.NewInt(1<<40)).Float64(); v != r {
				t.Errorf("m = %d: entry %d is %v, correctly rounded %v", m, i, v, r)
			}
		}
	}
}

// Shuffled, divided among workers and merged in any order: the same bits.
func TestSumsDoNotDependOnOrder(t *testing.T) {
	const m = 5
	rng := rand.New(rand.NewPCG(2, 2))
	rows := randomRows(rng, 1000, m)
	whole := NewAccumulator(m)
	mustAdd(t, whole, rows...)
	want := whole.Statistics().BigInts()
	for workers := 1; workers <= 7; workers++ {
		rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		parts := make([]*Accumulator, workers)
		for i := range parts {
			parts[i] = NewAccumulator(m)
		}
		for _, row := range rows {
			mustAdd(t, parts[rng.IntN(workers)], row)
		}
		sum := NewAccumulator(m)
		for _, i := range rng.Perm(workers) {
			before := parts[i].Statistics().BigInts()
			must.Do(t, sum.Merge(parts[i]))
			if !equalInts(parts[i].Statistics().BigInts(), before) {
				t.Fatal("Merge changed its argument")
			}
		}
		s := sum.Statistics()
		if s.N != 1000 || !equalInts(s.BigInts(), want) {
			t.Errorf("%d workers: sums differ", workers)
		}
	}
}

// Rows that no carry has moved to the totals yet are merged too, and stay with
// the accumulator that they were added to.
func TestMergeOfPendingRows(t *testing.T) {
	const m = 3
	rows := randomRows(rand.New(rand.NewPCG(4, 4)), 7, m)
	a, b := NewAccumulator(m), NewAccumulator(m)
	mustAdd(t, a, rows[:3]...)
	mustAdd(t, b, rows[3:]...)
	must.Do(t, a.Merge(b))
	mustAdd(t, a, rows[0])
	mustAdd(t, b, rows[0])
	if got := a.Statistics(); got.N != 8 || !equalInts(got.BigInts(), reference(append(rows[:7:7], rows[0]), m)) {
		t.Errorf("sums differ from those of the %d rows", got.N)
	}
	if got := b.Statistics(); got.N != 5 || !equalInts(got.BigInts(), reference(append(rows[3:7:7], rows[0]), m)) {
		t.Error("Merge changed its argument")
	}
}

// Doubling by self-merge takes the sums far beyond 64 bits, and then to MaxRows.
func TestManyRows(t *testing.T) {
	a := NewAccumulator(2)
	mustAdd(t, a, []float64{1, -1})
	for a.n <= MaxRows/2 {
		must.Do(t, a.Merge(a))
	}
	n := a.n
	one := new(big.Int).Lsh(big.NewInt(n), 2*LatticeBits)
	minus := new(big.Int).Neg(one)
	want := []*big.Int{one, minus, one, minus, one}
	if got := a.Statistics(); got.N != n || !equalInts(got.BigInts(), want) {
		t.Errorf("after %d rows: %v", n, got.BigInts())
	}
	if err := a.Merge(a); err == nil || a.n != n || !equalInts(a.Statistics().BigInts(), want) {
		t.Errorf("more than MaxRows rows: error %v", err)
	}
	a.n = MaxRows
	if err := a.AddRows([]float64{1, 1}); err == nil || !equalInts(a.Statistics().BigInts(), want) {
		t.Errorf("a row beyond MaxRows: error %v", err)
	}
}

// Numbers of rows about those of full blocks, at the extremes that a block must hold.
func TestBlocks(t *testing.T) {
	for n := int64(1); n <= 3*blockRows; n += blockRows/2 - 1 {
		rows := make([]float64, 0, 2*n)
		for range n {
			rows = append(rows, 1, -1)
		}
		a := NewAccumulator(2)
		must.Do(t, a.AddRows(rows))
		one := new(big.Int).Lsh(big.NewInt(n), 2*LatticeBits)
		minus := new(big.Int).Neg(one)
		if s := a.Statistics(); s.N != n || !equalInts(s.BigInts(), []*big.Int{one, minus, one, minus, one}) {
			t.Errorf("sums of %d rows: %v", n, s.BigInts())
		}
	}
}

// Rows that lie one after another are those added one by one, up to a bad one.
func TestAddRows(t *testing.T) {
	const m = 3
	rows := randomRows(rand.New(rand.NewPCG(5, 5)), 700, m)
	flat := slices.Concat(rows...)
	a := NewAccumulator(m)
	for len(flat) > 0 {
		n := min(len(flat), 113*m)
		must.Do(t, a.AddRows(flat[:n]))
		flat = flat[n:]
	}
	err := a.AddRows([]float64{1, 1, 1, 0, math.NaN(), 0, 1, 1, 1})
	want := reference(append(rows, []float64{1, 1, 1}), m)
	if s := a.Statistics(); err == nil || s.N != 701 || !equalInts(s.BigInts(), want) {
		t.Errorf("sums of %d rows differ, error %v", s.N, err)
	}
}

func TestAddRefuses(t *testing.T) {
	a := NewAccumulator(3)
	mustAdd(t, a, []float64{0.25, 0.5, -1})
	before := a.Statistics().BigInts()
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1.0078125, -1.0078125, math.Nextafter(1, 2)} {
		err := a.AddRows([]float64{0.4375, bad, 0.3125})
		if err == nil {
			t.Fatalf("%v accepted", bad)
		}
		for _, secret := range []string{"0078", "4375", "3125", "NaN", "Inf", fmt.Sprint(bad)} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the error tells about the row: %v", err)
			}
		}
	}
	if a.n != 1 || !equalInts(a.Statistics().BigInts(), before) {
		t.Error("a refused row left a trace")
	}
	if err := a.Merge(NewAccumulator(2)); err == nil {
		t.Error("merged with another number of columns")
	}
}

func TestShapeMistakesPanic(t *testing.T) {
	for name, f := range map[string]func(){
		"no columns": func() { NewAccumulator(0) },
		"row length": func() { _ = NewAccumulator(2).AddRows([]float64{1}) },
		"a part":     func() { _ = NewAccumulator(2).AddRows([]float64{1, 1, 1}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

// Logging must not publish.
func TestSumsDoNotPrint(t *testing.T) {
	a := NewAccumulator(2)
	mustAdd(t, a, []float64{0.75, -0.375}, []float64{0.75, -0.375})
	s := a.Statistics()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x", "%q"} {
		for _, value := range []any{a, *a, s, *s} {
			got := fmt.Sprintf(verb, value)
			if !strings.Contains(got, "withheld") || strings.ContainsAny(got, "1356789") {
				t.Errorf("%s prints %s", verb, got)
			}
		}
	}
}

func TestAddAllocatesNothing(t *testing.T) {
	a := NewAccumulator(6)
	row := []float64{0.1, -0.2, 0.3, -0.4, 0.5, -0.6}
	if n := testing.AllocsPerRun(1000, func() { _ = a.AddRows(row) }); n != 0 {
		t.Errorf("%v allocations a row", n)
	}
}

// Whatever the bits of a value: it is refused, or it is rounded to the lattice
// inside the box, half a step away at most (and an ulp of the sum in float64).
func FuzzAdd(f *testing.F) {
	for _, v := range []float64{0, 1, -1, 0.5 / unit, -0.5 / unit, math.NaN(), 1e300, 5e-324, 0.49999999999999994 / unit} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v float64) {
		a := NewAccumulator(1)
		if err := a.AddRows([]float64{v}); err != nil {
			if v >= -1 && v <= 1 {
				t.Fatalf("refused %v", v)
			}
			return
		}
		k := a.Statistics().BigInts()[0].Int64() >> LatticeBits
		if k < -unit || k > unit || math.Abs(float64(k)-v*unit) > 0.5+1e-9 {
			t.Fatalf("%v became %d", v, k)
		}
	})
}

// BenchmarkAddRows adds rows to each kind of accumulator; of the box, in a frame of
// whitened rows of which about one in twenty is clipped, and counts of their radii.
func BenchmarkAddRows(b *testing.B) {
	const n = 1024
	for _, m := range []int{5, 10, 40} {
		rows := slices.Concat(normalRows(rand.New(rand.NewPCG(3, 3)), n, m, 0.1)...)
		f := testFrame(rand.New(rand.NewPCG(4, 4)), m, 1)
		for j, row := range f.Matrix {
			row[j], f.Centre[j] = 10, 0
		}
		f.Radius = math.Sqrt(float64(m) + 2*math.Sqrt(2*float64(m)))
		ball := must.Get(NewBall(RoundFrame(f), m))(b)
		for name, sink := range map[string]func([]float64) error{
			"box": NewAccumulator(m).AddRows, "ball": ball.NewAccumulator().AddRows, "radii": ball.Radii().AddRows,
		} {
			b.Run(fmt.Sprintf("m=%d/%s", m, name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					must.Do(b, sink(rows))
				}
				b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}

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
