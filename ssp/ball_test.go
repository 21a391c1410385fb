package ssp

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// testFrame has a centre near the middle of the box, a matrix of about this diagonal with
// entries below it of the same size in all, and the radius √m.
func testFrame(rng *rand.Rand, m int, steep float64) *release.Frame {
	f := boxFrame(m)
	for j, row := range f.Matrix {
		f.Centre[j] = 0.1 * (2*rng.Float64() - 1)
		for i := range row {
			row[i] = steep * (2*rng.Float64() - 1) / math.Sqrt(float64(m))
		}
		row[j] = steep * (0.5 + rng.Float64())
	}
	return f
}

// testFrames are of m columns: the box, tame ones, some whose rows differ by many orders of
// magnitude, and the steepest on the grid.
func testFrames(rng *rand.Rand, m int) []*release.Frame {
	all := []*release.Frame{boxFrame(m)}
	for _, radius := range []float64{0, 1, 0.3, 2.5, math.Ldexp(1, leastRadius), math.Ldexp(1, mostRadius)} {
		f := testFrame(rng, m, 1+10*rng.Float64())
		if radius > 0 {
			f.Radius = radius
		}
		ill := testFrame(rng, m, 1)
		for j, row := range ill.Matrix {
			scale := math.Exp2(float64(rng.IntN(30) - 10))
			for i := range row {
				row[i] *= scale
			}
			row[j] *= math.Exp2(-float64(rng.IntN(35)))
			ill.Centre[j] = float64(rng.IntN(3) - 1)
		}
		ill.Radius = f.Radius
		all = append(all, f, ill)
	}
	steep := testFrame(rng, m, 1)
	for j, row := range steep.Matrix {
		steep.Centre[j] = 1
		for i := range row {
			row[i] = 1 << steepest
		}
	}
	all = append(all, steep)
	for i, f := range all {
		all[i] = RoundFrame(f)
	}
	return all
}

// normalRows have independent columns of this standard deviation, within the box.
func normalRows(rng *rand.Rand, n, m int, sd float64) [][]float64 {
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = make([]float64, m)
		for j := range rows[i] {
			rows[i][j] = max(-1, min(1, sd*rng.NormFloat64()))
		}
	}
	return rows
}

// frameRows are rows of all kinds: random ones, corners, and some near the centre of f.
func frameRows(rng *rand.Rand, n int, f *release.Frame) [][]float64 {
	m := len(f.Centre)
	rows := append(randomRows(rng, n, m), normalRows(rng, n, m, 0.2)...)
	for range n {
		corner, near := make([]float64, m), make([]float64, m)
		for j := range m {
			corner[j] = float64(2*rng.IntN(2) - 1)
			near[j] = max(-1, min(1, f.Centre[j]+0.01*rng.NormFloat64()))
		}
		rows = append(rows, corner, near)
	}
	return rows
}

func mustBall(t testing.TB, f *release.Frame, m int) *Ball {
	t.Helper()
	return must.Get(NewBall(f, m))(t)
}

// place is u = W(v − c) of a row rounded to the lattice, in rational numbers.
func place(f *release.Frame, row []float64) []*big.Rat {
	u := make([]*big.Rat, len(row))
	for j, w := range f.Matrix {
		u[j] = new(big.Rat)
		for i, x := range w {
			k, _ := toLattice(row[i])
			d := new(big.Rat).Sub(new(big.Rat).SetFrac64(int64(k), unit), number.Exactly(f.Centre[i]))
			u[j].Add(u[j], d.Mul(d, number.Exactly(x)))
		}
	}
	return u
}

// placed adds a row and returns the place that it takes.
func (s *BallAccumulator) placed(t testing.TB, row []float64) []int64 {
	t.Helper()
	must.Do(t, s.AddRows(row))
	s.flush()
	u := make([]int64, len(row))
	for j := range u {
		u[j] = int64(s.block[j*stride])
	}
	return u
}

// nearest is ⌊x·2^digits + ½⌋.
func nearest(x *big.Rat, digits int) *big.Int {
	y := new(big.Rat).Mul(x, powerOfTwo(digits))
	y.Add(y, big.NewRat(1, 2))
	return new(big.Int).Div(y.Num(), y.Denom()) // Euclid's: the denominator is positive
}

// Sums are those of rows taken to the frame, rounded once, and scaled back where they are
// beyond the radius, by the definition in big integers; and no row ends beyond it.
func TestBallSums(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 1))
	for _, m := range []int{2, 5, 1, 3, 8}[:testsize.Of(2, 5)] {
		for i, f := range testFrames(rng, m) {
			s := mustBall(t, f, m).NewAccumulator()
			var placed [][]float64
			for _, row := range frameRows(rng, 30, f) {
				placed = append(placed, checkPlace(t, f.Radius, place(f, row), s.placed(t, row)))
			}
			a := s.sums.Statistics()
			if !equalInts(a.BigInts(), reference(placed, m)) || s.N() != int64(len(placed)) {
				t.Errorf("m = %d, frame %d: sums differ", m, i)
			}
		}
	}
}

