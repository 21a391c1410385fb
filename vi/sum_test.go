package vi

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

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
				row := newCoded(oneRow(x), s)
				row.add([]int{0}, make([]float64, dim), func(int, float64) float64 { return c })
				row.flush()
				if squared(s.total).Cmp(limit) > 0 {
					t.Fatalf("clip %v, dim %d, trial %d: a coded record adds more than the clipping norm", clip, dim, trial)
				}
				clear(s.total)
			}
		}
	}
}

func oneRow(x []float64) Linear { return Logistic(&Rows{P: len(x), X: x, Y: []float64{1}}, 1) }

// What a batch adds is the sum of what each of its records adds alone, to the bit, whatever
// the batch's size and order, and of that no record exceeds 2⁴⁰ steps: a record more moves a
// sum by no more than the sensitivity. Predictors are differences of huge terms, whose last bits
// order decides. θ is drawn without spread.
func TestBatchesAddUp(t *testing.T) {
	limit := new(big.Int).Lsh(big.NewInt(1), 2*latticeBits)
	rng := rand.New(rand.NewPCG(12, 0))
	for p := 1; p <= 9; p++ {
		for name, m := range models(p, true) {
			add := adder(t, m, p, rng)
			alone := make([][]int64, m.Len())
			for i := range alone {
				if alone[i] = add(i); squared(alone[i]).Cmp(limit) > 0 {
					t.Fatalf("%s of %d: record %d adds more than the clipping norm", name, p, i)
				}
			}
			for size := 1; size <= m.Len(); size++ {
				batch := rng.Perm(m.Len())[:size]
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
func adder(t *testing.T, m Model, p int, rng *rand.Rand) func(batch ...int) []int64 {
	a, err := newAscent(m, Options{Privacy: &Privacy{Epsilon: 1e9, Delta: 1e-5, Multiplier: 1, Entropy: mechanisms.Simulated(rng)},
		Rate: 1, Steps: 1, Clip: 1, LearningRate: 1})
	if err != nil {
		t.Fatal(err)
	}
	mean := make([]float64, m.Dim())
	normal(mean, rng)
	for j := 0; p > 1 && j+1 < len(mean); j += p {
		mean[j], mean[j+1] = 1e9, -1e9
	}
	a.guide.Set(a.lambda, mean, 0)
	batches := new(someBatch)
	a.batches = batches
	door := &beforeNoise{block: a.coded}
	if a.coded != nil {
		door.Sum = a.coded.Sum
	} else {
		door.Sum = a.sum.(*Sum)
	}
	a.sum = door
	return func(batch ...int) []int64 {
		*batches = batch
		a.climb()
		return door.last
	}
}

type someBatch []int

func (b *someBatch) Next() []int { return *b }

// beforeNoise keeps what Release would add noise to.
type beforeNoise struct {
	*Sum
	block *coded
	last  []int64
}

func (b *beforeNoise) Release(dst []float64) {
	if b.block != nil {
		b.block.flush()
	}
	b.last = slices.Clone(b.total)
	b.Sum.Release(dst)
}

// Coded rows add up to the same as others, up to the coding, over blocks too.
func TestCoded(t *testing.T) {
	const n, p = 2*blockRows + 7, 3
	rows := simulatedRows(n, p, 5, coin)
	plain, other := NewSum(p, 0.5, 1, stream(9)), NewSum(p, 0.5, 1, stream(9))
	c, batch := newCoded(Logistic(rows, 1), other), make([]int, n)
	slope := func(i int, eta float64) float64 {
		x := rows.row(i)
		if want := x[0] - x[1]; math.Abs(eta-want) > 1e-5*norm(x) {
			t.Fatalf("row %d: eta is %v, not %v", i, eta, want)
		}
		return math.Sin(float64(i))
	}
	for i := range n {
		x := rows.row(i)
		plain.Add(math.Sin(float64(i)), x, norm(x))
		batch[i] = i
	}
	c.add(batch, []float64{1, -1, 0}, slope)
	got, want := make([]float64, p), make([]float64, p)
	c.Release(got)
	plain.Release(want) // the same noise
	for j := range got {
		if math.Abs(got[j]-want[j]) > n*1e-5 {
			t.Errorf("entry %d: %v and %v", j, got[j], want[j])
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
		p := Plain(2, 0).(*plain)
		p.Add(c.c, c.x, norm(c.x))
		if p.total[0]-p.total[0] != 0 || p.total[1]-p.total[1] != 0 {
			t.Errorf("without privacy, %v·%v adds %v", c.c, c.x, p.total)
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
