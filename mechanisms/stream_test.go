package mechanisms

import (
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

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
