package mechanisms

import (
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/dpreg/dpreg/internal/testsize"
)

// exactPower is e^{−n/512} to some 400 bits, by another way than expPower: 1/Σ (n/512)^k/k!.
func exactPower(n int64) *big.Float {
	float := func(x int64) *big.Float { return new(big.Float).SetPrec(700).SetInt64(x) }
	t := new(big.Float).Quo(float(n), float(512))
	sum, term := float(1), float(1)
	for k := int64(1); k < 900; k++ {
		sum.Add(sum, term.Quo(term.Mul(term, t), float(k)))
	}
	return sum.Quo(float(1), sum)
}

// That way itself, by mpmath: floor(2^64 e^{−t}).
func TestExactPower(t *testing.T) {
	for n, want := range map[int64]string{1: "18410750438167364677", 512: "6786177901268885274", 20000: "200"} {
		x := exactPower(n)
		if got, _ := x.Mul(x, new(big.Float).SetMantExp(big.NewFloat(1), 64)).Int(nil); got.String() != want {
			t.Errorf("e^-%d/512: %v", n, got)
		}
	}
}

func TestExpPower(t *testing.T) {
	for _, n := range []uint64{0, 1, 2, 511, 512, 1000, 65025, 65536, 90000} {
		for _, size := range []uint{64, 192, 400} {
			low, high := expPower(n, size)
			exact := exactPower(int64(n))
			exact.Mul(exact, new(big.Float).SetMantExp(big.NewFloat(1), int(size)))
			if new(big.Float).SetInt(low).Cmp(exact) > 0 || new(big.Float).SetInt(high).Cmp(exact) < 0 {
				t.Errorf("e^-%d/512, %d bits: not within its bounds", n, size)
			}
			// The bounds of e^{−1/512} are off by 2⁸, and n of them are multiplied.
			if gap := new(big.Int).Sub(high, low); gap.BitLen() > 9+17 {
				t.Errorf("e^-%d/512, %d bits: bounds differ by %v", n, size, gap)
			}
		}
	}
}

// The table has the whole part of stripScale·e^{−i²/512} for each strip, and 2⁶⁴ cases in all, by
// column as by strip.
func TestStripTable(t *testing.T) {
	table, of := cases(), [strips]uint64{}
	for i, c := range table.columns {
		if c.limit > column || c.other >= strips {
			t.Fatalf("column %d: %v", i, c)
		}
		of[i] += c.limit
		of[c.other] += column - c.limit
	}
	sum := table.rest
	for i, whole := range table.whole {
		x := exactPower(int64(i * i))
		want, _ := x.Mul(x, new(big.Float).SetInt64(stripScale)).Int(nil)
		if want.Uint64() != whole || i != others && of[i] != whole {
			t.Errorf("strip %d has %d cases, and %d in columns, of %v", i, whole, of[i], want)
		}
		sum += whole
	}
	if sum != 0 || of[others] != table.rest || table.rest <= strips || table.rest > 1<<14 {
		t.Errorf("%d cases are of no strip, and %d in columns; the sum is off by %d", table.rest, of[others], sum)
	}
}

// Of the case that each strip has in the rest it gets a share, and nothing from behind the table.
func TestStripRest(t *testing.T) {
	testsize.Full(t, "TestStripTable counts what is left, and TestGaussianFits has the law")
	s := simulatedStream(41).normal
	for _, i := range []uint64{1, 145, 0, 77, 130}[:testsize.Of(2, 5)] {
		x := exactPower(int64(i * i))
		x.Mul(x, new(big.Float).SetInt64(stripScale))
		share, _ := x.Sub(x, new(big.Float).SetInt(new(big.Int).SetUint64(s.table.whole[i]))).Float64()
		frequency(t, "outside", share, func() bool {
			j, ok := s.outside(i)
			if ok && j != i {
				t.Fatalf("strip %d is %d", i, j)
			}
			return ok
		})
	}
	for range 1000 {
		for _, of := range []uint64{200, others, strips, strips + 1, s.table.rest - 1} {
			if i, ok := s.outside(of); ok { // at 200 the share is 10^-16
				t.Fatalf("case %d of the rest is strip %d", of, i)
			}
		}
	}
}

// Strips by themselves, chi-square.
func TestStripFits(t *testing.T) {
	s := simulatedStream(42).normal
	const most = 64 // e^−8 ≈ 1/3000
	n, total := testsize.Of(300_000, 3_000_000), 0.
	count, probability := make([]float64, most+1), make([]float64, most+1)
	for i := range 1000 {
		p := math.Exp(-float64(i*i) / 512)
		probability[min(i, most)] += p
		total += p
	}
	for i := range probability {
		probability[i] /= total
	}
	for range n {
		count[min(s.strip(), most)]++
	}
	if p := chiSquare(count, probability); p < falseAlarm {
		t.Errorf("p = %g", p)
	}
}

