package ssp

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/release"
)

// The lemma of docs/secure-sum.md, by sums over all integers: the law of R(σX₁) + … + R(σX_h) is within a
// factor 1 ± η of that of R(S + F), S normal of variance hσ², F the sum of h − 1 uniform variates on
// [−½, ½]. At these σ, thousands of times smaller than any that is drawn, η can be seen.
func TestSumOfRounded(t *testing.T) {
	for _, sigma := range []float64{0.5, 0.7, 1, 1.5} {
		for h := 2; h <= 4; h++ {
			const reach = 60
			one := make([]float64, 2*reach+1) // P(R(σX) = k − reach)
			for i := range one {
				one[i] = cells(float64(i-reach), sigma)
			}
			sum := one
			for range h - 1 {
				sum = convolve(sum, one)
			}
			spread := math.Sqrt(float64(h)) * sigma
			eta := math.Pow(1+2*theta(2*math.Pi*math.Pi*sigma*sigma/float64(h)), float64(h-1)) - 1
			worst := 0.0
			middle := len(sum) / 2
			for k := -int(4 * spread); k <= int(4*spread); k++ {
				worst = max(worst, math.Abs(sum[middle+k]/smoothed(float64(k), spread, h-1)-1))
			}
			if worst > eta+1e-9 {
				t.Errorf("σ = %v, %d custodians: off by %.3g, and η = %.3g", sigma, h, worst, eta)
			}
			if sigma == 0.5 && worst < 1e-4 {
				t.Errorf("σ = %v, %d custodians: off by %.3g only: this test sees nothing", sigma, h, worst)
			}
		}
	}
}

// theta is Σ_{k ≥ 1} exp(−ak²).
func theta(a float64) (sum float64) {
	for k := 1.0; k < 50; k++ {
		sum += math.Exp(-a * k * k)
	}
	return sum
}

func cells(k, sigma float64) float64 {
	upper := func(x float64) float64 { return math.Erfc(x/sigma/math.Sqrt2) / 2 }
	if k < 0 {
		k = -k
	}
	return upper(k-0.5) - upper(k+0.5)
}

func convolve(a, b []float64) []float64 {
	out := make([]float64, len(a)+len(b)-1)
	for i, x := range a {
		for j, y := range b {
			out[i+j] += x * y
		}
	}
	return out
}

// smoothed is P(R(S + F) = k): the normal law on a cell, averaged over uniform shifts.
func smoothed(k, spread float64, uniforms int) float64 {
	if uniforms == 0 {
		return cells(k, spread)
	}
	return quad.Fixed(func(f float64) float64 { return smoothed(k-f, spread, uniforms-1) }, -0.5, 0.5, 12, nil, 1)
}

// Shares add up to the noise that the release states: Kolmogorov and Smirnov of the total of five
// custodians without rows, √n·D above 2.47 once in 100,000; and all but those who collude or are absent
// have the noise of one release.
func TestSharesAddUp(t *testing.T) {
	p := release.Privacy{Epsilon: 1, Delta: 1e-6, Neighbours: release.ReplaceOne}
	one := must.Get(Calibrate(2, p, release.Gaussian, Exact))(t)
	const custodians, colluding = 5, 2
	q, err := Shared{Columns: 2, Neighbours: p.Neighbours, Noise: one}.Split(custodians, custodians-colluding)
	share := q.Noise
	must.Do(t, err)
	squares := new(big.Rat).Mul(number.Exactly(share.Scale), number.Exactly(share.Scale))
	target := new(big.Rat).Mul(number.Exactly(one.Scale), number.Exactly(one.Scale))
	if squares.Mul(squares, big.NewRat(custodians-colluding, 1)).Cmp(target) < 0 {
		t.Error("the honest draw less than one release does")
	}
	if delta, err := accounting.Delta(p.Epsilon, math.Sqrt(custodians-colluding)*share.Scale*(1+1e-15), share.Sensitivity); err != nil || delta > p.Delta {
		t.Errorf("δ = %v against those who collude, %v", delta, err)
	}
	e := mechanisms.Simulated(rand.New(rand.NewPCG(3, 1)))
	empty := NewAccumulator(2).Statistics()
	var u []float64
	for range testsize.Of(400, 4000) {
		total := make([]*big.Int, release.Length(2)+1)
		for l := range total {
			total[l] = new(big.Int)
		}
		for range custodians {
			z := must.Get(q.Share(empty, 0, e))(t)
			for l, v := range z {
				total[l].Add(total[l], v)
			}
		}
		if total[len(total)-1].Sign() != 0 {
			t.Fatal("a number of rows that is public has noise")
		}
		r := &release.Release{Simulated: true, Schema: *testDesign(2), Privacy: &p, Pooled: &release.Pooled{Custodians: custodians, Colluding: colluding}}
		must.Do(t, q.Total(append(total[:len(total)-1], big.NewInt(1<<(2*LatticeBits))), r))
		for _, z := range r.Statistics.Vector() {
			u = append(u, 0.5*math.Erfc(-z/r.Noise.Scale/math.Sqrt2))
		}
	}
	must.Follows(t, "sums", u, must.Uniform, 1e-5)
}

func TestSplitRefuses(t *testing.T) {
	if q, err := (Shared{Noise: release.Noise{Scale: 1e-9, Lattice: lattice}}).Split(3, 2); err == nil {
		t.Errorf("%+v", q)
	}
}
