package vi

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mechanisms"
)

func stream(seed uint64) *mechanisms.Stream {
	return mechanisms.NewStream(mechanisms.Simulated(rand.New(rand.NewPCG(seed, 5))))
}

// squared is |total|², exactly.
func squared(total []int64) *big.Int {
	sum, k := new(big.Int), new(big.Int)
	for _, v := range total {
		k.SetInt64(v)
		sum.Add(sum, k.Mul(k, k))
	}
	return sum
}

// The sensitivity, in exact integers: whatever a record's gradient is, what it adds has a
// norm of at most 2⁴⁰ steps. Vectors are random, parallel to axes, all equal, very long,
// very short, and of lengths close to the clipping norm.
func TestSumNorm(t *testing.T) {
	limit := new(big.Int).Lsh(big.NewInt(1), 2*latticeBits)
	rng := rand.New(rand.NewPCG(4, 0))
	for _, clip := range []float64{1, 0.3, 1e-30, 1e30} {
		for _, dim := range []int{1, 2, 7, 1000} {
			s := NewSum(dim, clip, 1, stream(1))
			x := make([]float64, dim)
			for trial := range 300 {
				normal(x, rng)
				switch trial % 4 {
				case 1:
					clear(x)
					x[rng.IntN(dim)] = 1
				case 2:
					for j := range x {
						x[j] = -1
					}
				}
				scale := clip / norm(x)
				switch trial % 3 {
				case 0:
					scale *= math.Exp(50 * rng.NormFloat64())
				case 1:
					scale *= 1 + 1e-15*rng.NormFloat64()
				}
				c := math.Exp(20 * rng.NormFloat64())
				for j := range x {
					x[j] *= scale / c
				}
				s.Add(c, x, norm(x))
				if squared(s.total).Cmp(limit) > 0 {
					t.Fatalf("clip %v, dim %d, trial %d: a record adds more than the clipping norm", clip, dim, trial)
				}
				clear(s.total)
				row := newDoor(oneRow(x, c), clip, s, nil)
				row.Add(make([]float64, dim), []int{0})
				row.flush()
				if squared(s.total).Cmp(limit) > 0 {
					t.Fatalf("clip %v, dim %d, trial %d: a coded record adds more than the clipping norm", clip, dim, trial)
				}
				clear(s.total)
			}
		}
	}
}

// oneRow has a record x whose gradient is c·x, by one use of θ, or by another of each half.
func oneRow(x []float64, c float64) *Model {
	slope := func(_, _ float64) float64 { return c }
	of, half := &Model{Records: 1}, len(x)/2
	if half == 0 {
		half = len(x)
	}
	for at := 0; at < len(x); at += half {
		half = min(half, len(x)-at)
		of.Parameters = append(of.Parameters, Parameter{Name: "theta", Size: half})
	}
	of.LogLik = func(t *Tape) {
		at := 0
		for k, p := range of.Parameters {
			t.Observe(t.Dense(t.Rows(x[at:at+p.Size], p.Size), k), []float64{0}, nil, slope)
			at += p.Size
		}
	}
	return of
}

// What a batch adds is the sum of what each of its records adds alone, to the bit, whatever
// the batch's size and order, and of that no record exceeds 2⁴⁰ steps: a record more moves a
// sum by no more than the sensitivity. Predictors are differences of huge terms, whose last bits
// order decides.
func TestBatchesAddUp(t *testing.T) {
	limit := new(big.Int).Lsh(big.NewInt(1), 2*latticeBits)
	rng := rand.New(rand.NewPCG(12, 0))
	for p := 1; p <= 9; p++ {
		for name, m := range models(p, true) {
			add := adder(t, m, p, rng)
			alone := make([][]int64, m.Records)
			for i := range alone {
				if alone[i] = add(i); squared(alone[i]).Cmp(limit) > 0 {
					t.Fatalf("%s of %d: record %d adds more than the clipping norm", name, p, i)
				}
			}
			for size := 1; size <= m.Records; size++ {
				batch := rng.Perm(m.Records)[:size]
				got := add(batch...)
				for _, i := range batch {
					for j, k := range alone[i] {
						got[j] -= k
					}
				}
				if squared(got).Sign() != 0 {
					t.Fatalf("%s of %d: a batch of %d adds other than its records alone, by %v", name, p, size, got)
				}
			}
		}
	}
}

// adder returns the sum over a batch, before noise, at a θ with opposite
// coefficients of twins.
func adder(t *testing.T, m *Model, p int, rng *rand.Rand) func(batch ...int) []int64 {
	a := must.Get(newAscent(m, Options{Privacy: &Privacy{Epsilon: 1e9, Delta: 1e-5, Multiplier: 1, Entropy: mechanisms.Simulated(rng)},
		Rate: 1, Steps: 1, Clip: 1, LearningRate: 1}))(t)
	theta := make([]float64, m.Dim())
	normal(theta, rng)
	for j := 0; p > 1 && j+1 < len(theta); j += p {
		theta[j], theta[j+1] = 1e9, -1e9
	}
	return func(batch ...int) []int64 {
		clear(a.door.sum.total)
		a.door.Add(theta, batch)
		a.door.flush()
		return slices.Clone(a.door.sum.total)
	}
}

