package mechanisms

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
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