// A variate in strip i is kept with probability e^{−γ}; behind the table, where γ may be above 1,
// too. y is fixed to its first 12 bits.
func TestStripKeeps(t *testing.T) {
	s := simulatedStream(43).normal
	for _, i := range []uint64{0, 30, 256, 600, 1, 255, 300}[:testsize.Of(2, 7)] {
		for _, first := range []uint64{0, 1000, 4095} {
			y := (float64(first) + 0.5) / 4096
			gamma := y * (2*float64(i) + y) / 512
			fix := func() { s.x = append(s.x[:0], i<<60|first<<48|s.stream.Uint64()>>16) }
			frequency(t, "keep", math.Exp(-gamma), func() bool { fix(); return s.keep(i) })
		}
	}
}

// What words decide of γ is what all digits say.
func TestStripBelow(t *testing.T) {
	s, rng, exactly := simulatedStream(44).normal, rand.New(rand.NewPCG(44, 1)), 0
	for range 20000 {
		i := rng.Uint64N(strips)
		word := rng.Uint64() >> (4 * rng.IntN(16))
		s.x = append(s.x[:0], i<<60|word>>4)
		// γ in units of 2⁻⁶⁴, but for some 20
		y := float64(word>>4) / (1 << 60)
		u := uint64(y * (2*float64(i) + y) / 512 * 0x1p64)
		if k := rng.IntN(4); k > 0 {
			n := new(big.Int).SetUint64(s.x[0] << 4)
			g := new(big.Int).Lsh(new(big.Int).Mul(n, new(big.Int).SetUint64(2*i)), 64)
			g.Rsh(g.Add(g, n.Mul(n, n)), 64+9)
			u = g.Uint64() + rng.Uint64N(40) - 10
		}
		s.a = append(s.a[:0], u)
		got := s.below(i, 1)
		if len(s.a) > 1 {
			exactly++
		}
		if s.belowExactly(i, 1) != got {
			t.Fatalf("strip %d, y = %#x/2^64, U = %#x/2^64: %v", i, word, u, got)
		}
	}
	if exactly == 0 {
		t.Error("words decided all")
	}
}

// The law within strips and across: cells a quarter of a strip wide, chi-square; moments, ± 4.7
// standard deviations; and the last bits.
func TestStripSamplerFits(t *testing.T) {
	const most, wide = 3.5, 64
	n := testsize.Of(400_000, 4_000_000)
	count, probability := make([]float64, 2*most*wide+2), make([]float64, 2*most*wide+2)
	below := 0.
	for c := range probability {
		p := normalCDF(float64(c)/wide - most)
		if c == len(probability)-1 {
			p = 1
		}
		probability[c], below = p-below, p
	}
	low, even := make([]float64, 64), make([]float64, 64)
	for i := range even {
		even[i] = 1. / 64
	}
	z, moments := make([]int64, n), [4]float64{}
	simulatedStream(45).AddGaussian(z, 1<<58)
	for _, v := range z {
		x := float64(v) / (1 << 58)
		c := int(math.Floor((x+most)*wide)) + 1
		count[max(0, min(c, len(count)-1))]++
		low[v&63]++
		for k := range moments {
			moments[k] += math.Pow(x, float64(k+1)) / float64(n)
		}
	}
	if p := chiSquare(count, probability); p < falseAlarm {
		t.Errorf("cells: p = %g", p)
	}
	if p := chiSquare(low, even); p < falseAlarm {
		t.Errorf("last bits: p = %g", p)
	}
	for k, want := range [4]float64{0, 1, 0, 3} {
		variance := [4]float64{1, 2, 15, 96}[k] // of x^(k+1)
		if math.Abs(moments[k]-want) > 4.7*math.Sqrt(variance/float64(n)) {
			t.Errorf("moment %d is %v", k+1, moments[k])
		}
	}
}

// The same seed gives the same noise, from version to version.
func TestStreamGaussianGolden(t *testing.T) {
	z := make([]int64, 6)
	simulatedStream(46).AddGaussian(z, 1_000_000_007)
	if want := [6]int64{149984365, 527141669, -1006848293, 815823557, 834620366, -1248513722}; [6]int64(z) != want {
		t.Errorf("%d", z)
	}
}

func simulatedStream(seed uint64) *Stream {
	return NewStream(Simulated(rand.New(rand.NewPCG(seed, 3))))
}

func streamDraws(sigma uint64, n int, seed uint64) []*big.Int {
	z := make([]int64, n)
	simulatedStream(seed).AddGaussian(z, sigma)
	draws := make([]*big.Int, n)
	for i, v := range z {
		draws[i] = big.NewInt(v)
	}
	return draws
}

