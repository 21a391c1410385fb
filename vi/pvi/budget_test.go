package pvi

import (
	"math"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/mechanisms/accounting"
)

// checkSpent tells that so many updates fit and one more does not.
func checkSpent(t *testing.T, b Budget, one []accounting.Training, updates int) {
	t.Helper()
	if spent := must(b.Spent(one, updates)); !(spent <= b.Epsilon) {
		t.Errorf("%d updates spend %v of %v", updates, spent, b.Epsilon)
	}
	if spent := must(b.Spent(one, updates+1)); !(spent > b.Epsilon) {
		t.Errorf("%d updates spend %v only of %v", updates+1, spent, b.Epsilon)
	}
}

func TestBudgetIsNeverPassed(t *testing.T) {
	sgd := accounting.Training{Multiplier: 5, Rate: 0.02, Steps: 25}
	full := accounting.Training{Multiplier: 8, Rate: 1, Steps: 1}
	fixed := accounting.Training{Multiplier: 5, Rate: 0.02, Steps: 25, Scheme: accounting.FixedReplaceOne}
	for _, one := range [][]accounting.Training{{sgd}, {full}, {fixed}, {sgd, full}} {
		b := Budget{Epsilon: 0.7, Delta: 1e-4}
		n, err := b.Updates(one)
		if err != nil {
			t.Fatal(err)
		}
		checkSpent(t, b, one, n)
	}
}

// What is remembered is of the same budget and releases.
func TestCounts(t *testing.T) {
	counts := new(Counts)
	for _, multiplier := range []float64{8, 8, 9} {
		for _, epsilon := range []float64{0.7, 0.9} {
			one := []accounting.Training{{Multiplier: multiplier, Rate: 1, Steps: 1}}
			b := Budget{Epsilon: epsilon, Delta: 1e-4}
			want := must(b.Updates(one))
			b.Counts = counts
			if n := must(b.Updates(one)); n != want {
				t.Errorf("multiplier %v, ε = %v: %d updates, not %d", multiplier, epsilon, n, want)
			}
		}
	}
}

// The paper's accounting lets the last update pass: numbers of updates on the Adult data,
// where another implementation has the same.
func TestPaperAccounting(t *testing.T) {
	for _, c := range []struct {
		n, batch, delta float64
		want            [3]int // at ε = 0.5, 0.75, 1
	}{
		{3907, 79, 1e-4, [3]int{31, 69, 122}},
		{390, 20, 1e-3, [3]int{7, 14, 25}},
		{7424, 149, 1e-4, [3]int{31, 71, 124}},
	} {
		one := []accounting.Training{{Multiplier: 5, Rate: c.batch / c.n, Steps: 25, Scheme: accounting.FixedReplaceOne}}
		for i, epsilon := range []float64{0.5, 0.75, 1} {
			b := Budget{Epsilon: epsilon, Delta: c.delta, Accounting: Paper}
			if n := must(b.Updates(one)); n != c.want[i] {
				t.Errorf("N = %v, ε = %v: %d updates, want %d", c.n, epsilon, n, c.want[i])
			}
			checkSpent(t, b, one, c.want[i]-1)
		}
	}
}

func TestBudgetRefuses(t *testing.T) {
	one := []accounting.Training{{Multiplier: 5, Rate: 0.02, Steps: 25}}
	for _, b := range []Budget{{Epsilon: 0.01, Delta: 1e-5, Accounting: Tight}, {Epsilon: 0.2, Delta: 1e-4, Accounting: Paper}} {
		if _, err := b.Updates(one); err == nil || !strings.Contains(err.Error(), "too small for one update") {
			t.Errorf("%+v: %v", b, err)
		}
	}
	for _, b := range []Budget{{Epsilon: 0, Delta: 1e-5, Accounting: Tight}, {Epsilon: math.NaN(), Delta: 1e-5, Accounting: Tight}, {Epsilon: math.Inf(1), Delta: 1e-5, Accounting: Tight}, {Epsilon: 1, Delta: 0, Accounting: Tight}, {Epsilon: 1, Delta: 2, Accounting: Paper}} {
		if _, err := b.Updates(one); err == nil {
			t.Errorf("%+v: no error", b)
		}
	}
	if _, err := (Budget{Epsilon: 1, Delta: 1e-5, Accounting: Tight}).Updates(nil); err == nil {
		t.Error("no releases: no error")
	}
	if _, err := (Budget{Epsilon: 1, Delta: 1e-5, Accounting: Tight}).Updates([]accounting.Training{{Multiplier: 5, Rate: 2, Steps: 1}}); err == nil {
		t.Error("a rate of 2: no error")
	}
}
