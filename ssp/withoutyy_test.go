package ssp

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/release"
)

// withoutLast leaves the square of the last column out of a distance.
func withoutLast(f distance, squared bool) distance {
	return func(v, w []float64) float64 {
		last := len(v) - 1
		d := v[last] * v[last]
		if w != nil {
			d -= w[last] * w[last]
		}
		if squared {
			return f(v, w) - d*d
		}
		return f(v, w) - max(d, -d)
	}
}

// The claims are upper bounds, and tight, as those of all statistics are.
func TestSearchNeverBeatsTheClaimWithoutYY(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 5))
	for m := 1; m <= 5; m++ {
		for _, c := range []struct {
			name  string
			claim *big.Rat
			found float64
		}{
			{"L1 replace-one", WithoutYYL1(m, release.ReplaceOne), search(rng, m, true, withoutLast(l1, false))},
			{"L2 replace-one", WithoutYYL2Squared(m, release.ReplaceOne), search(rng, m, true, withoutLast(l2Squared, true))},
			{"L1 add-remove", WithoutYYL1(m, release.AddRemove), search(rng, m, false, withoutLast(l1, false))},
			{"L2 add-remove", WithoutYYL2Squared(m, release.AddRemove), search(rng, m, false, withoutLast(l2Squared, true))},
		} {
			claim, _ := c.claim.Float64()
			if c.found > claim*(1+1e-12) {
				t.Errorf("m = %d, %s: found %v, claimed %v", m, c.name, c.found, claim)
			}
			if c.found < 0.99*claim {
				t.Errorf("m = %d, %s: found only %v of %v", m, c.name, c.found, claim)
			}
		}
	}
}

// The maxima of docs/sensitivity.md, in rational arithmetic: from all ones to
// (0, …, 0, −1) in L1, to ⌊(m+1)/2⌋ signs flipped in L2. What Σy² costs in L1 is
// 1/(m+2)² of it, one part in 16 at most.
func TestMaximaAreAttainedWithoutYY(t *testing.T) {
	rat := func(k int64) *big.Rat { return big.NewRat(k, 1) }
	for m := 2; m <= 30; m++ {
		v, w, flipped := make([]*big.Rat, m), make([]*big.Rat, m), make([]*big.Rat, m)
		for j := range v {
			v[j], w[j], flipped[j] = rat(1), rat(0), rat(1)
			if j < (m+1)/2 {
				flipped[j] = rat(-1)
			}
		}
		w[m-1] = rat(-1)
		// y is 1 or −1, and y² the same in both rows: the last entry counts for nothing.
		want := WithoutYYL1(m, release.ReplaceOne)
		if got := exactDistance(v, w, false); got.Cmp(want) != 0 {
			t.Errorf("m = %d: L1 attains %v, claimed %v", m, got, want)
		}
		if got, want := exactDistance(v, flipped, true), WithoutYYL2Squared(m, release.ReplaceOne); got.Cmp(want) != 0 {
			t.Errorf("m = %d: squared L2 attains %v, claimed %v", m, got, want)
		}
		whole, k := SensitivityL1(m, release.ReplaceOne), int64(m)
		gain := new(big.Rat).Sub(whole, want)
		if gain.Quo(gain, whole).Cmp(big.NewRat(1, (k+2)*(k+2))) != 0 {
			t.Errorf("m = %d: the gain is %v", m, gain)
		}
	}
}

// A release without Σy² is that with it, less the last entry, at its own calibration.
func TestPublishWithoutYY(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 5))
	s := testStatistics(t, randomRows(rng, 50, 3)...)
	for _, c := range []struct {
		pr          release.Privacy
		noise       release.Kind
		sensitivity float64
	}{
		{pure(0.5), release.Laplace, 9},
		{release.Privacy{Epsilon: 0.5, Neighbours: release.AddRemove}, release.Laplace, 9},
		{approximate(0.5, 1e-6), release.Gaussian, 4},
		{approximate(0.5, 1e-6), Auto, 9}, // Laplace noise is the smaller one
	} {
		r, err := PublishWithoutYY(t.Context(), s, testDesign(3), c.pr, c.noise, seeded(3))
		if err != nil {
			t.Fatal(err)
		}
		if r.Noise.Sensitivity != c.sensitivity || !r.WithoutYY() || len(r.Withheld) != 1 {
			t.Errorf("%+v: %+v, withheld %v", c.pr, r.Noise, r.Withheld)
		}
		drawn, err := mechanism(r.Noise, 2*LatticeBits)
		if err != nil {
			t.Fatal(err)
		}
		e := seeded(3)
		if r.NNoise != 0 {
			if n, _, err := publishedCount(s.N, c.pr.Neighbours, r.Noise, e); err != nil || n != r.N {
				t.Errorf("n = %d, want %d", r.N, n)
			}
		}
		z := s.BigInts()[:8]
		drawn.AddNoise(z, e)
		for i, got := range r.Statistics.Vector() {
			if want := toScaled(z, 2*LatticeBits)[i]; got != want {
				t.Errorf("entry %d is %v, want %v", i, got, want)
			}
		}
	}
	if _, err := PublishWithoutYY(t.Context(), s, testDesign(2), pure(1), release.Laplace, seeded(1)); err == nil {
		t.Error("a design of other columns passes")
	}
	if _, err := PublishWithoutYY(t.Context(), s, testDesign(3), pure(0), release.Laplace, seeded(1)); err == nil {
		t.Error("epsilon 0 passes")
	}
}
