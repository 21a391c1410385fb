package vi

import (
	"math"
	"math/bits"
	"slices"
	"testing"
)

// Each record's count over T batches is binomial: within 5.3 standard deviations, 1e-7
// each; so is each pair's, which independence makes.
func TestPoisson(t *testing.T) {
	const n, rounds = 43, 20000
	within := func(count int, p float64) bool {
		return math.Abs(float64(count)-rounds*p) <= 5.3*math.Sqrt(rounds*p*(1-p))
	}
	for _, rate := range []float64{0.003, 1. / 256, 0.1, 0.5, 0.97} {
		b := Poisson(n, rate, stream(6))
		var counts, pairs [n]int
		for range rounds {
			batch := b.Next()
			if !slices.IsSorted(batch) {
				t.Fatal("a batch is not in order")
			}
			for k, i := range batch {
				counts[i]++
				if k > 0 && batch[k-1] == i-1 {
					pairs[i]++
				}
			}
		}
		for i := range n {
			if !within(counts[i], rate) || i > 0 && !within(pairs[i], rate*rate) && rate > 0.05 {
				t.Errorf("rate %v: record %d is in %d batches, and in %d with the one before", rate, i, counts[i], pairs[i])
			}
		}
	}
	if got := len(Poisson(n, 1, stream(6)).Next()); got != n {
		t.Errorf("at rate 1 a batch has %d of %d records", got, n)
	}
}

// A rate whose first bits are 0.
func TestPoissonSmallRate(t *testing.T) {
	const n, rounds, rate = 1000, 4000, 0.001
	b, count := Poisson(n, rate, stream(7)), 0
	for range rounds {
		count += len(b.Next())
	}
	if math.Abs(float64(count)-n*rounds*rate) > 4.5*math.Sqrt(n*rounds*rate) {
		t.Errorf("%d, want %v", count, n*rounds*rate)
	}
}

// Each of the 20 batches of 3 of 6 records is as likely as any other: chi-square of 19 degrees of
// freedom, above 60 once in 3e6. All of a batch's records differ, and all of n make one.
func TestUniform(t *testing.T) {
	const rounds = 40000
	u, counts := Uniform(6, 3, stream(8)), map[int]float64{}
	for range rounds {
		set := 0
		for _, i := range u.Next() {
			set |= 1 << i
		}
		counts[set]++
	}
	chi := 0.
	for set, n := range counts {
		if bits.OnesCount(uint(set)) != 3 || set >= 1<<6 {
			t.Errorf("batch %b", set)
		}
		chi += (n - rounds/20) * (n - rounds/20) / (rounds / 20)
	}
	if len(counts) != 20 || chi > 60 {
		t.Errorf("%d batches, chi-square %v", len(counts), chi)
	}
	if all := Uniform(50, 50, stream(8)).Next(); len(all) != 50 || slices.Max(all) != 49 {
		t.Errorf("all records: %v", all)
	}
}