// The same test as of Gaussian. At 2⁵⁹ one draw in 32 needs more than 64 digits.
func TestStreamGaussianFits(t *testing.T) {
	for _, sigma := range []uint64{1, 3, 143, 1 << 30, 1 << 59} {
		if p := cellTest(streamDraws(sigma, 60000, 31), float64(sigma)); p < falseAlarm {
			t.Errorf("sigma %d: p = %g", sigma, p)
		}
	}
	if p := cellTest(streamDraws(700, 60000, 31), 1000); p >= falseAlarm {
		t.Errorf("noise of 0.7 times sigma passes, p = %g", p)
	}
}

// The tails: each side by itself, ± 4.7 standard deviations (3e-6 each).
func TestStreamGaussianTails(t *testing.T) {
	const n, sigma = 1000000, 1 << 30
	z := make([]int64, n)
	simulatedStream(32).AddGaussian(z, sigma)
	for _, limit := range []float64{0, 1, 2, 3, 4} {
		p := normalCDF(-limit)
		for _, side := range []int64{-1, 1} {
			count := 0.0
			for _, v := range z {
				if float64(side*v) > limit*sigma {
					count++
				}
			}
			if math.Abs(count-n*p) > 4.7*math.Sqrt(n*p) {
				t.Errorf("%v of %d draws beyond %d·%v sigma, want %.0f", count, n, side, limit, n*p)
			}
		}
	}
}

// What 64-bit arithmetic says of σ(k + x) is what rational arithmetic says, wherever the
// first digit decides; σ is large, so that often it does not.
func TestStreamRounding(t *testing.T) {
	s := simulatedStream(33)
	rng := rand.New(rand.NewPCG(33, 1))
	for range 20000 {
		sigma := rng.Uint64N(1<<62) + 1
		y := s.gaussian(sigma)
		g := gaussian{p: new(big.Int).SetUint64(sigma), q: one}
		for len(s.normal.x) < 4 { // 192 bits more
			s.normal.extend(&s.normal.x)
		}
		var want big.Int
		found := false
		for k := uint64(0); k < 8 && !found; k++ {
			if !g.round(&want, k, s.normal.x, wordDigits) {
				t.Fatal("256 digits decide nothing")
			}
			w := int64(want.And(&want, mask).Uint64())
			found = y == w || y == -w
		}
		if !found {
			t.Fatalf("sigma %d, x = %d/2^64: %d", sigma, s.normal.x[0], y)
		}
	}
}

// Two variates whose first digits are equal are told apart by the next.
func TestStreamTie(t *testing.T) {
	s := simulatedStream(34)
	less := 0
	const n = 4000
	for range n {
		f, g := fraction{7}, fraction{7}
		if s.normal.less(&f, &g) {
			less++
		}
		if s.normal.less(&f, &g) == s.normal.less(&g, &f) {
			t.Fatal("a variate is less than another that is less than it")
		}
	}
	if math.Abs(float64(less)-n/2) > 4.5*math.Sqrt(n)/2 {
		t.Errorf("%d of %d", less, n)
	}
}

// Each of the integers below n is as likely as any other: chi-square.
func TestStreamBelow(t *testing.T) {
	const n, draws = 7, 70000
	s := simulatedStream(35)
	count, probability := make([]float64, n), make([]float64, n)
	for range draws {
		count[s.Below(n)]++
	}
	for i := range probability {
		probability[i] = 1. / n
	}
	if p := chiSquare(count, probability); p < falseAlarm {
		t.Errorf("p = %g", p)
	}
}

// Noise of a long vector is in parts, no two of which are alike; it follows from the key, on one
// core or many; and its first part is not what a short vector gets: the stream's own variates are
// drawn by none of the parts.
func TestStreamParts(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	const n, sigma = 3*streamPart + 100, 1 << 40
	var of [3][]int64
	for k, cores := range []int{1, 2, 5} {
		runtime.GOMAXPROCS(cores)
		of[k] = make([]int64, n)
		simulatedStream(37).AddGaussian(of[k], sigma)
	}
	if !slices.Equal(of[0], of[1]) || !slices.Equal(of[0], of[2]) {
		t.Error("noise depends on the number of cores")
	}
	short := make([]int64, streamPart)
	simulatedStream(37).AddGaussian(short, sigma)
	seen := map[int64]bool{}
	for _, v := range append(short, of[0]...) {
		if seen[v] { // by chance once in 10³
			t.Fatal("a variate is drawn twice")
		}
		seen[v] = true
	}
}

func TestStreamKinds(t *testing.T) {
	if NewStream(OS()).IsSimulated() || !simulatedStream(1).IsSimulated() {
		t.Error("the two worlds of randomness are mixed up")
	}
	if a, b := NewStream(OS()), NewStream(OS()); a.Uint64() == b.Uint64() {
		t.Error("two streams of the system's randomness agree")
	}
}

func TestStreamDoesNotAllocate(t *testing.T) {
	s, z := simulatedStream(36), make([]int64, 100)
	if n := testing.AllocsPerRun(20, func() { s.AddGaussian(z, 1<<30) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