// checkPlace compares the place that a row took, u, with W(v − c), clipped, and returns it
// as a row in the box.
func checkPlace(t *testing.T, r float64, exact []*big.Rat, u []int64) []float64 {
	t.Helper()
	lattice := radiusLattice(r)
	square, norm := new(big.Int), new(big.Int)
	inside := true
	for j, x := range u {
		want := nearest(exact[j], lattice)
		square.Add(square, new(big.Int).Mul(want, want))
		norm.Add(norm, new(big.Int).Mul(big.NewInt(x), big.NewInt(x)))
		inside = inside && want.IsInt64() && want.Int64() == x
	}
	radius := new(big.Rat).Mul(number.Exactly(r), powerOfTwo(lattice))
	radius.Mul(radius, radius)
	if new(big.Rat).SetInt(norm).Cmp(radius) > 0 {
		t.Fatal("a row ends beyond the radius")
	}
	if inside != (new(big.Rat).SetInt(square).Cmp(radius) <= 0) {
		t.Fatal("a row is clipped that is within the radius, or the reverse")
	}
	if !inside {
		// Components to a unit and 2⁻¹⁸ of the radius, both rounded towards 0.
		length := math.Sqrt(toFloat(square))
		for j, x := range u {
			want := toFloat(nearest(exact[j], lattice)) * math.Sqrt(ratToFloat(radius)) / length
			if math.Abs(float64(x)-want) > 2+math.Abs(want)/(1<<18) || math.Abs(float64(x)) > math.Abs(want)+1e-6 {
				t.Fatalf("component %d of a clipped row is %d, and %v by its definition", j, x, want)
			}
		}
	}
	scaled := make([]float64, len(u))
	for j, x := range u {
		scaled[j] = float64(x) / unit
	}
	return scaled
}

func toFloat(x *big.Int) float64    { f, _ := new(big.Float).SetInt(x).Float64(); return f }
func ratToFloat(x *big.Rat) float64 { f, _ := x.Float64(); return f }

// Nothing overflows at the ends of the grid and of the number of columns.
func TestBallAtTheEnds(t *testing.T) {
	m := testsize.Of(20, schema.MaxColumns)
	f := boxFrame(m)
	row := make([]float64, m)
	for j, w := range f.Matrix {
		f.Centre[j], row[j] = 1, -1
		for i := range w {
			w[i] = 1 << steepest
			if j%2 == 1 && i < j {
				w[i] = -w[i]
			}
		}
	}
	exact := place(f, row)
	for _, f.Radius = range []float64{math.Ldexp(1, leastRadius), math.Ldexp(1, mostRadius), 33}[:testsize.Of(1, 3)] {
		s := mustBall(t, RoundFrame(f), m).NewAccumulator()
		checkPlace(t, f.Radius, exact, s.placed(t, row))
	}
	c := mustBall(t, RoundFrame(f), m).Radii()
	must.Do(t, c.AddRows(row))
}

// Whatever the integers: what is clipped is inside, and what is inside stays.
func FuzzClip(f *testing.F) {
	for _, x := range []int64{0, 1, unit, unit + 1, 1<<26 - 1, 1 << 26, 1<<61 - 1, -1 << 61} {
		f.Add(x, -x, int64(3), uint32(unit))
		f.Add(x/30, x, x/2, uint32(unit/2+1))
	}
	f.Fuzz(func(t *testing.T, a, b, c int64, limit uint32) {
		const most = 1 << 61
		u := []int64{a % most, b % most, c % most}
		for len(u) < schema.MaxColumns && limit%3 == 0 { // as many as there can be
			u = append(u, u...)
		}
		radius := (float64(limit%(unit/2)) + unit/2 + 0.5) / unit // of the lattice 2⁻²⁰
		before := slices.Clone(u)
		l := limitOf(radius)
		norm := func(u []int64) *big.Int {
			sum := new(big.Int)
			for _, x := range u {
				sum.Add(sum, new(big.Int).Mul(big.NewInt(x), big.NewInt(x)))
			}
			return sum
		}
		inside := func(u []int64) bool { return new(big.Rat).SetInt(norm(u)).Cmp(square(radius*unit)) <= 0 }
		if (toFloat(norm(u)) <= l.square) != inside(u) {
			t.Fatalf("%v is taken to be within %v, or the reverse", before[:3], radius*unit)
		}
		if inside(u) {
			return
		}
		if l.clip(u); !inside(u) {
			t.Fatalf("%v: the square of what is left is %v, beyond %v", before[:3], norm(u), radius*unit)
		}
	})
}

