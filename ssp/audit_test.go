package ssp

import (
	"math"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
)

// A smoke audit of the whole path from rows to release: on the pair of neighbours
// that attains the sensitivity, the event "every statistic is at least that of
// the first" has the largest likelihood ratio, e^ε, and probability 2⁻⁵ under the
// first. From its counts comes a lower confidence bound on ε: the logarithm of
// the ratio less 4.3 standard errors √(1/a+1/b), false alarm 1e-5.
func TestAuditWorstPair(t *testing.T) {
	testsize.Full(t, "package audit has short audits of the same sums, with and without this fault")
	const epsilon = 1
	const releases = 30_000
	lower, estimate := audit(t, epsilon, releases)
	if lower > epsilon {
		t.Errorf("epsilon is at least %.3f, claimed %v", lower, epsilon)
	}
	if estimate < 0.8*epsilon {
		t.Errorf("the audit sees only epsilon = %.3f of %v: too much noise, or no power", estimate, epsilon)
	}
	// Planted fault: noise 0.7 times as large as ε calls for.
	if lower, _ := audit(t, epsilon/0.7, releases); lower <= epsilon {
		t.Errorf("noise of 0.7 times the scale is not found out: epsilon is at least %.3f", lower)
	}
}

func audit(t *testing.T, epsilon float64, releases int) (lower, estimate float64) {
	first := testStatistics(t, []float64{1, 1})
	second := testStatistics(t, []float64{-1. / 3, -1. / 3})
	a := countAtLeast(t, first, first.Vector(), epsilon, releases, seeded(41))
	b := countAtLeast(t, second, first.Vector(), epsilon, releases, seeded(42))
	estimate = math.Log(a / b)
	return estimate - 4.3*math.Sqrt(1/a+1/b), estimate
}

// countAtLeast counts the releases of s none of whose statistics is below limit.
func countAtLeast(t *testing.T, s *Statistics, limit []float64, epsilon float64, releases int, e *mechanisms.Entropy) (count float64) {
	d := testDesign(2)
next:
	for range releases {
		r := must.Get(Publish(t.Context(), s, d, pure(epsilon), release.Laplace, Exact, e))(t)
		for i, z := range r.Statistics.Vector() {
			if z < limit[i] {
				continue next
			}
		}
		count++
	}
	return count
}
