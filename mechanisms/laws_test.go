package mechanisms

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
)

// laws are those of noise on each integer alone, with scales, of which large is one of about 2^42.
var laws = map[string]struct {
	of     func(scale *big.Rat) (Mechanism, error)
	scales map[string]*big.Rat
	large  string
}{"laplace": {Laplace, scales, "5.33*2^40"}, "gaussian": {Gaussian, sigmas, "3.7*2^40"}}

func TestScaleIsRefused(t *testing.T) {
	for name, law := range laws {
		for _, scale := range []*big.Rat{nil, new(big.Rat), big.NewRat(-1, 2)} {
			if _, err := law.of(scale); err == nil {
				t.Errorf("%s: %v accepted", name, scale)
			}
		}
	}
}

// The caller may reuse its number: the noise must not shrink behind its back.
func TestScaleIsCopied(t *testing.T) {
	for name, law := range laws {
		scale := big.NewRat(1<<50, 1)
		mechanism, _ := law.of(scale)
		scale.SetFrac64(1, 1<<50)
		z := []*big.Int{new(big.Int)}
		mechanism.AddNoise(z, Simulated(rand.New(rand.NewPCG(1, 1))))
		if z[0].Sign() == 0 {
			t.Errorf("%s: the scale changed with the caller's number", name)
		}
	}
}

// The noise does not depend on what it is added to, however large: neighbouring
// inputs have translates of one law, on all integers.
func TestNoiseIndependentOfInput(t *testing.T) {
	huge := new(big.Int).Exp(big.NewInt(10), big.NewInt(30), nil)
	inputs := []*big.Int{big.NewInt(1), big.NewInt(-1 << 40), huge, new(big.Int).Neg(huge), new(big.Int).Add(huge, big.NewInt(1))}
	for name, law := range laws {
		for of, scale := range law.scales {
			want := drawn(t, law.of, scale, 30, rand.NewPCG(4, 2))
			mechanism := must.Get(law.of(scale))(t)
			for _, input := range inputs {
				z := make([]*big.Int, len(want))
				for i := range z {
					z[i] = new(big.Int).Set(input)
				}
				mechanism.AddNoise(z, Simulated(rand.New(rand.NewPCG(4, 2))))
				for i := range z {
					if z[i].Sub(z[i], input).Cmp(want[i]) != 0 {
						t.Fatalf("%s, scale %s: the noise on another input differs", name, of)
					}
				}
			}
		}
	}
}

// The low bits are what floating-point samplers get wrong: at a scale of 2^42
// they are uniform to one part in 10^12, in every combination, on either side.
func TestLowBitsUniform(t *testing.T) {
	for name, law := range laws {
		count := make([]float64, 128)
		probability := make([]float64, 128)
		for i := range probability {
			probability[i] = 1. / 128
		}
		for _, v := range drawn(t, law.of, law.scales[law.large], 60000, rand.NewPCG(25, 2)) {
			low := new(big.Int).And(new(big.Int).Abs(v), big.NewInt(63)).Int64()
			if v.Sign() < 0 {
				low += 64
			}
			count[low]++
		}
		if p := chiSquare(count, probability); p < falseAlarm {
			t.Errorf("%s: low bits and sign are not uniform: p = %g", name, p)
		}
	}
}

// Neighbours 0 and 1 reach the same outputs: none tells them apart for certain.
func TestSupportsCoincide(t *testing.T) {
	const reach = 5 // noise of ±6 has probability 0.025 at scale 7/2: absent from 20000 draws, e^{-500}
	for input := range int64(2) {
		seen := map[int64]bool{}
		for _, v := range draws(t, scales["7/2"], 20000, uint64(input)) {
			seen[v.Int64()+input] = true
		}
		for k := int64(-reach); k <= reach; k++ {
			if !seen[k] {
				t.Errorf("from %d the output %d is never reached", input, k)
			}
		}
	}
}

// The ratio of output probabilities of neighbours at distance 1, measured at every
// output with 1000 expected counts or more, is at most e^{1/t}: its logarithm has
// standard error √(1/a+1/b), and 4.9 of them are 1e-6 (one-sided, some 20 outputs).
func TestRatioOfNeighbours(t *testing.T) {
	count := func(input int64, scale *big.Rat, seed uint64) map[int64]float64 {
		c := map[int64]float64{}
		for _, v := range draws(t, scale, 100000, seed) {
			c[v.Int64()+input]++
		}
		return c
	}
	exceeds := func(drawn, claimed *big.Rat) bool {
		epsilon, _ := new(big.Rat).Inv(claimed).Float64()
		p, q := count(0, drawn, 21), count(1, drawn, 22)
		for k, a := range p {
			b := q[k]
			if a < 1000 || b < 1000 {
				continue
			}
			if math.Abs(math.Log(a/b))-4.9*math.Sqrt(1/a+1/b) > epsilon {
				return true
			}
		}
		return false
	}
	for _, scale := range []*big.Rat{big.NewRat(1, 1), big.NewRat(7, 2)}[:testsize.Of(1, 2)] {
		if exceeds(scale, scale) {
			t.Errorf("scale %v: neighbours are told apart better than the law allows", scale)
		}
	}
	if !testing.Short() && !exceeds(big.NewRat(7, 10), big.NewRat(1, 1)) {
		t.Error("noise of 0.7 times the scale is not found out")
	}
}

// exp(−u/t) at the ends and between, ± 4.5 standard deviations (7e-6).
func TestBernoulliExp(t *testing.T) {
	const n = 40000
	for _, u := range []int64{0, 1, 3, 6, 7} {
		l := laplace{t: big.NewInt(7), s: one, source: Simulated(rand.New(rand.NewPCG(7, 7))).state}
		hits := 0.0
		for range n {
			if l.bernoulliExp(big.NewInt(u)) {
				hits++
			}
		}
		p := math.Exp(-float64(u) / 7)
		if math.Abs(hits-n*p) > 4.5*math.Sqrt(n*p*(1-p)) {
			t.Errorf("exp(-%d/7): %v of %v, want %.0f", u, hits, n, n*p)
		}
	}
}