// Bins are as they are defined, row by row, and the range covers the box.
func TestRadii(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 1))
	for _, m := range []int{2, 5, 1, 3, 8}[:testsize.Of(2, 5)] {
		for i, f := range testFrames(rng, m) {
			c := mustBall(t, f, m).Radii()
			want := make([]int64, len(c.count))
			for _, row := range frameRows(rng, 30, f) {
				must.Do(t, c.AddRows(row))
				q := new(big.Int)
				for _, x := range place(f, row) {
					y := nearest(x, -c.zero/4)
					q.Add(q, y.Mul(y, y))
				}
				c.flush()
				want[binByDefinition(c, q)]++
				top := new(big.Rat).Mul(new(big.Rat).SetInt(q), powerOfTwo(c.zero/2))
				if h := ratCeilLog2(top); q.Sign() > 0 && 2*h-2 >= c.least+len(c.count) {
					t.Fatal("a row is beyond the last bin")
				}
			}
			if !slices.Equal(c.count, want) {
				t.Errorf("m = %d, frame %d: counts %v, want %v", m, i, c.count, want)
			}
			if first := math.Exp2(float64(c.least) / 2); first > float64(m)/16 {
				t.Errorf("m = %d, frame %d: the first bin ends at %v", m, i, first)
			}
		}
	}
}

// binByDefinition is the first i with ‖u‖⁴ = q²·2^zero ≤ 2^(least+i), or the last.
func binByDefinition(c *RadiusCount, q *big.Int) int {
	fourth := new(big.Rat).SetInt(new(big.Int).Mul(q, q))
	fourth.Mul(fourth, powerOfTwo(c.zero))
	for i := range len(c.count) - 1 {
		if fourth.Cmp(powerOfTwo(c.least+i)) <= 0 {
			return i
		}
	}
	return len(c.count) - 1
}

// At the edges of bins, and next to them.
func TestRadiusBins(t *testing.T) {
	for _, c := range []*RadiusCount{
		{least: -2, zero: 0, count: make([]int64, 140)},
		{least: 20, zero: -4 * 9, count: make([]int64, 40)},
	} {
		for a := range 62 {
			for _, edge := range []uint64{1 << a, rootTwo >> (62 - a)} {
				for _, q := range []uint64{edge - 1, edge, edge + 1} {
					if got, want := c.bin(q), binByDefinition(c, new(big.Int).SetUint64(q)); got != want {
						t.Fatalf("‖u‖² = %d·2^(%d/2) is in bin %d, want %d", q, c.zero, got, want)
					}
				}
			}
		}
	}
}

// The grid: what is rounded stays, is accepted, and is near; what is off it is refused.
func TestRoundFrame(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 1))
	for range 200 {
		m := 1 + rng.IntN(6)
		f := testFrame(rng, m, math.Exp2(20*rng.Float64()-10))
		f.Radius, f.Weight, f.Lost = 3*rng.Float64(), 0.7, 5
		g := RoundFrame(f)
		if !sameFrame(g, RoundFrame(g)) || g.Weight != f.Weight || g.Lost != f.Lost || g.Radius != max(f.Radius, 1./1024) {
			t.Fatalf("%+v becomes %+v", f, g)
		}
		mustBall(t, g, m)
		for j, row := range f.Matrix {
			for i, w := range row {
				if math.Abs(g.Matrix[j][i]-w) > largest(row)/(1<<frameBits) && largest(row) <= 1<<steepest {
					t.Fatalf("%v becomes %v", w, g.Matrix[j][i])
				}
			}
		}
	}
	wild := &release.Frame{Centre: []float64{-7, 0.3}, Matrix: [][]float64{{1e-300}, {1e12, 1e-12}}, Radius: 1e9}
	mustBall(t, RoundFrame(wild), 2)
	nan, inf := math.NaN(), math.Inf(1)
	for i, spoil := range []func(f *release.Frame){
		func(f *release.Frame) { f.Centre[0] = 1.0 / 3 },
		func(f *release.Frame) { f.Centre[1] = 1.5 },
		func(f *release.Frame) { f.Centre[1] = nan },
		func(f *release.Frame) { f.Centre = f.Centre[:1] },
		func(f *release.Frame) { f.Matrix = f.Matrix[:1] },
		func(f *release.Frame) { f.Matrix[1] = []float64{0, 0, 1} },
		func(f *release.Frame) { f.Matrix[1][0] = 1.0 / 3 },
		func(f *release.Frame) { f.Matrix[1][1] = 0 },
		func(f *release.Frame) { f.Matrix[1][1] = -1 },
		func(f *release.Frame) { f.Matrix[0][0] = 0 },
		func(f *release.Frame) { f.Matrix[1][0] = nan },
		func(f *release.Frame) { f.Matrix[1][0] = inf },
		func(f *release.Frame) { f.Matrix[1][0] = 1 << 21 },
		func(f *release.Frame) { f.Radius = -1 },
		func(f *release.Frame) { f.Radius = nan },
		func(f *release.Frame) { f.Radius = inf },
	} {
		f := boxFrame(2)
		spoil(f)
		if _, err := NewBall(f, 2); err == nil {
			t.Errorf("spoilt frame %d is accepted: %+v", i, f)
		}
	}
	for _, m := range []int{0, schema.MaxColumns + 1} {
		if _, err := NewBall(nil, m); err == nil {
			t.Errorf("%d columns are accepted", m)
		}
	}
}

