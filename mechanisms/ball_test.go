package mechanisms

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
)

func mustBall(t testing.TB, scales ...*big.Rat) Mechanism {
	t.Helper()
	return must.Get(Ball(scales))(t)
}

// ballDraws gives for each entry n draws, in units of its scale.
func ballDraws(t testing.TB, n int, seed uint64, scales ...*big.Rat) [][]float64 {
	t.Helper()
	m, e := mustBall(t, scales...), Simulated(rand.New(rand.NewPCG(seed, 4)))
	x := make([][]float64, len(scales))
	for range n {
		z := make([]*big.Int, len(scales))
		for i := range z {
			z[i] = new(big.Int)
		}
		m.AddNoise(z, e)
		for i, v := range z {
			f, _ := new(big.Rat).Quo(new(big.Rat).SetInt(v), scales[i]).Float64()
			x[i] = append(x[i], f)
		}
	}
	return x
}

// rootDLimit is passed with probability 1e-5 at most.
const rootDLimit = 2.47

// ballCDF is the distribution function of a coordinate x of the density ∝ exp(−‖x‖₂) on
// R^k, k odd. What the other coordinates leave of it is, with r = ‖x‖₂,
//
//	f(x) ∝ ∫_{|x|}^∞ (r² − x²)^{(k−3)/2} r e^{−r} dr,
//
// for k = 1 e^{−|x|}, for k = 3 (|x| + 1)e^{−|x|}, for k = 5 (x² + 3|x| + 3)e^{−|x|}.
func ballCDF(k int) func(x float64) float64 {
	return func(x float64) float64 {
		a := math.Abs(x)
		tail := map[int]float64{1: 1. / 2, 3: (a + 2) / 4, 5: (a*a + 5*a + 8) / 16}[k] * math.Exp(-a)
		if x < 0 {
			return tail
		}
		return 1 - tail
	}
}

func lattices(scales ...float64) []*big.Rat {
	var s []*big.Rat
	for _, x := range scales {
		s = append(s, new(big.Rat).SetFloat64(x*(1<<40)))
	}
	return s
}

// Each coordinate has its law, whatever its scale, and the norm that of Gamma(k).
func TestBallFits(t *testing.T) {
	for _, scales := range [][]*big.Rat{lattices(3), lattices(1, 20, 0.3), lattices(1, 1, 2, 1000, 0.01), lattices(slices.Repeat([]float64{5, 7}, 10)...)}[:testsize.Of(2, 4)] {
		k := len(scales)
		x := ballDraws(t, 20000, 41, scales...)
		norm := make([]float64, len(x[0]))
		for i := range norm {
			for _, entry := range x {
				norm[i] = math.Hypot(norm[i], entry[i])
			}
		}
		if d := must.RootD(norm, distuv.Gamma{Alpha: float64(k), Beta: 1}.CDF); d > rootDLimit {
			t.Errorf("%d entries: the norm is √n·D = %.2f off", k, d)
		}
		for i := range norm {
			norm[i] *= 0.9
		}
		if d := must.RootD(norm, distuv.Gamma{Alpha: float64(k), Beta: 1}.CDF); d <= rootDLimit {
			t.Errorf("%d entries: noise of 0.9 times the scale passes", k)
		}
		if k > 5 {
			continue
		}
		for i, entry := range x {
			if d := must.RootD(entry, ballCDF(k)); d > rootDLimit {
				t.Errorf("%d entries: entry %d is √n·D = %.2f off", k, i, d)
			}
		}
	}
}

// No direction is preferred: the angle of two coordinates is uniform.
func TestBallDirections(t *testing.T) {
	testsize.Full(t, "TestBallFits has each coordinate and the norm")
	x := ballDraws(t, 20000, 42, lattices(1, 2)...)
	angle := make([]float64, len(x[0]))
	for i := range angle {
		angle[i] = math.Atan2(x[0][i], x[1][i])
	}
	if d := must.RootD(angle, func(a float64) float64 { return (a + math.Pi) / (2 * math.Pi) }); d > rootDLimit {
		t.Errorf("√n·D = %.2f", d)
	}
}

// Where the lattice is coarse the law is that of the rounded coordinate, integer by
// integer.
func TestBallSmallScales(t *testing.T) {
	testsize.Full(t, "TestBallFits and TestBallRounding have the law and its rounding")
	scales := []*big.Rat{big.NewRat(3, 10), big.NewRat(1, 1), big.NewRat(7, 3)}
	x := ballDraws(t, 40000, 43, scales...)
	for i, entry := range x {
		s, _ := scales[i].Float64()
		cdf := ballCDF(3)
		const most = 6
		count, probability := make([]float64, 2*most+1), make([]float64, 2*most+1)
		for c := range probability {
			below, above := cdf((float64(c-most)-0.5)/s), cdf((float64(c-most)+0.5)/s)
			if c == 0 {
				below = 0
			}
			if c == 2*most {
				above = 1
			}
			probability[c] = above - below
		}
		for _, v := range entry {
			count[min(max(int(math.Round(v*s))+most, 0), 2*most)]++
		}
		for len(count) > 3 && probability[0]*40000 < 20 { // few are expected beyond
			last := len(count) - 1
			count[1], probability[1] = count[1]+count[0], probability[1]+probability[0]
			count[last-1], probability[last-1] = count[last-1]+count[last], probability[last-1]+probability[last]
			count, probability = count[1:last], probability[1:last]
		}
		if p := chiSquare(count, probability); p < falseAlarm {
			t.Errorf("scale %v: p = %g", scales[i], p)
		}
	}
}