// Blocks of 4096 records add up exactly, too: so many times one record is that many times what
// it adds.
func TestBlocks(t *testing.T) {
	m := models(3, false)["network"]
	add := adder(t, m, 1, rand.New(rand.NewPCG(14, 0)))
	one, batch := add(4), make([]int, 2*blockRows+7)
	for i := range batch {
		batch[i] = 4
	}
	for j, k := range add(batch...) {
		if k != one[j]*int64(len(batch)) {
			t.Fatalf("entry %d: %d times %d is %d", j, len(batch), one[j], k)
		}
	}
}

// A vector within the norm stays as it is to about a step; a longer one keeps its
// direction, and has the norm.
func TestSumClips(t *testing.T) {
	s := NewSum(3, 2, 1e-12, stream(2))
	const step = 2. / (1 << latticeBits)
	got := make([]float64, 3)
	s.Add(0.5, []float64{1, -2, 1}, math.Sqrt(6))
	s.Add(100, []float64{0, 3, 4}, 5)
	s.Release(got)
	for j, want := range []float64{0.5, -1 + 1.2, 0.5 + 1.6} {
		// Two roundings, a noise of at most 10 steps, and the margin of 1e-9.
		if math.Abs(got[j]-want) > 12*step+4e-9 {
			t.Errorf("entry %d is %v, want %v", j, got[j], want)
		}
	}
	s.Release(got)
	if math.Abs(got[0]) > 10*step {
		t.Error("a released sum is not forgotten")
	}
}

// NaN and infinities add nothing, and leave no trace.
func TestSumNotFinite(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		c float64
		x []float64
	}{{nan, []float64{1, 1}}, {inf, []float64{1, 1}}, {1, []float64{nan, 1}}, {1, []float64{-inf, 1}}, {1, []float64{1e200, 0}}, {1e200, []float64{1e-200, 0}}} {
		s := NewSum(2, 1, 1, stream(3))
		s.Add(c.c, c.x, norm(c.x))
		if s.total[0] != 0 || s.total[1] != 0 {
			t.Errorf("%v·%v adds %v", c.c, c.x, s.total)
		}
	}
}

// Rows of 0, or of too much for a square, add nothing, whatever their slopes are; the rest of a
// batch adds what it does alone.
func TestHugeSlopes(t *testing.T) {
	for _, x := range [][]float64{{0, 0}, {1e-200, 0}, {1e120, 1}, {math.NaN(), 1}, {1, math.Inf(1)}} {
		for _, slope := range []float64{1, 1e300, math.Inf(1), math.NaN()} {
			x := append([]float64{1, 1}, x...)
			m := &Model{Records: 2, Parameters: []Parameter{{Name: "theta", Size: 2}}, LogLik: func(t *Tape) {
				t.Observe(t.Dense(t.Rows(x, 2), 0), []float64{0.5, slope}, nil, func(y, _ float64) float64 { return y })
			}}
			var sums [2][]int64
			for k, batch := range [][]int{{0}, {0, 1}} {
				c := newDoor(m, 1e-30, NewSum(2, 1e-30, 1, stream(3)), nil)
				c.Add([]float64{1, 1}, batch)
				c.flush()
				sums[k] = c.sum.total
			}
			if sums[0][0] == 0 || !slices.Equal(sums[0], sums[1]) {
				t.Errorf("%v times %v: %v becomes %v", slope, x[2:], sums[0], sums[1])
			}
		}
	}
}

// The noise has mean 0 and variance (multiplier·clip)²: of n = 20000 normal variates the
// mean is within 4.6σ/√n, and the variance within 4.6√(2/n), relative (4e-6 each).
func TestSumNoise(t *testing.T) {
	const dim, rounds, clip, multiplier = 10, 2000, 0.25, 3.
	s, x := NewSum(dim, clip, multiplier, stream(4)), make([]float64, dim)
	sum, square := 0., 0.
	for range rounds {
		s.Release(x)
		for _, v := range x {
			sum += v
			square += v * v
		}
	}
	const n = dim * rounds
	sigma := clip * multiplier
	if mean := sum / n; math.Abs(mean) > 4.6*sigma/math.Sqrt(n) {
		t.Errorf("mean %v", mean)
	}
	if v := square / n / (sigma * sigma); math.Abs(v-1) > 4.6*math.Sqrt(2./n) {
		t.Errorf("%v times the variance", v)
	}
	// What is told the accountant is never more than what is drawn.
	if float64(s.noise) < multiplier*(1<<latticeBits) {
		t.Error("the noise is rounded down")
	}
}