// Shuffled, divided among workers and merged in any order: the same bits, and the same
// digest in every frame; of other rows another one.
func TestBallsDoNotDependOnOrder(t *testing.T) {
	const m = 4
	rng := rand.New(rand.NewPCG(15, 1))
	frames := testFrames(rng, m)
	rows := frameRows(rng, 200, frames[1])
	var first Digest
	for i, f := range frames {
		b := mustBall(t, f, m)
		s, c := b.NewAccumulator(), b.Radii()
		for range 3 {
			rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
			cut := rng.IntN(len(rows))
			parts, counts := []*BallAccumulator{b.NewAccumulator(), b.NewAccumulator()}, []*RadiusCount{b.Radii(), b.Radii()}
			for part, rows := range [][][]float64{rows[:cut], rows[cut:]} {
				flat := slices.Concat(rows...)
				must.Do(t, parts[part].AddRows(flat))
				must.Do(t, counts[part].AddRows(flat))
			}
			must.Do(t, parts[1].Merge(parts[0]))
			must.Do(t, counts[1].Merge(counts[0]))
			if s.N() == 0 {
				s, c = parts[1], counts[1]
				c.flush()
			}
			counts[1].flush()
			if !equalInts(s.integers(), parts[1].integers()) || !slices.Equal(c.count, counts[1].count) {
				t.Errorf("frame %d: other sums or counts in another order", i)
			}
			if i == 0 && first == (Digest{}) {
				first = s.Digest()
			}
			if parts[1].Digest() != first || counts[1].Digest() != first {
				t.Errorf("frame %d: another digest", i)
			}
		}
		other := make([]float64, m)
		if err := errors.Join(s.AddRows(other), c.AddRows(other)); err != nil || s.Digest() == first || c.Digest() != s.Digest() {
			t.Errorf("frame %d: a row more, and the digest stays (%v)", i, err)
		}
	}
	for name, err := range map[string]error{
		"sums":   mustBall(t, frames[1], m).NewAccumulator().Merge(mustBall(t, frames[2], m).NewAccumulator()),
		"counts": mustBall(t, frames[1], m).Radii().Merge(mustBall(t, frames[2], m).Radii()),
	} {
		if err == nil {
			t.Errorf("%s in two frames are merged", name)
		}
	}
}

// A row that is refused leaves no trace, and the error tells nothing; nothing prints what it
// holds; and rows allocate nothing.
func TestBallsKeepSecrets(t *testing.T) {
	b := mustBall(t, nil, 3)
	s, c := b.NewAccumulator(), b.Radii()
	row := []float64{0.4375, -0.75, 0.3125}
	for name, add := range map[string]func([]float64) error{"sums": s.AddRows, "counts": c.AddRows} {
		must.Do(t, add(row))
		digest := s.Digest()
		for _, bad := range []float64{math.NaN(), math.Inf(1), 1.0078125} {
			err := add([]float64{0.4375, bad, 0.3125})
			if err == nil {
				t.Fatalf("%s: %v accepted", name, bad)
			}
			for _, secret := range []string{"0078", "4375", "3125", "NaN", "Inf"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("%s: the error tells about the row: %v", name, err)
				}
			}
		}
		if s.Digest() != digest {
			t.Errorf("%s: a refused row left a trace", name)
		}
		if n := testing.AllocsPerRun(1000, func() { _ = add(row) }); n != 0 {
			t.Errorf("%s: %v allocations a row", name, n)
		}
	}
	for _, value := range []any{s, *s, c, *c, s.Digest()} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x"} {
			if got := fmt.Sprintf(verb, value); !strings.Contains(got, "withheld") || strings.ContainsAny(got, "012456789") {
				t.Errorf("%s prints %s", verb, got)
			}
		}
	}
}