// By brute force: with hundreds of digits an entry is s√V|N|, rounded; as soon as fewer
// digits are said to decide it, it is that.
func TestBallRounding(t *testing.T) {
	rng := rand.New(rand.NewPCG(44, 4))
	undecided := 0
	const precision, all = 1000, 30
	for range 300 {
		k := 1 + rng.IntN(4)
		b := &ball{}
		for range k {
			var s big.Rat
			s.SetFrac64(1+rng.Int64N(1<<uint(1+rng.IntN(60))), 1+rng.Int64N(1<<uint(1+rng.IntN(20))))
			b.scales = append(b.scales, s)
		}
		digits := make([][]uint64, 2*k+1)
		for i := range digits {
			for range all {
				digits[i] = append(digits[i], []uint64{rng.Uint64() & 255, rng.Uint64() & 255, 0, 255}[rng.IntN(4)])
			}
		}
		want := make([]*big.Int, k)
		for known := range all + 1 {
			b.variate = make([]magnitude, 2*k+1)
			for i := range b.variate {
				b.variate[i].low.SetUint64(uint64(i % 3))
				for _, d := range digits[i][:known] {
					b.variate[i].append(d)
				}
			}
			least, most := b.squares()
			for i := range k {
				y := new(big.Int)
				if !b.round(y, i, least, most) {
					undecided++
					continue
				}
				if want[i] == nil {
					want[i] = exactEntry(b, digits, i, precision)
				}
				if y.Cmp(want[i]) != 0 {
					t.Fatalf("entry %d of %d, scale %v: %d digits are said to make %v, and it is %v", i, k, &b.scales[i], known, y, want[i])
				}
			}
		}
		if slices.Contains(want, nil) {
			t.Fatal("30 digits decide nothing")
		}
	}
	if undecided < 1000 {
		t.Errorf("%d were undecided", undecided)
	}
}

// exactEntry is ⌊s√V|N| + ½⌋ in floating point of that many bits, of all digits.
func exactEntry(b *ball, digits [][]uint64, entry int, precision uint) *big.Int {
	number := func() *big.Float { return new(big.Float).SetPrec(precision) }
	value := func(i int) *big.Float {
		x := number().SetInt64(int64(i % 3))
		for place, d := range digits[i] {
			x.Add(x, number().SetMantExp(number().SetUint64(d), -8*(place+1)))
		}
		return x
	}
	v := number()
	for i := len(b.scales); i < len(digits); i++ {
		v.Add(v, number().Mul(value(i), value(i)))
	}
	x := number().SetRat(&b.scales[entry])
	x.Mul(x, v.Sqrt(v))
	x.Mul(x, value(entry))
	y, _ := x.Add(x, big.NewFloat(0.5)).Int(nil)
	return y
}

// What was settled stays so with more digits, of a vector as it is drawn; and nothing is
// left of it when it is wiped.
func TestBallSettles(t *testing.T) {
	source := Simulated(rand.New(rand.NewPCG(45, 4))).state
	for trial := range 200 {
		scales := []*big.Rat{big.NewRat(1<<40, 3), big.NewRat(1<<20, 7), big.NewRat(5, 1)}
		b := mustBall(t, scales...).law(source).(*ball)
		b.lead = 1 + trial%3 // far from enough
		b.begin()
		b.settle()
		b.refine(b.variate[0].digits + 20)
		least, most := b.squares()
		for i := range scales {
			y := new(big.Int)
			if !b.round(y, i, least, most) || y.Cmp(&b.rounded[i]) != 0 {
				t.Fatalf("entry %d was settled as %v, and is %v", i, &b.rounded[i], y)
			}
		}
		kept := b.rounded
		for range scales {
			b.draw(new(big.Int))
		}
		b.wipe()
		for i := range b.variate {
			empty(t, &b.variate[i].low)
		}
		for i := range kept {
			empty(t, &kept[i])
		}
		for i := range b.scratch {
			empty(t, &b.scratch[i])
		}
	}
}

func empty(t *testing.T, x *big.Int) {
	t.Helper()
	words := x.Bits()
	for _, w := range words[:cap(words)] {
		if w != 0 {
			t.Fatal("digits outlive the call")
		}
	}
}

// R(z + x) = z + R(x): noise is drawn without a look at z; one seed gives it again; scales
// are copied.
func TestBallIndependentOfInput(t *testing.T) {
	scales := lattices(1, 2, 3)
	m := mustBall(t, scales...)
	var first []*big.Int
	for _, input := range []int64{0, 1, -1 << 62} {
		z := []*big.Int{big.NewInt(input), big.NewInt(input), big.NewInt(input)}
		m.AddNoise(z, Simulated(rand.New(rand.NewPCG(46, 4))))
		for i := range z {
			z[i].Sub(z[i], big.NewInt(input))
		}
		if first == nil {
			first = z
		}
		for i := range z {
			if z[i].Cmp(first[i]) != 0 {
				t.Error("the noise on another input differs")
			}
		}
		scales[0].SetInt64(1)
	}
}

func TestBallRefuses(t *testing.T) {
	for _, scales := range [][]*big.Rat{nil, {nil}, {new(big.Rat)}, {big.NewRat(1, 1), big.NewRat(-1, 2)}} {
		if _, err := Ball(scales); err == nil {
			t.Errorf("scales %v accepted", scales)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a vector of another length is accepted")
		}
	}()
	mustBall(t, lattices(1, 1)...).AddNoise([]*big.Int{new(big.Int)}, OS())
}
